import type { ConfigurationFiles } from "../../compile/load.ts";
import { BorrowedThread } from "../../store/sqlite/shared/shared-thread.ts";
import type { Door } from "../../store/sqlite/shared/frames.ts";
import { StoreUnavailableError } from "../../canon/error.ts";
import { StartError } from "../start-error.ts";
import { BUILD_VARIABLE } from "../build-id.ts";
import type { RunningServer } from "../running-server.ts";
import { startServer } from "../start.ts";
import { startSmall, tierUpEarly } from "../tier-up.ts";
import type { FromWorkerProcess, ToWorkerProcess, WorkersStatus } from "./messages.ts";

/** A process that serves the public side under the first process (`worker-pool.ts`). */
// A server keeps serving when the reader of its output is gone.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
// A terminal signals all processes of a group; this one ends when the first process requests it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
startSmall();

function send(message: FromWorkerProcess) {
  process.send?.(message, undefined, {}, () => {});
}

let door: Door | null = null;
let server: Promise<RunningServer | null> = Promise.resolve(null);
let files: ConfigurationFiles | null = null;
let status: WorkersStatus = { configured: 0, ready: 0 };
let reloadFailed = false;

process.on("message", (message: ToWorkerProcess) => {
  switch (message.type) {
    case "start":
      ({ files, door } = message);
      server = start(message);
      break;
    case "reload":
      void reload(message);
      break;
    case "status":
      ({ status, reloadFailed } = message);
      break;
    case "metrics":
    case "health":
      void report(message);
      break;
    case "ask_alive":
      send({ type: "alive" });
      break;
    case "retire":
      void server.then((running) => running?.retire());
      break;
    case "stop":
      void stop();
      break;
    case "door":
      ({ door } = message);
      break;
  }
});
send({ type: "hello" });

async function start({
  build,
  version,
  options,
  worker,
}: Extract<ToWorkerProcess, { type: "start" }>): Promise<RunningServer | null> {
  try {
    const started = await startServer(
      options,
      { ...process.env, [BUILD_VARIABLE]: build },
      version,
      {},
      {
        isWorker: true,
        startThread: borrowThread,
        load: () => {
          if (files === null) throw new Error("worker: no files");
          return Promise.resolve(files);
        },
        runtime: (runtime) => ({
          ...runtime,
          workers: () => ({ worker, ...status }),
          degraded: () => [
            ...new Set([
              ...runtime.degraded(),
              ...(reloadFailed ? ["reload_failed"] : []),
              ...(status.ready < status.configured ? ["workers"] : []),
            ]),
          ],
        }),
      },
    );
    if (started.ok) {
      tierUpEarly();
      send({ type: "ready", url: started.server.url });
      return started.server;
    }
    send({ type: "failed", message: "the configuration has new errors; run signalbox check" });
  } catch (error) {
    const hasSafeMessage = error instanceof StartError || error instanceof StoreUnavailableError;
    send({ type: "failed", message: hasSafeMessage ? error.message : null });
  }
  process.disconnect?.();
  return null;
}

/** By the newest door: a thread that was started again has another one. */
function borrowThread(): BorrowedThread {
  if (door === null) throw new Error("worker: no way to the store");
  return new BorrowedThread(door);
}

type Question = Extract<ToWorkerProcess, { type: "metrics" | "health" }>;

async function reload(message: Extract<ToWorkerProcess, { type: "reload" }>) {
  ({ files } = message);
  const running = await server;
  const ok = await running?.reload().then(
    (built) => built.ok,
    () => false,
  );
  send({ type: "reloaded", round: message.round, ok: ok === true });
}

async function report({ type, round }: Question) {
  const running = await server;
  if (running === null) return;
  if (type === "metrics") send({ type, round, families: running.metrics() });
  else send({ type, round, endpoints: running.endpointsHealth() });
}

async function stop() {
  const running = await server;
  await running?.close().catch((error: unknown) => {
    send({ type: "failed", message: error instanceof StartError ? error.message : null });
  });
  process.disconnect?.();
}

import cluster from "node:cluster";
import { fileURLToPath } from "node:url";
import type { EndpointsHealth } from "../../http/control/endpoints-health.ts";
import type { ReadFamily } from "../../telemetry/families.ts";
import type { FromWorkerProcess, ToWorkerProcess } from "./messages.ts";

/**
 * Type stripping runs the sources as `.ts`; a build has `.js` beside this file. No tool rewrites
 * this path.
 */
const WORKER_FILE = new URL(
  `./worker-main${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/** The answer to a question. */
type Answer = Extract<FromWorkerProcess, { readonly round: number }>;

interface WorkerEvents {
  /** It takes requests. */
  readonly ready: (url: string) => void;
  /** It cannot start, and ends. */
  readonly failed: (message: string | null) => void;
  /**
   * It lives and does nothing; the server kills it, and `ended` follows. @param silence at least so
   * long, milliseconds.
   */
  readonly hangs: (silence: number) => void;
  readonly ended: (how: string) => void;
}

export type WorkerProcess = ReturnType<typeof forkWorker>;

/** One process that serves, as the first one sees it. */
export function forkWorker(start: ToWorkerProcess, events: WorkerEvents) {
  cluster.setupPrimary({ exec: fileURLToPath(WORKER_FILE), args: [], serialization: "advanced" });
  const worker = cluster.fork();
  const ended = Promise.withResolvers<void>();

  /** By round; `null` where it has ended, or has not answered in time. */
  const waiting = new Map<number, (answer: Answer | null) => void>();

  let heartbeat: ReturnType<typeof startHeartbeat> | null = null;
  let lastRound = 0;

  worker.on("message", (message: FromWorkerProcess) => {
    switch (message.type) {
      case "hello":
        send(start);
        break;
      case "ready":
        // Not before: a start has no time limit for reading and compiling.
        heartbeat = startHeartbeat({
          ping: () => send({ type: "ask_alive" }),
          lost: (silence) => {
            events.hangs(silence);
            kill();
          },
        });
        events.ready(message.url);
        break;
      case "alive":
        heartbeat?.answered();
        break;
      case "failed":
        events.failed(message.message);
        break;
      case "reloaded":
      case "metrics":
      case "health":
        waiting.get(message.round)?.(message);
        break;
    }
  });
  // `exit` follows; without a listener a process that cannot be started would end this one.
  worker.on("error", () => {});
  worker.on("exit", (code: number | null, signal: string | null) => {
    heartbeat?.stop();
    for (const done of waiting.values()) done(null);
    ended.resolve();
    events.ended(signal ?? `exit code ${code ?? 0}`);
  });

  function send(message: ToWorkerProcess): void {
    // Its death in this moment is reported by `exit`.
    if (worker.isConnected()) worker.send(message, () => {});
  }

  /** Whether it succeeded; one that dies meanwhile starts again with the same files. */
  async function reload(
    files: Extract<ToWorkerProcess, { type: "reload" }>["files"],
  ): Promise<boolean> {
    const answer = await ask((round) => ({ type: "reload", round, files }), null);
    return answer?.type !== "reloaded" || answer.ok;
  }

  /** Its metrics; `null` where it does not answer in time. @param patience milliseconds. */
  async function metrics(patience: number): Promise<readonly ReadFamily[] | null> {
    const answer = await ask((round) => ({ type: "metrics", round }), patience);
    return answer?.type === "metrics" ? answer.families : null;
  }

  /**
   * Its figures about endpoints; `null` where it does not answer in time. @param patience
   * milliseconds.
   */
  async function endpointsHealth(patience: number): Promise<EndpointsHealth | null> {
    const answer = await ask((round) => ({ type: "health", round }), patience);
    return answer?.type === "health" ? answer.endpoints : null;
  }

  /** @param patience milliseconds; `null`: as long as it lives. */
  function ask(
    question: (round: number) => ToWorkerProcess,
    patience: number | null,
  ): Promise<Answer | null> {
    if (!worker.isConnected()) return Promise.resolve(null);
    lastRound += 1;
    const round = lastRound;
    return new Promise((resolve) => {
      const timer = patience === null ? undefined : setTimeout(() => settle(null), patience);
      const settle = (answer: Answer | null) => {
        clearTimeout(timer);
        waiting.delete(round);
        resolve(answer);
      };
      waiting.set(round, settle);
      send(question(round));
    });
  }

  function kill(): void {
    worker.process.kill("SIGKILL");
  }

  return { ended: ended.promise, send, reload, metrics, endpointsHealth, kill };
}

/** Interval between two pings of a worker, which it answers from its event loop, milliseconds. */
const INTERVAL = 2_500;

/**
 * How often in a row it may be found without an answer, so 15 s to 17.5 s: no request of ours keeps
 * the loop so long, and a machine that is short of memory or time gets some patience. Times found
 * are counted, not time: after this process itself has been stopped (a suspended machine), that is
 * one miss.
 */
const MISSES = 6;

/** The worker that is pinged. */
interface HeartbeatTarget {
  /** Sends a question to which `answered` is the answer. */
  readonly ping: () => void;
  /** It has not answered in time; pinging ends. @param silence at least so long, milliseconds. */
  readonly lost: (silence: number) => void;
}

/**
 * Finds a process that lives and does nothing: stopped, or in a loop without end. Its connections
 * are kept by the kernel, so no other signal reports it.
 */
export function startHeartbeat(target: HeartbeatTarget) {
  let open = false;
  let misses = 0;

  const beat = () => {
    if (!open) {
      open = true;
      target.ping();
      return;
    }
    misses += 1;
    if (misses < MISSES) return;
    clearInterval(timer);
    target.lost(MISSES * INTERVAL);
  };

  const timer = setInterval(beat, INTERVAL).unref();
  return {
    answered: () => {
      open = false;
      misses = 0;
    },
    stop: () => clearInterval(timer),
  };
}

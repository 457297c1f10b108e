import cluster, { type Worker } from "node:cluster";
import { type ConfigurationFiles, loadConfiguration } from "../../compile/load.ts";
import { isPostgresUrl } from "../../store/postgres/settings.ts";
import { lentThread, type LentThread } from "../../store/sqlite/shared/shared-thread.ts";
import {
  type Family,
  formatExposition,
  joinFamilies,
  readFamilies,
  type ReadFamily,
  single,
} from "../../telemetry/families.ts";
import { BUILD_VARIABLE } from "../build-id.ts";
import type { ServeOptions, Started } from "../running-server.ts";
import { startServer } from "../start.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { EndpointsHealth } from "../../http/control/endpoints-health.ts";
import type { Listening } from "../../http/listen.ts";
import { StartError } from "../start-error.ts";
import type { FromWorkerProcess, ToWorkerProcess, WorkersStatus } from "./messages.ts";
import { fileURLToPath } from "node:url";

/**
 * A server of several processes: this one has the store's thread, the admin listener, the files and
 * their reloading; workers serve the public side (docs/operations.md).
 *
 * @param say takes a line for operators. @throws as {@link startServer}.
 */
export async function startWorkers(
  options: ServeOptions,
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  say: (line: string) => void,
): Promise<Started> {
  const { database, log } = options;
  const sharing = { ...options, ...(log !== undefined && { log: { ...log, shared: true } }) };
  // PostgreSQL itself orders its writers, as it does for replicas.
  const thread = isPostgresUrl(database) ? null : lentThread(say);
  let read: ConfigurationFiles | null = null;
  let good: ConfigurationFiles | null = null;
  const pool = createWorkerPool({
    // This process prunes, and waits before the drain, for all.
    options: { ...sharing, evidenceRetention: null, drainDelay: 0, workers: 1 },
    build: environment[BUILD_VARIABLE] ?? version,
    version,
    count: options.workers ?? 1,
    thread,
    say,
    files: () => {
      if (good === null) throw new Error("serve: workers before a configuration");
      return good;
    },
  });
  const started = await startServer(
    sharing,
    environment,
    version,
    {},
    {
      startThread: thread?.startThread,
      load: async () => {
        read = await loadConfiguration(options.config, options.config, options.environment ?? null);
        return read;
      },
      listenPublic: () => {
        good = read;
        return pool.listen();
      },
      runtime: (runtime, families) => ({
        ...runtime,
        accepting: () => runtime.accepting() && pool.isReady(),
        degraded: () => [...runtime.degraded(), ...(pool.isDegraded() ? ["workers"] : [])],
        workers: () => ({ worker: 0, ...pool.status() }),
        othersHealth: pool.endpointsHealth,
        metrics: async (accept) => {
          const first = readFamilies([...poolMetrics(pool), ...families()]);
          return formatExposition(joinFamilies([["0", first], ...(await pool.metrics())]), accept);
        },
      }),
    },
  );
  if (!started.ok) return started;
  const { server } = started;
  let turn: Promise<unknown> = Promise.resolve();
  const reloadAll: typeof server.reload = async () => {
    const built = await server.reload().catch((error: unknown) => {
      pool.reloadEnded(true);
      throw error;
    });
    pool.reloadEnded(!built.ok);
    if (!built.ok || read === null) return built;
    good = read;
    if (!(await pool.reload(good)))
      say("some workers could not load the new configuration and still serve the previous one");
    return built;
  };
  // One after the other, so that each worker loads the files that were checked.
  const reload: typeof server.reload = () => {
    const next = turn.then(reloadAll);
    turn = next.catch(() => undefined);
    return next;
  };
  return { ok: true, server: { ...server, reload } };
}

/** Metrics of the workers in the first process. */
export function poolMetrics(pool: Pick<WorkerPool, "status" | "restarts">): readonly Family[] {
  return [
    single(
      "gauge",
      "signalbox_workers_configured",
      "Configured worker processes.",
      () => pool.status().configured,
    ),
    single(
      "gauge",
      "signalbox_workers_ready",
      "Worker processes that take requests.",
      () => pool.status().ready,
    ),
    single(
      "counter",
      "signalbox_worker_restarts",
      "Workers started to replace one that had died.",
      pool.restarts,
    ),
  ];
}

/** How long a worker may take to send its metrics or its figures about endpoints, milliseconds. */
const ANSWER_PATIENCE = 2_000;

/**
 * How long after the end of a drain's time a worker may take to write its evidence and end,
 * milliseconds.
 */
const END_PATIENCE = 10_000;

interface WorkerPoolOptions {
  /** Of each worker. */
  readonly options: ServeOptions;
  /** Name of the build in /status. */
  readonly build: string;
  /** The package's version. */
  readonly version: string;
  readonly count: number;
  /** The store's thread for all workers; `null` where each opens the store itself. */
  readonly thread: LentThread | null;
  /** The last configuration without errors, for a worker that starts now. */
  readonly files: () => ConfigurationFiles;
  /** A line for operators. */
  readonly say: (line: string) => void;
}

interface Slot {
  readonly number: number;
  readonly restarts: Restarts;
  process: WorkerProcess | null;
  /** On the clock of `performance.now()`; `null` where it takes no requests. */
  readySince: number | null;
  timer: NodeJS.Timeout | null;
}

export type WorkerPool = ReturnType<typeof createWorkerPool>;

/**
 * The processes that serve the public side, kept at their number: one that dies is started again,
 * and the others keep serving.
 */
export function createWorkerPool(pool: WorkerPoolOptions) {
  const slots: readonly Slot[] = Array.from({ length: pool.count }, (_, index) => ({
    number: index + 1,
    restarts: new Restarts(),
    process: null,
    readySince: null,
    timer: null,
  }));
  const started = Promise.withResolvers<string>();
  let hasStarted = false;
  let stopping = false;
  /** Parts that could not be closed in stopped workers. */
  const unclosed: string[] = [];
  /** Some worker could not take the newest files. */
  let behind = false;
  /** The newest files have errors: no worker got them. */
  let reloadFailed = false;

  const ready = () => slots.filter(({ readySince }) => readySince !== null).length;

  const status = (): WorkersStatus => ({ configured: slots.length, ready: ready() });

  /**
   * Starts all of them. Resolves when all take requests. @throws {StartError} with the reason why
   * one could not start; none is left.
   */
  async function listen(): Promise<Listening> {
    for (const slot of slots) start(slot);
    try {
      const url = await started.promise;
      return {
        url,
        retire: () => broadcast({ type: "retire" }),
        close: (grace) => stop(grace),
        renewTls: () => {},
      };
    } catch (error) {
      await stop(0).catch(() => undefined);
      throw error;
    }
  }

  /** Gives the same files to all; resolves with whether all could take them. */
  async function reload(files: ConfigurationFiles): Promise<boolean> {
    const results = await Promise.all(running().map((process) => process.reload(files)));
    behind = results.includes(false);
    return !behind;
  }

  /** Metrics of the workers that answer in time, by their numbers. */
  async function metrics(): Promise<Parameters<typeof joinFamilies>[0]> {
    const found = await Promise.all(
      slots.map(async ({ number, process, readySince }) => {
        const families = readySince === null ? null : await process?.metrics(ANSWER_PATIENCE);
        return families == null ? [] : [[String(number), families] as const];
      }),
    );
    return found.flat();
  }

  /** Endpoint health of the workers that answer in time. */
  async function endpointsHealth(): Promise<readonly EndpointsHealth[]> {
    const found = await Promise.all(
      running().map((process) => process.endpointsHealth(ANSWER_PATIENCE)),
    );
    return found.filter((each) => each !== null);
  }

  /** Sends every worker the result of the newest reload for its /status. */
  function reloadEnded(failed: boolean) {
    reloadFailed = failed;
    reportStatus();
  }

  function reportStatus() {
    broadcast({ type: "status", status: status(), reloadFailed });
  }

  function running(): readonly WorkerProcess[] {
    return slots.flatMap(({ process }) => process ?? []);
  }

  function broadcast(message: Parameters<WorkerProcess["send"]>[0]) {
    for (const process of running()) process.send(message);
  }

  function start(slot: Slot) {
    const { build, version, options, thread, files, say } = pool;
    slot.timer = null;
    slot.process = forkWorker(
      {
        type: "start",
        worker: slot.number,
        build,
        version,
        options,
        files: files(),
        door: thread?.door ?? null,
      },
      {
        ready: (url) => {
          slot.readySince = performance.now();
          reportStatus();
          if (hasStarted || ready() < slots.length) return;
          hasStarted = true;
          started.resolve(url);
        },
        failed: (message) => {
          if (stopping) unclosed.push(`worker ${slot.number}: ${message ?? "failed"}`);
          else if (!hasStarted)
            started.reject(new StartError(message ?? "a worker could not be started"));
          else if (message !== null) say(`worker ${slot.number}: ${message}`);
        },
        hangs: (silence) =>
          say(
            `worker ${slot.number} has not answered for ${silence / 1000} s; the server kills it`,
          ),
        ended: (how) => restart(slot, how),
      },
    );
  }

  function restart(slot: Slot, how: string): boolean {
    const served = slot.readySince === null ? 0 : performance.now() - slot.readySince;
    slot.process = null;
    slot.readySince = null;
    if (stopping) return false;
    if (!hasStarted) {
      started.reject(new StartError(`worker ${slot.number} ended while it was starting (${how})`));
      return false;
    }
    reportStatus();
    const wait = slot.restarts.next(served);
    pool.say(`worker ${slot.number} ended (${how}); it is started again in ${wait / 1000} s`);
    slot.timer = setTimeout(() => start(slot), wait);
    return ready() > 0;
  }

  /** @throws {StartError} naming the workers that did not end in order, when all have ended. */
  async function stop(grace: number) {
    stopping = true;
    for (const { timer } of slots) if (timer !== null) clearTimeout(timer);
    broadcast({ type: "stop" });
    const limit = new AbortController();
    const processes = running();
    const late = async () => {
      await delay(grace + END_PATIENCE, null, { signal: limit.signal });
      for (const { number, process } of slots) {
        if (process === null) continue;
        unclosed.push(`worker ${number}: killed`);
        process.kill();
      }
    };
    // Aborted when all have ended in time.
    const killing = late().catch(() => {});
    await Promise.all(processes.map(({ ended }) => ended));
    limit.abort();
    await killing;
    if (unclosed.length > 0) throw new StartError(unclosed.join("; "));
  }

  pool.thread?.watch((door) => broadcast({ type: "door", door }));

  return {
    status,
    /** Once all have been: at least half of the workers take requests. */
    isReady: () => hasStarted && ready() * 2 >= slots.length,
    /** Some worker is missing, or serves an older configuration. */
    isDegraded: () => hasStarted && !stopping && (ready() < slots.length || behind),
    /** Workers that replaced a dead one, since the start. */
    restarts: () => slots.reduce((sum, { restarts }) => sum + restarts.total, 0),
    listen,
    reload,
    metrics,
    endpointsHealth,
    reloadEnded,
  };
}

/** Milliseconds before a worker that has died is started again: the first time, and at most. */
const FIRST = 100;
const LONGEST = 30_000;

/** A worker that has served so long has died of something else than its start, milliseconds. */
const SETTLED = 60_000;

/** How long to wait before a worker is started again: longer each time, until one has stayed. */
export class Restarts {
  #inARow = 0;
  #total = 0;

  /** Since the start. */
  get total(): number {
    return this.#total;
  }

  /**
   * @param served how long the dead one had taken requests, milliseconds. @returns milliseconds to
   * wait.
   */
  next(served: number): number {
    this.#inARow = served >= SETTLED ? 1 : this.#inARow + 1;
    this.#total += 1;
    return Math.min(LONGEST, FIRST * 2 ** Math.min(this.#inARow - 1, 20));
  }
}

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
  /** @returns whether other workers can take the connections that this one has not taken. */
  readonly ended: (how: string) => boolean;
}

export type WorkerProcess = ReturnType<typeof forkWorker>;

/** One process that serves, as the first one sees it. */
export function forkWorker(start: ToWorkerProcess, events: WorkerEvents) {
  cluster.setupPrimary({ exec: fileURLToPath(WORKER_FILE), args: [], serialization: "advanced" });
  const worker = cluster.fork();
  const passOn = trackHandovers(worker);
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
          hung: (silence) => {
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
    for (const resolve of waiting.values()) resolve(null);
    ended.resolve();
    passOn(events.ended(signal ?? `exit code ${code ?? 0}`));
  });

  function send(message: ToWorkerProcess) {
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

  function kill() {
    worker.process.kill("SIGKILL");
  }

  return { ended: ended.promise, send, reload, metrics, endpointsHealth, kill };
}

/**
 * Connections that are sent to a worker and that it has not accepted yet. Where it dies meanwhile,
 * `node:cluster` drops the answer it waits for and neither serves nor closes them: their clients
 * would wait without end. The messages are internal to Node (tried with 20 and 26).
 *
 * @returns to be called when it has ended: gives them to other workers, or closes them.
 */
function trackHandovers({ process }: Worker): (toOthers: boolean) => void {
  const handovers = new Set<number>();
  process.send = new Proxy(process.send.bind(process), {
    apply(send, _, parameters: { readonly act?: string; readonly seq?: number }[]) {
      const [message] = parameters;
      if (message?.act === "newconn" && message.seq !== undefined) handovers.add(message.seq);
      return Reflect.apply(send, null, parameters) === true;
    },
  });
  process.on("internalMessage", ({ ack }: { readonly ack: number }) => handovers.delete(ack));
  return (toOthers) => {
    for (const ack of handovers)
      process.emit("internalMessage", { cmd: "NODE_CLUSTER", ack, accepted: !toOthers });
  };
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
  readonly hung: (silence: number) => void;
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
    target.hung(MISSES * INTERVAL);
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

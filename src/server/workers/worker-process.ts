import cluster, { type Worker } from "node:cluster";
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

/** One process that serves, as the first one sees it. */
export class WorkerProcess {
  readonly #worker: Worker;
  readonly #ended = Promise.withResolvers<void>();
  /** By round; `null` where it has ended, or has not answered in time. */
  readonly #waiting = new Map<number, (answer: Answer | null) => void>();
  #heartbeat: Heartbeat | null = null;
  #lastRound = 0;

  constructor(start: ToWorkerProcess, events: WorkerEvents) {
    cluster.setupPrimary({ exec: fileURLToPath(WORKER_FILE), args: [], serialization: "advanced" });
    const worker = cluster.fork();
    this.#worker = worker;
    worker.on("message", (message: FromWorkerProcess) => {
      switch (message.type) {
        case "hello":
          this.send(start);
          break;
        case "ready":
          // Not before: a start has no time limit for reading and compiling.
          this.#heartbeat = new Heartbeat({
            ping: () => this.send({ type: "ask_alive" }),
            lost: (silence) => {
              events.hangs(silence);
              this.kill();
            },
          });
          events.ready(message.url);
          break;
        case "alive":
          this.#heartbeat?.answered();
          break;
        case "failed":
          events.failed(message.message);
          break;
        case "reloaded":
        case "metrics":
        case "health":
          this.#waiting.get(message.round)?.(message);
          break;
      }
    });
    // `exit` follows; without a listener a process that cannot be started would end this one.
    worker.on("error", () => {});
    worker.on("exit", (code: number | null, signal: string | null) => {
      this.#heartbeat?.stop();
      for (const done of this.#waiting.values()) done(null);
      this.#ended.resolve();
      events.ended(signal ?? `exit code ${code ?? 0}`);
    });
  }

  get pid(): number {
    return this.#worker.process.pid ?? 0;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  send(message: ToWorkerProcess): void {
    // Its death in this moment is reported by `exit`.
    if (this.#worker.isConnected()) this.#worker.send(message, () => {});
  }

  /** Whether it succeeded; one that dies meanwhile starts again with the same files. */
  async reload(files: Extract<ToWorkerProcess, { type: "reload" }>["files"]): Promise<boolean> {
    const answer = await this.#ask((round) => ({ type: "reload", round, files }), null);
    return answer?.type !== "reloaded" || answer.ok;
  }

  /** Its metrics; `null` where it does not answer in time. @param patience milliseconds. */
  async metrics(patience: number): Promise<readonly ReadFamily[] | null> {
    const answer = await this.#ask((round) => ({ type: "metrics", round }), patience);
    return answer?.type === "metrics" ? answer.families : null;
  }

  /**
   * Its figures about endpoints; `null` where it does not answer in time. @param patience
   * milliseconds.
   */
  async endpointsHealth(patience: number): Promise<EndpointsHealth | null> {
    const answer = await this.#ask((round) => ({ type: "health", round }), patience);
    return answer?.type === "health" ? answer.endpoints : null;
  }

  /** @param patience milliseconds; `null`: as long as it lives. */
  #ask(
    question: (round: number) => ToWorkerProcess,
    patience: number | null,
  ): Promise<Answer | null> {
    if (!this.#worker.isConnected()) return Promise.resolve(null);
    this.#lastRound += 1;
    const round = this.#lastRound;
    return new Promise((resolve) => {
      const timer = patience === null ? undefined : setTimeout(() => settle(null), patience);
      const settle = (answer: Answer | null) => {
        clearTimeout(timer);
        this.#waiting.delete(round);
        resolve(answer);
      };
      this.#waiting.set(round, settle);
      this.send(question(round));
    });
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }
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
  /** Sends a question to which {@link Heartbeat.answered} is the answer. */
  readonly ping: () => void;
  /** It has not answered in time; pinging ends. @param silence at least so long, milliseconds. */
  readonly lost: (silence: number) => void;
}

/**
 * Finds a process that lives and does nothing: stopped, or in a loop without end. Its connections
 * are kept by the kernel, so no other signal reports it.
 */
export class Heartbeat {
  readonly #target: HeartbeatTarget;
  readonly #timer: NodeJS.Timeout;
  #open = false;
  #misses = 0;

  constructor(target: HeartbeatTarget) {
    this.#target = target;
    this.#timer = setInterval(() => this.#beat(), INTERVAL).unref();
  }

  answered(): void {
    this.#open = false;
    this.#misses = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat() {
    if (!this.#open) {
      this.#open = true;
      this.#target.ping();
      return;
    }
    this.#misses += 1;
    if (this.#misses < MISSES) return;
    this.stop();
    this.#target.lost(MISSES * INTERVAL);
  }
}

import cluster, { type Worker } from "node:cluster";
import { fileURLToPath } from "node:url";
import type { MetricsPage } from "../../http/runtime.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { FromWorkerProcess, ToWorkerProcess } from "./messages.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. No tool rewrites this path. */
const WORKER_FILE = new URL(`./worker-main${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export interface WorkerEvents {
  /** It takes requests. */
  readonly ready: (url: string) => void;
  /** It cannot start, and ends. */
  readonly failed: (message: string | null) => void;
  /** It lives and does nothing; the server kills it, and `ended` follows. @param silence at least so long, milliseconds. */
  readonly hangs: (silence: number) => void;
  readonly ended: (how: string) => void;
}

/** One process that serves, as the first one sees it. */
export class WorkerProcess {
  readonly #worker: Worker;
  readonly #ended = Promise.withResolvers<void>();
  readonly #reloads = new Map<number, (ok: boolean) => void>();
  readonly #pages = new Map<number, (page: MetricsPage | null) => void>();
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
          // Not before: what a start reads and compiles takes as long as it takes.
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
          this.#reloads.get(message.round)?.(message.ok);
          this.#reloads.delete(message.round);
          break;
        case "metrics":
          this.#pages.get(message.round)?.(message.page);
          break;
      }
    });
    // `exit` follows; without a listener a process that cannot be started would end this one.
    worker.on("error", () => {});
    worker.on("exit", (code: number | null, signal: string | null) => {
      this.#heartbeat?.stop();
      for (const done of this.#reloads.values()) done(true);
      for (const done of this.#pages.values()) done(null);
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

  /** Whether it could; one that dies meanwhile starts again with the same files. */
  reload(files: Extract<ToWorkerProcess, { type: "reload" }>["files"]): Promise<boolean> {
    if (!this.#worker.isConnected()) return Promise.resolve(true);
    this.#lastRound += 1;
    const round = this.#lastRound;
    return new Promise((resolve) => {
      this.#reloads.set(round, resolve);
      this.send({ type: "reload", round, files });
    });
  }

  /** Its page; `null` where it does not answer in time. @param patience milliseconds. */
  metrics(accept: string | undefined, patience: number): Promise<MetricsPage | null> {
    if (!this.#worker.isConnected()) return Promise.resolve(null);
    this.#lastRound += 1;
    const round = this.#lastRound;
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(null), patience);
      const settle = (page: MetricsPage | null): void => {
        clearTimeout(timer);
        this.#pages.delete(round);
        resolve(page);
      };
      this.#pages.set(round, settle);
      this.send({ type: "metrics", round, accept: accept ?? null });
    });
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }
}

import { EventEmitter } from "node:events";
import threads, { type WorkerOptions } from "node:worker_threads";
import type { ThreadTask } from "./task-thread-host.ts";

const HOST = new URL("task-thread-host.ts", import.meta.url);

/** Modules of threads that answer once, and are ended then. */
export const TASKS: ReadonlySet<string> = new Set(
  ["../../src/compile/compile-worker.ts", "../../src/simulate/promotion-worker.ts"].map(
    (path) => new URL(path, import.meta.url).href,
  ),
);

const RealWorker = threads.Worker;

/** By module and bounds. */
const idle = new Map<string, InstanceType<typeof RealWorker>>();

/**
 * A thread for a task that answers once, such as compiling, and for the next such task after that:
 * one of its own for each would load a hundred sources, half a second of a core. Only a thread that
 * has answered is used again.
 */
export class PooledTaskThread extends EventEmitter {
  readonly #worker;
  readonly #kind: string;
  readonly #channel = new threads.MessageChannel();
  #hasAnswered = false;

  constructor(module: string, { workerData, ...options }: WorkerOptions) {
    super();
    this.#kind = JSON.stringify([module, options]);
    this.#worker = idle.get(this.#kind) ?? new RealWorker(HOST, options);
    idle.delete(this.#kind);
    this.#worker.ref();
    this.#worker.on("error", (error) => this.emit("error", error));
    this.#worker.on("exit", (code) => this.emit("exit", code));
    const { port1, port2 } = this.#channel;
    port1.on("message", (message: unknown) => {
      this.#hasAnswered = true;
      this.emit("message", message);
    });
    const task: ThreadTask = { module, parentPort: port2, workerData };
    this.#worker.postMessage(task, [port2]);
  }

  unref(): void {
    this.#worker.unref();
    this.#channel.port1.unref();
  }

  async terminate(): Promise<void> {
    this.#channel.port1.close();
    if (this.#hasAnswered && !idle.has(this.#kind)) {
      this.#worker.removeAllListeners();
      this.#worker.unref();
      idle.set(this.#kind, this.#worker);
    } else await this.#worker.terminate();
  }
}

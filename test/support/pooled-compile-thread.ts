import { EventEmitter } from "node:events";
import threads, { type WorkerOptions } from "node:worker_threads";
import type { Compilation } from "./compile-thread-host.ts";

const HOST = new URL("compile-thread-host.ts", import.meta.url);

const RealWorker = threads.Worker;
let idle: InstanceType<typeof RealWorker> | null = null;

/**
 * A thread that compiles a configuration, and the next one after that: one of its own for each
 * reload would load a hundred sources, half a second of a core. Only a thread that has answered is
 * used again.
 */
export class PooledCompileThread extends EventEmitter {
  readonly #worker;
  readonly #channel = new threads.MessageChannel();
  #hasAnswered = false;

  constructor(module: string, { workerData }: WorkerOptions) {
    super();
    this.#worker = idle ?? new RealWorker(HOST);
    idle = null;
    this.#worker.ref();
    this.#worker.on("error", (error) => this.emit("error", error));
    this.#worker.on("exit", (code) => this.emit("exit", code));
    const { port1, port2 } = this.#channel;
    port1.on("message", (message: unknown) => {
      this.#hasAnswered = true;
      this.emit("message", message);
    });
    const compilation: Compilation = { module, parentPort: port2, workerData };
    this.#worker.postMessage(compilation, [port2]);
  }

  async terminate(): Promise<void> {
    this.#channel.port1.close();
    if (this.#hasAnswered && idle === null) {
      this.#worker.removeAllListeners();
      this.#worker.unref();
      idle = this.#worker;
    } else await this.#worker.terminate();
  }
}

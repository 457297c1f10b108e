import { EventEmitter } from "node:events";
import threads, {
  type MessagePort,
  type Transferable,
  type WorkerOptions,
} from "node:worker_threads";
import type { FromWorker, ToWorker } from "../../src/store/sqlite/store-engine.ts";
import { STORE_THREAD } from "./store-thread.ts";

/** Idle threads that are kept, as most tests have stores at once. */
const MOST_IDLE = 4;

const RealWorker = threads.Worker;
const idle: InstanceType<typeof RealWorker>[] = [];

/**
 * A thread for a store, which another store uses after it has been closed: starting one costs 80 ms
 * of a core, and opening a store 8. The module of the thread is evaluated anew for each store. Only
 * a thread whose store closed as it should is used again.
 */
export class PooledStoreThread extends EventEmitter {
  readonly #worker;
  readonly #port: MessagePort;
  readonly #released = Promise.withResolvers<number>();
  #closeId: number | null = null;
  #isClosed = false;

  constructor({ workerData, ...options }: WorkerOptions) {
    super();
    const waiting = idle.pop();
    this.#worker = waiting ?? new RealWorker(STORE_THREAD.bundle, options);
    const { port1, port2 } = new threads.MessageChannel();
    this.#port = port1;
    port1.on("message", (message: FromWorker) => {
      if (message.type === "reply" && message.id === this.#closeId)
        this.#isClosed = message.reply.kind === "done";
      this.emit("message", message);
      // What a failed opening has left open ends with the thread.
      if (message.type === "not_opened") void this.#worker.terminate();
    });
    port1.on("close", () => {
      if (this.#isClosed) this.#release();
    });
    this.#worker.on("online", () => this.emit("online"));
    this.#worker.on("error", (error) => this.emit("error", error));
    this.#worker.on("exit", (code) => this.#end(code));
    if (waiting !== undefined) process.nextTick(() => this.emit("online"));
    this.#worker.ref();
    this.#worker.postMessage({ port: port2, workerData }, [port2]);
  }

  get resourceLimits() {
    return this.#worker.resourceLimits;
  }

  postMessage(message: ToWorker, transferred: Transferable[] = []): void {
    if (message.request.operation === "store.close") this.#closeId = message.id;
    this.#port.postMessage(message, transferred);
  }

  /** Ends the thread, unless its store is closed. */
  async terminate(): Promise<number> {
    if (!this.#isClosed) void this.#worker.terminate();
    return this.#released.promise;
  }

  #release(): void {
    this.#worker.removeAllListeners();
    if (idle.length < MOST_IDLE) {
      this.#worker.unref();
      idle.push(this.#worker);
    } else void this.#worker.terminate();
    this.#end(0);
  }

  #end(code: number): void {
    this.#port.close();
    this.#released.resolve(code);
    this.emit("exit", code);
  }
}

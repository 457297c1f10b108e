import type { FromWorker, ToWorker } from "../protocol.ts";
import type { StoreThread } from "../worker-link.ts";

/** The thread of another process, as the one that borrows it sees it (`ThreadDesk`). */
export class BorrowedThread implements StoreThread {
  readonly #listeners: ((message: FromWorker) => void)[] = [];
  readonly #send: (message: ToWorker) => void;

  /** @param send brings a request to the process that has the thread; its messages come by {@link hear}. */
  constructor(send: (message: ToWorker) => void) {
    this.#send = send;
  }

  /** A message of the thread. */
  hear(message: FromWorker): void {
    for (const listener of this.#listeners) listener(message);
  }

  on(event: "message" | "error" | "exit", listener: (message: FromWorker) => void): this {
    // The end of the thread is told in replies; with the other process this one ends too.
    if (event !== "message") return this;
    this.#listeners.push(listener);
    // Whoever lends a thread has one that runs.
    setImmediate(() => listener({ type: "opened" }));
    return this;
  }

  postMessage(message: ToWorker): void {
    this.#send(message);
  }

  terminate(): Promise<void> {
    return Promise.resolve();
  }
}

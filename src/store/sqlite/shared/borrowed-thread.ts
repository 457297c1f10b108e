import { connect, type Socket } from "node:net";
import type { FromWorker } from "../protocol.ts";
import type { ToWorker } from "../store-engine.ts";
import type { StoreThread } from "../worker-link.ts";
import type { Door } from "./door.ts";
import { encodeMessage, MessageReader } from "./frames.ts";

/**
 * The store's thread of another process, as the one that uses it sees it; the other end is a
 * `StoreDoor`.
 */
export class BorrowedThread implements StoreThread {
  readonly #socket: Socket;
  readonly #reader: MessageReader<FromWorker>;
  readonly #listeners: ((message: FromWorker) => void)[] = [];

  /** Connects. The end of the connection is the end of the thread to this process: `exit`. */
  constructor({ address, workerSecret, threadSecret }: Door) {
    this.#reader = new MessageReader(threadSecret, isFromThread);
    this.#socket = connect(address);
    this.#socket.write(workerSecret);
    this.#socket.on("data", (chunk: Buffer) => this.#hear(chunk));
  }

  on(event: "message", listener: (message: FromWorker) => void): this;
  on(event: "error" | "exit", listener: () => void): this;
  on(event: "message" | "error" | "exit", listener: (message: FromWorker) => void): this {
    if (event === "message") this.#listeners.push(listener);
    else this.#socket.on(event === "exit" ? "close" : "error", listener);
    return this;
  }

  postMessage(message: ToWorker): void {
    this.#socket.write(encodeMessage(message));
  }

  terminate(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.closed) return resolve();
      this.#socket.once("close", () => resolve());
      this.#socket.destroy();
    });
  }

  #hear(chunk: Buffer): void {
    try {
      for (const message of this.#reader.read(chunk)) {
        for (const listener of this.#listeners) listener(message);
      }
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : undefined);
    }
  }
}

function isFromThread(value: unknown): value is FromWorker {
  return (
    typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
  );
}

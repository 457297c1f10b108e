import { EventEmitter } from "node:events";
import { connect, type Socket } from "node:net";
import type { Worker } from "node:worker_threads";
import type { FromWorker, ToWorker, WorkerStart } from "../store-engine.ts";
import { startThread, type StoreThread } from "../worker-link.ts";
import { type Door, encodeMessage, messageReader, SECRET } from "./frames.ts";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The store's thread of another process, at whose other end is a `StoreDoor`. */
export class BorrowedThread
  extends EventEmitter<{ message: [FromWorker]; error: [Error]; exit: [] }>
  implements StoreThread
{
  readonly #socket: Socket;

  /** Connects. The end of the connection is the end of the thread to this process: `exit`. */
  constructor({ address, workerSecret, threadSecret }: Door) {
    super();
    const reader = messageReader(threadSecret, isFromThread);
    const socket = connect(address);
    this.#socket = socket;
    socket.write(workerSecret);
    socket.on("error", (error) => this.emit("error", error));
    socket.on("close", () => this.emit("exit"));
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const message of reader.read(chunk)) this.emit("message", message);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : undefined);
      }
    });
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
}

function isFromThread(value: unknown): value is FromWorker {
  return (
    typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
  );
}

export type LentThread = ReturnType<typeof lentThread>;

/**
 * The store's one thread, which workers use too, so that a database has one writer however many of
 * them serve: one connection, one chain, one transaction at a time. Their messages go to the thread
 * directly, by its {@link Door}.
 *
 * @param say prints a line for operators.
 */
export function lentThread(say: (line: string) => void) {
  const listeners = new Set<(door: Door) => void>();
  let opened: Door | null = null;

  return {
    /** Of the thread that runs, or ran last; `null` before the first one. */
    get door(): Door | null {
      return opened;
    },
    /** Calls `listener` for each later door. @returns ends it */
    watch(listener: (door: Door) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** For the store that owns the thread; called again when the thread has died. */
    startThread: (start: WorkerStart): Worker => {
      const door = newDoor();
      const thread = startThread({ ...start, door });
      thread.on("message", (message: FromWorker) => {
        if (message.type === "refused")
          say(`a worker's connection to the store was closed: ${message.description}`);
        if (message.type !== "opened") return;
        opened = door;
        for (const listener of listeners) listener(door);
      });
      thread.on("exit", () => removeDoor(door));
      return thread;
    },
  };
}

/**
 * A new one for each thread. On Linux the address is a name without a file: it needs no folder that
 * can be written, has no length to exceed, and ends with the thread even if the process is killed.
 * A process in the same network namespace may connect; the secrets keep them out. Elsewhere it is a
 * file in a private folder.
 */
export function newDoor(): Door {
  const folder = process.platform === "linux" ? null : mkdtempSync(join(tmpdir(), "signalbox-"));
  const address =
    folder === null ? `\0signalbox-${randomBytes(16).toString("hex")}` : join(folder, "store");
  return { address, workerSecret: randomBytes(SECRET), threadSecret: randomBytes(SECRET), folder };
}

export function removeDoor({ folder }: Door): void {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
}

import type { Worker } from "node:worker_threads";
import type { FromWorker, WorkerStart } from "../protocol.ts";
import { startThread } from "../worker-link.ts";
import { newDoor, removeDoor, type Door } from "./door.ts";

/**
 * The store's one thread, which workers use too, so that a database has one writer however many of
 * them serve: one connection, one chain, one transaction at a time. Their messages go to the thread
 * directly, by its {@link Door}.
 */
export class LentThread {
  readonly #say: (line: string) => void;
  readonly #listeners = new Set<(door: Door) => void>();
  #door: Door | null = null;

  /** @param say takes a line for operators. */
  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** Of the thread that runs, or ran last; `null` before the first one. */
  get door(): Door | null {
    return this.#door;
  }

  /** Calls `listener` for each later door. @returns ends it */
  watch(listener: (door: Door) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * For the store that has the thread (`SqliteStoreOptions.startThread`); called again when the
   * thread has died.
   */
  readonly startThread = (start: WorkerStart): Worker => {
    const door = newDoor();
    const thread = startThread({ ...start, door });
    thread.on("message", (message: FromWorker) => {
      if (message.type === "refused")
        this.#say(`a worker's connection to the store was closed: ${message.description}`);
      if (message.type !== "opened") return;
      this.#door = door;
      for (const listener of this.#listeners) listener(door);
    });
    thread.on("exit", () => removeDoor(door));
    return thread;
  };
}

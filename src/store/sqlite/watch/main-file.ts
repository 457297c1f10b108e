import type { DatabaseSync, StatementSync } from "node:sqlite";

import { readNumber } from "../../rows/row.ts";

/**
 * Whether the main file became shorter although the database did not. SQLite itself shortens the file only after a
 * `VACUUM`, which lowers the number of pages. It would fill what is missing with zeros at the next checkpoint.
 */
export class MainFile {
  readonly #pageCount: StatementSync;
  readonly #readDataVersion: StatementSync;
  readonly #pageSize: number;
  #dataVersionSeen = 0;
  /** The file has at least so many bytes. */
  #least = 0;

  constructor(database: DatabaseSync) {
    this.#pageCount = database.prepare("PRAGMA page_count");
    this.#readDataVersion = database.prepare("PRAGMA data_version");
    this.#pageSize = readNumber(database.prepare("PRAGMA page_size").get() ?? {}, "page_size");
    this.#dataVersionSeen = this.dataVersion();
  }

  get pageSize(): number {
    return this.#pageSize;
  }

  /**
   * @param size of the file, bytes
   * @param frames of the write-ahead log that are in use; `null` where that is unknown
   * @param dataVersion what {@link dataVersion} gave before the others were read
   */
  isTruncated(size: number, frames: number | null, dataVersion: number): boolean {
    const othersWrote = dataVersion !== this.#dataVersionSeen;
    // As long as it should be, and VACUUM did not run: the number of pages, a transaction of its own, could change nothing.
    if (size === this.#least && !othersWrote) return false;
    // Without frames, SQLite takes the number of pages from the file's size, so that it proves nothing.
    const database = frames === 0 ? size : readNumber(this.#pageCount.get() ?? {}, "page_count") * this.#pageSize;
    if (frames !== 0 && database < this.#least) this.#least = database;
    if (size < this.#least) {
      // Another process may have run VACUUM between two looks; then what the file lacks is in the write-ahead log.
      const lacking = (database - size) / this.#pageSize;
      if (!othersWrote || (frames !== null && lacking > frames)) return true;
      this.#least = size;
    }
    this.#dataVersionSeen = dataVersion;
    this.#least = Math.max(this.#least, Math.min(size, database));
    return false;
  }

  /** Changes with every commit of another connection. */
  dataVersion(): number {
    try {
      return readNumber(this.#readDataVersion.get() ?? {}, "data_version");
    } catch {
      // Unreadable just now.
      return this.#dataVersionSeen;
    }
  }
}

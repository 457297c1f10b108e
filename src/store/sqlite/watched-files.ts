import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EvidenceFaultCause } from "../../evidence/evidence-store.ts";
import { readNumber } from "../rows.ts";

/** Bytes of headers of a write-ahead log and its frames (sqlite.org/fileformat2.html, 4.1). */
const FILE_HEADER = 32;
const FRAME_HEADER = 24;

/** Bytes. */
export interface Sizes {
  readonly main: number;
  /** Of the write-ahead log. */
  readonly wal: number;
}

/**
 * Whether a file became shorter although SQLite did not shorten it. It shortens the write-ahead log
 * only without a frame in use, and the main file only after a `VACUUM`, which lowers the number of
 * pages. It would fill missing bytes with zeros at the next checkpoint.
 */
export class FileSizes {
  readonly #pageCount: StatementSync;
  readonly #readDataVersion: StatementSync;
  readonly #frames: StatementSync | null;
  readonly #pageSize: number;
  #dataVersion = 0;
  /** Least sizes of the files. */
  #least: Sizes = { main: 0, wal: 0 };

  constructor(database: DatabaseSync) {
    this.#pageCount = database.prepare("PRAGMA page_count");
    this.#readDataVersion = database.prepare("PRAGMA data_version");
    // Older versions take NOOP for a real checkpoint.
    this.#frames = isAtLeast(database, [3, 51])
      ? database.prepare("PRAGMA wal_checkpoint(NOOP)")
      : null;
    this.#pageSize = readNumber(database.prepare("PRAGMA page_size").get(), "page_size");
    this.#dataVersion = this.#readVersion();
  }

  /** Whether neither file is shorter than at any look before: then nothing was truncated. */
  haveGrown(sizes: Sizes): boolean {
    if (sizes.main < this.#least.main || sizes.wal < this.#least.wal) return false;
    this.#least = sizes;
    return true;
  }

  /**
   * The file that was truncated; `null` for none.
   *
   * @param read gives the sizes; `null` where a file is not the one that was opened
   * @throws {Error} while the database is locked or cannot be read: nothing is known
   */
  findTruncated(read: () => Sizes | null): keyof Sizes | null {
    // Read first: a VACUUM between the readings then shows at the next look.
    const dataVersion = this.#readVersion();
    // Frames before sizes: a file is never shorter than frames counted before need.
    const frames = this.#frames === null ? null : readNumber(this.#frames.get(), "log");
    const sizes = read();
    if (sizes === null) return null;
    const needed =
      frames === null || frames <= 0 ? 0 : FILE_HEADER + frames * (FRAME_HEADER + this.#pageSize);
    if (sizes.wal < needed) return "wal";
    const main = this.#leastOfMain(sizes.main, frames, dataVersion);
    if (main === null) return "main";
    this.#least = { main, wal: sizes.wal };
    this.#dataVersion = dataVersion;
    return null;
  }

  /** The least size from now on; `null` where the main file lacks bytes. */
  #leastOfMain(size: number, frames: number | null, dataVersion: number): number | null {
    const { main } = this.#least;
    // Without frames, SQLite derives the number of pages from the size.
    const database =
      frames === 0 ? size : readNumber(this.#pageCount.get(), "page_count") * this.#pageSize;
    const least = frames === 0 ? main : Math.min(main, database);
    if (size < least) {
      // Another process may have run VACUUM; what the file lacks is in the write-ahead log then.
      const lacking = (database - size) / this.#pageSize;
      if (dataVersion === this.#dataVersion || (frames !== null && lacking > frames)) return null;
      return size;
    }
    return Math.max(least, Math.min(size, database));
  }

  /** Changes with every commit of another connection. */
  #readVersion() {
    return readNumber(this.#readDataVersion.get(), "data_version");
  }
}

function isAtLeast(database: DatabaseSync, [major, minor]: readonly [number, number]): boolean {
  const { version } = database.prepare("SELECT sqlite_version() AS version").get() ?? {};
  const [first = 0, second = 0] = String(version).split(".").map(Number);
  return first > major || (first === major && second >= minor);
}

/** Whether a path leads to the open file: SQLite keeps writing to one without a name. */
export class FileIdentity {
  readonly path: string;
  readonly #opened: { readonly dev: bigint; readonly ino: bigint } | null;

  /** Call it once the file is open. A file that is not there is not watched. */
  constructor(path: string) {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    this.path = path;
    this.#opened = found === undefined ? null : { dev: found.dev, ino: found.ino };
  }

  /** The file's fault, or its size in bytes; `null` where neither can be known. */
  look(): EvidenceFaultCause | number | null {
    if (this.#opened === null) return null;
    try {
      const found = statSync(this.path, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) return "file_removed";
      const isSame = found.ino === this.#opened.ino && found.dev === this.#opened.dev;
      return isSame ? Number(found.size) : "file_replaced";
    } catch {
      // The folder cannot be read; the file may still be there.
      return null;
    }
  }
}

import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { ChainLink } from "../../evidence/chain.ts";
import type {
  EvidenceFault,
  EvidenceFaultCause,
  NotedHead,
} from "../../evidence/evidence-store.ts";
import { diskHead, headNote, notedHeadPath, readNotedHead } from "./log-end.ts";
import { statSync } from "node:fs";
import { readNumber } from "../rows.ts";

/** Checks of a truncation, and milliseconds between: one can see a file between two states. */
const LOOKS = 5;
const PAUSE = 2;
const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/** How often the end of the log on disk is read, milliseconds. */
const COMPARING = 1_000;

export type StoreWatch = ReturnType<typeof storeWatch>;

/**
 * Watches the files of an open database: the main file, the write-ahead log (`-wal`) and its index
 * (`-shm`). A file that was removed or replaced may be put back; after a truncation only a restart
 * helps. A file that was cut and filled up again between two looks is noticed when the end of the
 * log is read.
 *
 * Call it once the database is open. @param readOnly watches the identity of files only
 */
export function storeWatch(path: string, database: DatabaseSync, readOnly: boolean) {
  let truncation: EvidenceFault | null = null;
  let diverged: EvidenceFault | null = null;
  let comparedAt = Number.NEGATIVE_INFINITY;
  let isRescued = false;
  const mainFile = new FileIdentity(path);
  const walFile = new FileIdentity(`${path}-wal`);
  const indexFile = new FileIdentity(`${path}-shm`);
  const sizes = readOnly ? null : fileSizes(database);
  const readDiskHead = readOnly ? null : diskHead(path);
  const note = readOnly ? null : headNote(path);

  /** @param isThorough looks at the sizes also where none is smaller than before */
  function checkFiles(isThorough: boolean): EvidenceFault | null {
    if (truncation !== null) return truncation;
    const found = look();
    if (found === null || "cause" in found) return found;
    if (sizes === null || (!isThorough && sizes.haveGrown(found))) return null;
    for (let round = 1; ; round += 1) {
      const truncated = findTruncated(sizes);
      if (truncated === null) return null;
      if (round === LOOKS) return (truncation = faultOf(truncated, "file_truncated"));
      Atomics.wait(SLEEPER, 0, 0, PAUSE);
    }
  }

  /** The fault of a removed or replaced file, or else the sizes; `null`: nothing can be known. */
  function look(): EvidenceFault | Sizes | null {
    const [main, wal, index] = [mainFile.look(), walFile.look(), indexFile.look()];
    if (typeof main === "string") return faultOf(mainFile, main);
    if (typeof wal === "string") {
      if (wal === "file_removed" && (typeof index !== "string" || index === "file_removed"))
        rescue();
      return faultOf(walFile, wal);
    }
    if (typeof index === "string") return faultOf(indexFile, index);
    isRescued = false;
    // A file system without shared memory gets no write-ahead log.
    return main === null ? null : { main, wal: wal ?? Number.MAX_SAFE_INTEGER };
  }

  function findTruncated(watched: FileSizes): FileIdentity | null {
    try {
      const truncated = watched.findTruncated(() => {
        const found = look();
        return found === null || "cause" in found ? null : found;
      });
      return truncated === null ? null : truncated === "main" ? mainFile : walFile;
    } catch {
      // Locked or unreadable just now; requests report such failures themselves.
      return null;
    }
  }

  /**
   * The open descriptor still has every frame of a log that was removed. Copied into the main file
   * they outlive this process. Not where a file was replaced: then another process works with files
   * of its own.
   */
  function rescue() {
    if (isRescued || sizes === null) return;
    try {
      const { busy, log, checkpointed } =
        database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
      isRescued = busy === 0 && log === checkpointed;
    } catch {
      // Tried again at the next look.
    }
  }

  return {
    /** The database's fault, or `null`. Call it outside of transactions. */
    check(): EvidenceFault | null {
      return checkFiles(false) ?? diverged;
    },
    /**
     * Reads the end of the log by a connection of its own, at most once a second; {@link check}
     * gives what was wrong. Call it outside of transactions.
     *
     * @param expected the newest row that this process knows as durable
     * @param now milliseconds since the epoch
     * @returns the newest row known from now on
     */
    compareHead(expected: ChainLink, now: number): ChainLink {
      const elapsed = now - comparedAt;
      if (readDiskHead === null || (elapsed >= 0 && elapsed < COMPARING)) return expected;
      // A connection to an empty file would remove the log, one without a log would create one.
      if (checkFiles(true) !== null) return expected;
      comparedAt = now;
      note?.close();
      const head = readDiskHead(expected);
      diverged = typeof head === "string" ? faultOf(mainFile, head) : null;
      return typeof head === "string" ? expected : head;
    },
    /** Notes the newest durable row beside the file. */
    noteHead(head: ChainLink): void {
      note?.write(head);
    },
    /** The newest noted head. */
    notedHead(): NotedHead | null {
      const noted = readNotedHead(mainFile.path);
      return noted === null ? null : { ...noted, file: basename(notedHeadPath(mainFile.path)) };
    },
    close(): void {
      note?.close();
    },
  };
}

function faultOf({ path }: FileIdentity, cause: EvidenceFaultCause): EvidenceFault {
  return { cause, file: basename(path) };
}

const REMOVED =
  "was deleted or replaced while it was open; put it back, or restart the process to use what is there now";

/** The fault of a file, and what to do. */
const FAULTS: Readonly<Record<EvidenceFaultCause, string>> = {
  file_removed: REMOVED,
  file_replaced: REMOVED,
  file_truncated:
    "was truncated while it was open; stop the process and restore the database from a backup",
  log_behind:
    "ends before the newest evidence that this process wrote; put the right database back, or restart the process to use what is there now",
  log_differs:
    "has other evidence than this process wrote; put the right database back, or restart the process to use what is there now",
  log_unreadable: "cannot be read anew; stop the process and restore the database from a backup",
};

/** One sentence with the file's name, what happened and what to do. */
export function describeFault({ cause, file }: EvidenceFault): string {
  return `${file ?? "the database"} ${FAULTS[cause]}`;
}

/** Bytes of headers of a write-ahead log and its frames (sqlite.org/fileformat2.html, 4.1). */
const FILE_HEADER = 32;
const FRAME_HEADER = 24;

/** Bytes. */
interface Sizes {
  readonly main: number;
  /** Of the write-ahead log. */
  readonly wal: number;
}

type FileSizes = ReturnType<typeof fileSizes>;

/**
 * Whether a file became shorter although SQLite did not shorten it. It shortens the write-ahead log
 * only without a frame in use, and the main file only after a `VACUUM`, which lowers the number of
 * pages. It would fill missing bytes with zeros at the next checkpoint.
 */
function fileSizes(database: DatabaseSync) {
  /** Least sizes of the files. */
  let leastSizes: Sizes = { main: 0, wal: 0 };
  const pageCount = database.prepare("PRAGMA page_count");
  const versionStatement = database.prepare("PRAGMA data_version");
  // Older versions take NOOP for a real checkpoint.
  const countFrames = supportsVersion(database, [3, 51])
    ? database.prepare("PRAGMA wal_checkpoint(NOOP)")
    : null;
  const pageSize = readNumber(database.prepare("PRAGMA page_size").get(), "page_size");
  /** Changes with every commit of another connection. */
  const readVersion = () => readNumber(versionStatement.get(), "data_version");
  let seenVersion = readVersion();

  /** The least size from now on; `null` where the main file lacks bytes. */
  function leastOfMain(size: number, frames: number | null, dataVersion: number): number | null {
    const { main } = leastSizes;
    // Without frames, SQLite derives the number of pages from the size.
    const filled = frames === 0 ? size : readNumber(pageCount.get(), "page_count") * pageSize;
    const least = frames === 0 ? main : Math.min(main, filled);
    if (size < least) {
      // Another process may have run VACUUM; what the file lacks is in the write-ahead log then.
      const lacking = (filled - size) / pageSize;
      if (dataVersion === seenVersion || (frames !== null && lacking > frames)) return null;
      return size;
    }
    return Math.max(least, Math.min(size, filled));
  }

  return {
    /** Whether neither file is shorter than at any look before: then nothing was truncated. */
    haveGrown(sizes: Sizes): boolean {
      if (sizes.main < leastSizes.main || sizes.wal < leastSizes.wal) return false;
      leastSizes = sizes;
      return true;
    },
    /**
     * The file that was truncated; `null` for none.
     *
     * @param read gives the sizes; `null` where a file is not the one that was opened
     * @throws {Error} while the database is locked or cannot be read: nothing is known
     */
    findTruncated(read: () => Sizes | null): keyof Sizes | null {
      // Read first: a VACUUM between the readings then shows at the next look.
      const dataVersion = readVersion();
      // Frames before sizes: a file is never shorter than frames counted before need.
      const frames = countFrames === null ? null : readNumber(countFrames.get(), "log");
      const sizes = read();
      if (sizes === null) return null;
      const needed =
        frames === null || frames <= 0 ? 0 : FILE_HEADER + frames * (FRAME_HEADER + pageSize);
      if (sizes.wal < needed) return "wal";
      const main = leastOfMain(sizes.main, frames, dataVersion);
      if (main === null) return "main";
      leastSizes = { main, wal: sizes.wal };
      seenVersion = dataVersion;
      return null;
    },
  };
}

function supportsVersion(
  database: DatabaseSync,
  [major, minor]: readonly [number, number],
): boolean {
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

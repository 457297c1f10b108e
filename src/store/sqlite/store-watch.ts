import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { ChainLink } from "../../evidence/chain.ts";
import type {
  EvidenceFault,
  EvidenceFaultCause,
  NotedHead,
} from "../../evidence/evidence-store.ts";
import { DiskHead, HeadNote, notedHeadPath, readNotedHead } from "./log-end.ts";
import { FileIdentity, FileSizes, type Sizes } from "./watched-files.ts";

/** Checks of a truncation, and milliseconds between: one can see a file between two states. */
const LOOKS = 5;
const PAUSE = 2;
const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/** How often the end of the log on disk is read, milliseconds. */
const COMPARING = 1_000;

/**
 * Watches the files of an open database: the main file, the write-ahead log (`-wal`) and its index
 * (`-shm`). A file that was removed or replaced may be put back; after a truncation only a restart
 * helps. A file that was cut and filled up again between two looks is noticed when the end of the
 * log is read.
 */
export class StoreWatch {
  readonly #database: DatabaseSync;
  readonly #main: FileIdentity;
  readonly #wal: FileIdentity;
  readonly #index: FileIdentity;
  readonly #sizes: FileSizes | null;
  readonly #diskHead: DiskHead | null;
  readonly #note: HeadNote | null;
  #truncated: EvidenceFault | null = null;
  #diverged: EvidenceFault | null = null;
  #comparedAt = Number.NEGATIVE_INFINITY;
  #isRescued = false;

  /** Call it once the database is open. @param readOnly watches the identity of files only */
  constructor(path: string, database: DatabaseSync, readOnly: boolean) {
    this.#database = database;
    this.#main = new FileIdentity(path);
    this.#wal = new FileIdentity(`${path}-wal`);
    this.#index = new FileIdentity(`${path}-shm`);
    this.#sizes = readOnly ? null : new FileSizes(database);
    this.#diskHead = readOnly ? null : new DiskHead(path);
    this.#note = readOnly ? null : new HeadNote(path);
  }

  /** The database's fault, or `null`. Call it outside of transactions. */
  check(): EvidenceFault | null {
    return this.#checkFiles(false) ?? this.#diverged;
  }

  /**
   * Reads the end of the log by a connection of its own, at most once a second; {@link check} gives
   * what was wrong. Call it outside of transactions.
   *
   * @param known the newest row that this process knows as durable
   * @param now milliseconds since the epoch
   * @returns the newest row known from now on
   */
  compareHead(known: ChainLink, now: number): ChainLink {
    const elapsed = now - this.#comparedAt;
    if (this.#diskHead === null || (elapsed >= 0 && elapsed < COMPARING)) return known;
    // A connection to an empty file would remove the log, one without a log would create one.
    if (this.#checkFiles(true) !== null) return known;
    this.#comparedAt = now;
    this.#note?.close();
    const head = this.#diskHead.compare(known);
    this.#diverged = typeof head === "string" ? faultOf(this.#main, head) : null;
    return typeof head === "string" ? known : head;
  }

  /** Notes the newest durable row beside the file. */
  noteHead(head: ChainLink): void {
    this.#note?.write(head);
  }

  /** The newest noted head. */
  notedHead(): NotedHead | null {
    const noted = readNotedHead(this.#main.path);
    return noted === null ? null : { ...noted, file: basename(notedHeadPath(this.#main.path)) };
  }

  close(): void {
    this.#note?.close();
  }

  /** @param isThorough looks at the sizes also where none is smaller than before */
  #checkFiles(isThorough: boolean): EvidenceFault | null {
    if (this.#truncated !== null) return this.#truncated;
    const found = this.#look();
    if (found === null || "cause" in found) return found;
    if (this.#sizes === null || (!isThorough && this.#sizes.haveGrown(found))) return null;
    for (let look = 1; ; look += 1) {
      const truncated = this.#findTruncated(this.#sizes);
      if (truncated === null) return null;
      if (look === LOOKS) return (this.#truncated = faultOf(truncated, "file_truncated"));
      Atomics.wait(SLEEPER, 0, 0, PAUSE);
    }
  }

  /** The fault of a removed or replaced file, or else the sizes; `null`: nothing can be known. */
  #look(): EvidenceFault | Sizes | null {
    const [main, wal, index] = [this.#main.look(), this.#wal.look(), this.#index.look()];
    if (typeof main === "string") return faultOf(this.#main, main);
    if (typeof wal === "string") {
      if (wal === "file_removed" && (typeof index !== "string" || index === "file_removed"))
        this.#rescue();
      return faultOf(this.#wal, wal);
    }
    if (typeof index === "string") return faultOf(this.#index, index);
    this.#isRescued = false;
    // A file system without shared memory gets no write-ahead log.
    return main === null ? null : { main, wal: wal ?? Number.MAX_SAFE_INTEGER };
  }

  #findTruncated(sizes: FileSizes): FileIdentity | null {
    try {
      const truncated = sizes.findTruncated(() => {
        const found = this.#look();
        return found === null || "cause" in found ? null : found;
      });
      return truncated === null ? null : truncated === "main" ? this.#main : this.#wal;
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
  #rescue() {
    if (this.#isRescued || this.#sizes === null) return;
    try {
      const { busy, log, checkpointed } =
        this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
      this.#isRescued = busy === 0 && log === checkpointed;
    } catch {
      // Tried again at the next look.
    }
  }
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

import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { ChainLink } from "../../../evidence/chain.ts";
import type { EvidenceFault, EvidenceFaultCause, NotedHead } from "../../../evidence/evidence-store.ts";
import { DiskHead } from "./disk-head.ts";
import { FileIdentity } from "./file-identity.ts";
import { MainFile } from "./main-file.ts";
import { HeadNote, notedHeadPath, readNotedHead } from "./noted-head.ts";
import { WalFile } from "./wal-file.ts";

/**
 * How often a truncation is looked at again, and the pause between, milliseconds. Where other processes write and end
 * checkpoints all the time, a single look can meet a file between two of its states.
 */
const LOOKS = 5;
const PAUSE = 2;
const SLEEPER = new Int32Array(new SharedArrayBuffer(4));

/**
 * How long a look at what the files hold stands, milliseconds. Every check sees whether a file was removed or replaced or
 * is shorter than before; only one that was cut and filled up again is seen so much later.
 */
const FRESH = 8;

/** How often the end of the log on disk is read, milliseconds. */
const COMPARING = 1_000;

/**
 * Watches the files of an open database: the main file, the write-ahead log (`-wal`) and its index (`-shm`). A file that
 * was removed or replaced may be put back; after a truncation only a restart helps.
 */
export class StoreWatch {
  readonly #database: DatabaseSync;
  readonly #main: FileIdentity;
  readonly #wal: FileIdentity;
  readonly #index: FileIdentity;
  readonly #mainFile: MainFile | null;
  readonly #walFile: WalFile | null;
  readonly #diskHead: DiskHead | null;
  readonly #note: HeadNote | null;
  #truncated: EvidenceFault | null = null;
  #diverged: EvidenceFault | null = null;
  #comparedAt = Number.NEGATIVE_INFINITY;
  /** `performance.now()` of the newest look at what the files hold that found nothing. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Whether SQLite answered at the newest look: a database that was locked may be whole or not. */
  #isJudged = false;
  #isRescued = false;

  /**
   * Call it once the database is open.
   *
   * @param readOnly watches only whether the files are those that were opened
   */
  constructor(path: string, database: DatabaseSync, readOnly: boolean) {
    this.#database = database;
    this.#main = new FileIdentity(path);
    this.#wal = new FileIdentity(`${path}-wal`);
    this.#index = new FileIdentity(`${path}-shm`);
    this.#mainFile = readOnly ? null : new MainFile(database);
    this.#diskHead = readOnly ? null : new DiskHead(path);
    this.#note = readOnly ? null : new HeadNote(path);
    // A file system without shared memory gets no write-ahead log.
    this.#walFile =
      this.#mainFile === null || !existsSync(this.#wal.path)
        ? null
        : new WalFile(database, this.#wal.path, this.#mainFile.pageSize);
  }

  /** What is wrong with the database; `null` while nothing is. Call it outside of transactions. */
  check(): EvidenceFault | null {
    return this.#checkFiles() ?? this.#diverged;
  }

  /**
   * Reads the end of the log by a connection of its own, at most once a second; {@link check} gives what was wrong.
   * Call it outside of transactions.
   *
   * @param known the newest row that this process knows as durable
   * @param now milliseconds since the epoch
   * @returns the newest row known from now on
   */
  compareHead(known: ChainLink, now: number): ChainLink {
    const elapsed = now - this.#comparedAt;
    if (this.#diskHead === null || (elapsed >= 0 && elapsed < COMPARING)) return known;
    // A connection to another file would say nothing, one without a log would make a new one, and one to an empty file
    // would remove the log.
    if (this.#checkFiles(0) !== null) return known;
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

  /** What a server noted last. */
  notedHead(): NotedHead | null {
    const noted = readNotedHead(this.#main.path);
    return noted === null ? null : { ...noted, file: basename(notedHeadPath(this.#main.path)) };
  }

  close(): void {
    this.#walFile?.close();
    this.#note?.close();
  }

  /** @param fresh how long the newest look at what the files hold stands, milliseconds */
  #checkFiles(fresh = FRESH): EvidenceFault | null {
    if (this.#truncated !== null) return this.#truncated;
    const now = performance.now();
    const isFresh = now - this.#lookedAt < fresh;
    // Of the main file a look has to see each size: only then it is known what a cut one lacks.
    if (isFresh && this.#main.isThere(false) && this.#wal.isThere(true) && this.#index.isThere(true)) return null;
    for (let look = 1; ; look += 1) {
      const fault = this.#look();
      this.#lookedAt = fault === null && this.#isJudged ? now : Number.NEGATIVE_INFINITY;
      if (fault?.cause !== "file_truncated") return fault;
      if (look === LOOKS) return (this.#truncated = fault);
      Atomics.wait(SLEEPER, 0, 0, PAUSE);
    }
  }

  #look(): EvidenceFault | null {
    this.#isJudged = true;
    // Read first: a VACUUM between the readings then shows at the next look.
    const dataVersion = this.#mainFile?.dataVersion() ?? 0;
    // The frames are counted before any size is read: a file is never shorter than the frames counted before need.
    const frames = this.#frames();
    const [main, wal, index] = [this.#main.look(), this.#wal.look(), this.#index.look()];
    if (main !== null && "cause" in main) return faultOf(this.#main, main.cause);
    if (wal !== null && "cause" in wal) {
      if (wal.cause === "file_removed" && (index === null || "size" in index || index.cause === "file_removed")) {
        this.#rescue();
      }
      return faultOf(this.#wal, wal.cause);
    }
    if (index !== null && "cause" in index) return faultOf(this.#index, index.cause);
    this.#isRescued = false;
    return this.#findTruncated({ main: main?.size ?? null, wal: wal?.size ?? null }, frames, dataVersion);
  }

  #frames(): number | null {
    try {
      return this.#walFile?.frames() ?? null;
    } catch {
      // Locked just now.
      this.#isJudged = false;
      return null;
    }
  }

  #findTruncated(
    { main, wal }: { readonly main: number | null; readonly wal: number | null },
    frames: number | null,
    dataVersion: number,
  ): EvidenceFault | null {
    try {
      if (wal !== null && frames !== null && this.#walFile?.isTruncated(wal, frames) === true) {
        return faultOf(this.#wal, "file_truncated");
      }
      if (main !== null && this.#mainFile?.isTruncated(main, frames, dataVersion) === true) {
        return faultOf(this.#main, "file_truncated");
      }
    } catch {
      // Locked or unreadable just now; requests report such failures themselves.
      this.#isJudged = false;
    }
    return null;
  }

  /**
   * The open descriptor still has every frame of a log that was removed. Copied into the main file they outlive this
   * process. Not where a file was replaced: then another process works with files of its own.
   */
  #rescue(): void {
    if (this.#isRescued || this.#mainFile === null) return;
    try {
      const { busy, log, checkpointed } = this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
      this.#isRescued = busy === 0 && log === checkpointed;
    } catch {
      // Tried again at the next look.
    }
  }
}

function faultOf({ path }: FileIdentity, cause: EvidenceFaultCause): EvidenceFault {
  return { cause, file: basename(path) };
}

/** One sentence with what happened, the file's name and what to do. */
export function describeFault({ cause, file }: EvidenceFault): string {
  const name = file ?? "the database";
  switch (cause) {
    case "file_removed":
    case "file_replaced":
      return `${name} was deleted or replaced while it was open; put it back, or restart the process to use what is there now`;
    case "file_truncated":
      return `${name} was truncated while it was open; stop the process and restore the database from a backup`;
    case "log_behind":
      return `${name} ends before the newest evidence that this process wrote; put the right database back, or restart the process to use what is there now`;
    case "log_differs":
      return `${name} has other evidence than this process wrote; put the right database back, or restart the process to use what is there now`;
    case "log_unreadable":
      return `${name} cannot be read anew; stop the process and restore the database from a backup`;
  }
}

import { closeSync, openSync, readSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";

import { readNumber } from "../../rows/row.ts";

/** Bytes of the header of a write-ahead log and of that of each frame (sqlite.org/fileformat2.html, section 4.1). */
const FILE_HEADER = 32;
const FRAME_HEADER = 24;

const MAGIC: readonly number[] = [0x37_7f_06_82, 0x37_7f_06_83];

/** The newest frame at the last look. */
interface Marker {
  /** Of the file; changes whenever SQLite begins to write the file anew. */
  readonly fileHeader: Buffer;
  readonly frame: number;
  readonly frameHeader: Buffer;
}

/**
 * Whether the write-ahead log still has the frames that SQLite relies on. SQLite shortens the file itself, but only when
 * it has no frame in use. A file that was truncated and then written again has zeros where its frames were.
 *
 * Nothing holds a POSIX lock on this file, so that opening and closing it is safe beside SQLite.
 */
export class WalFile {
  readonly #count: StatementSync | null;
  readonly #frameSize: number;
  readonly #descriptor: number;
  #marker: Marker | null = null;

  /** @param pageSize bytes */
  constructor(database: DatabaseSync, path: string, pageSize: number) {
    // Older versions take NOOP for a real checkpoint.
    this.#count = isAtLeast(database, [3, 51]) ? database.prepare("PRAGMA wal_checkpoint(NOOP)") : null;
    this.#frameSize = FRAME_HEADER + pageSize;
    this.#descriptor = openSync(path, "r");
  }

  /** How many frames are in use; `null` where this SQLite cannot say. */
  frames(): number | null {
    return this.#count === null ? null : readNumber(this.#count.get() ?? {}, "log");
  }

  /** @param size of the file, bytes. @param frames what {@link frames} gave before the size was read */
  isTruncated(size: number, frames: number): boolean {
    if (frames <= 0) return false;
    const newest = this.#read(FRAME_HEADER, this.#offset(frames));
    const known = this.#marker === null ? null : this.#read(FRAME_HEADER, this.#offset(this.#marker.frame));
    // Read after the frames: where it is unchanged, they were not written anew meanwhile.
    const fileHeader = this.#read(FILE_HEADER, 0);
    const isWhole = size >= this.#offset(frames + 1) && MAGIC.includes(fileHeader.readUInt32BE(0));
    const isKept =
      this.#marker === null ||
      known === null ||
      !fileHeader.equals(this.#marker.fileHeader) ||
      known.equals(this.#marker.frameHeader);
    if (isWhole && isKept) {
      this.#marker = { fileHeader, frame: frames, frameHeader: newest };
      return false;
    }
    // Another process may have ended a checkpoint between the looks; then the number of frames is another one.
    return this.frames() === frames;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** @param frame from 1 */
  #offset(frame: number): number {
    return FILE_HEADER + (frame - 1) * this.#frameSize;
  }

  /** What lies behind the end of the file reads as zeros. */
  #read(length: number, offset: number): Buffer {
    const bytes = Buffer.alloc(length);
    readSync(this.#descriptor, bytes, 0, length, offset);
    return bytes;
  }
}

function isAtLeast(database: DatabaseSync, [major, minor]: readonly [number, number]): boolean {
  const version = database.prepare("SELECT sqlite_version() AS version").get()?.["version"];
  const [presentMajor = 0, presentMinor = 0] = String(version).split(".").map(Number);
  return presentMajor > major || (presentMajor === major && presentMinor >= minor);
}

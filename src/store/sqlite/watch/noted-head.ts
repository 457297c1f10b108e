import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";

import type { ChainLink } from "../../../evidence/chain.ts";

/**
 * Digits of the position: every note has the same length, so that a newer one covers the older one
 * whole.
 */
const DIGITS = 15;

/** The file beside the database in which its server notes the end of the log. */
export function notedHeadPath(databasePath: string): string {
  return `${databasePath}-head`;
}

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * Notes the newest row that is durable, as `POSITION:HASH`. Without it, a database whose
 * write-ahead log is gone would pass for a whole one. The note is not synchronised: after a power
 * failure it may be older than the log, never newer.
 */
export class HeadNote {
  readonly #path: string;
  #descriptor: number | null = null;

  constructor(databasePath: string) {
    this.#path = notedHeadPath(databasePath);
  }

  write({ position, hash }: ChainLink): void {
    try {
      this.#descriptor ??= openSync(this.#path, FLAGS, 0o600);
      writeSync(this.#descriptor, `${String(position).padStart(DIGITS, "0")}:${hash}\n`, 0);
    } catch {
      // The rows are durable without the note; an older note is still a true one.
    }
  }

  /**
   * Opens the file anew with the next note: call it now and then, so that a note that was removed
   * or replaced is made again.
   */
  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = null;
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** What {@link HeadNote} wrote; `null` where there is no note, or none that can be read. */
export function readNotedHead(databasePath: string): ChainLink | null {
  let text: string;
  try {
    text = readFileSync(notedHeadPath(databasePath), "latin1");
  } catch {
    return null;
  }
  const [, digits = "", hash = ""] = /^([0-9]{15}):([0-9a-f]{64})\n$/.exec(text) ?? [];
  return digits === "" ? null : { position: Number(digits), hash };
}

import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";

import type { ChainLink } from "../../../evidence/chain.ts";

/** Digits of the position: every note has the same length, so that a newer one covers the older one whole. */
const DIGITS = 15;

/** The file beside the database in which its server notes the end of the log. */
export function notedHeadPath(databasePath: string): string {
  return `${databasePath}-head`;
}

/**
 * Notes the newest row that is durable, as `POSITION:HASH`. Without it, a database whose write-ahead log is gone would
 * pass for a whole one. The note is not synchronised: after a power failure it may be older than the log, never newer.
 */
export function noteHead(databasePath: string, { position, hash }: ChainLink): void {
  try {
    // Opened each time: a file that was removed is made again.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;
    const descriptor = openSync(notedHeadPath(databasePath), flags, 0o600);
    try {
      writeSync(descriptor, `${String(position).padStart(DIGITS, "0")}:${hash}\n`, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The rows are durable without the note; an older note is still a true one.
  }
}

/** What {@link noteHead} wrote; `null` where there is no note, or none that can be read. */
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

import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ChainLink } from "../../evidence/chain.ts";
import type { EvidenceFaultCause } from "../../evidence/evidence-store.ts";
import { readLink, readNumber, readText } from "../rows.ts";
import { UnusableDatabaseError } from "./database.ts";
import { BATCH_SQL } from "./evidence-table.ts";
import { isBusy, cannotOpen } from "./sqlite-failure.ts";

/** Digits of the position: notes have one length, so that a newer one covers the older. */
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
export function headNote(databasePath: string) {
  let descriptor: number | null = null;

  return {
    write({ position, hash }: ChainLink): void {
      try {
        descriptor ??= openSync(notedHeadPath(databasePath), FLAGS, 0o600);
        writeSync(descriptor, `${String(position).padStart(DIGITS, "0")}:${hash}\n`, 0);
      } catch {
        // The rows are durable without the note, and an older note is still correct.
      }
    },
    /** Reopens the file with the next note: a removed or replaced note is written again. */
    close(): void {
      const open = descriptor;
      descriptor = null;
      if (open !== null) closeSync(open);
    },
  };
}

/** The newest note of {@link headNote}; `null` where none can be read. */
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

/**
 * Compares the log with the head that a server noted beside the file.
 *
 * @throws {UnusableDatabaseError} where rows are missing at the end, or the log is another one;
 * closes the database
 */
export function refuseMissingEnd(database: DatabaseSync, path: string): void {
  // Read first: another process may still be writing.
  const noted = readNotedHead(path);
  if (noted === null) return;
  const end = readEnd(database, noted);
  if (typeof end.judged !== "string") return;
  database.close();
  const [name, note] = [basename(path), basename(notedHeadPath(path))];
  const found = `${end.head.position}:${end.head.hash}`;
  const expected = `${noted.position}:${noted.hash}`;
  const what =
    end.judged === "log_behind"
      ? `the evidence ends at ${found}, before ${expected}, which its server noted in ${note}: records are missing at the end, as when ${name}-wal was removed or an older copy was restored`
      : `the evidence is not the log of which its server noted ${expected} in ${note}; it ends at ${found}`;
  throw new UnusableDatabaseError(
    `${what}. Put the missing files back, or remove ${note} to continue with the records that are left`,
  );
}

const COVERING =
  "SELECT first, last, hash FROM evidence_batches WHERE last >= ? ORDER BY last LIMIT 1";

/** A single failed reading may be another process that opens the file at the same moment. */
const FAILURES = 2;

/** The end of the log on disk, by a new connection: the writing one has pages in memory. */
export function diskHead(path: string) {
  let failures = 0;

  /** The newest row on disk, or its fault; takes 0.2 ms. @param expected the newest durable row */
  return (expected: ChainLink): ChainLink | EvidenceFaultCause => {
    try {
      const database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
      try {
        database.exec("PRAGMA trusted_schema = OFF");
        const { judged } = readEnd(database, expected);
        failures = 0;
        return judged;
      } finally {
        database.close();
      }
    } catch (error) {
      // No free descriptor, or a removed file, which the watch of files notices.
      if (isBusy(error) || cannotOpen(error)) return expected;
      failures += 1;
      return failures < FAILURES ? expected : "log_unreadable";
    }
  };
}

/** The newest row of the log, and what {@link judge} finds of it. */
function readEnd(
  database: DatabaseSync,
  expected: ChainLink,
): { readonly head: ChainLink; readonly judged: ChainLink | EvidenceFaultCause } {
  const head = readLink(
    database.prepare(BATCH_SQL.newest).get() ?? database.prepare(BATCH_SQL.start).get(),
  );
  return { head, judged: judge(expected, rowAt(database, expected.position), head) };
}

/** The end of a batch; without a hash where another batch covers it, `null` where it is gone. */
function rowAt(database: DatabaseSync, position: number): ChainLink | null {
  const row = database.prepare(COVERING).get(position);
  if (row === undefined || readNumber(row, "first") > position) return null;
  return { position, hash: readNumber(row, "last") === position ? readText(row, "hash") : "" };
}

/**
 * Whether a log is the continuation of what was known of it.
 *
 * @param stored the row at the expected position; `null` where there is none, which a prune
 * explains if the log continues
 */
export function judge(
  expected: ChainLink,
  stored: ChainLink | null,
  head: ChainLink,
): ChainLink | EvidenceFaultCause {
  if (head.position < expected.position) return "log_behind";
  if ((stored ?? expected).hash !== expected.hash) return "log_differs";
  if (head.position === expected.position && head.hash !== expected.hash) return "log_differs";
  return head;
}

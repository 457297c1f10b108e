import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";

import { UnusableDatabaseError } from "../database.ts";
import { readEnd } from "./disk-head.ts";
import { notedHeadPath, readNotedHead } from "./noted-head.ts";

/**
 * Compares the log with the head that a server noted beside the file.
 *
 * @throws {UnusableDatabaseError} where rows are missing at the end, or the log is another one;
 * closes the database
 */
export function refuseMissingEnd(database: DatabaseSync, path: string): void {
  // Read first: another process may go on writing.
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

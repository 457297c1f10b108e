import { readNumber, readText, readTextOrNull, type Row } from "../rows/row.ts";
import { encodeBatch, FrameCursor, workspaceNumberOf } from "./frames.ts";
import { NO_IDS, widened, type IdRange, type StoredBatch } from "./stored-batch.ts";

/** Rows of the old log in one batch. */
const ROWS = 200;

/**
 * Makes batches of a log that has a row for each record, as older versions wrote it: `position`, `kind`, `at`,
 * `request_id`, `workspace`, `process`, `record`, `hash`. Each row is taken as it is, so one that was tampered with does
 * not verify afterwards either.
 */
export class LogPacker {
  #rows: Row[] = [];
  #highWater = "";

  /** Takes the next row, in order; gives the batch before it where that one is full. */
  take(row: Row): StoredBatch | null {
    const last = this.#rows.at(-1);
    const follows =
      last === undefined ||
      (last["process"] === row["process"] && readNumber(row, "position") === readNumber(last, "position") + 1);
    const full = this.#rows.length === ROWS || !follows ? this.end() : null;
    this.#rows.push(row);
    return full;
  }

  /** The batch of the rows that are left; `null` where there are none. */
  end(): StoredBatch | null {
    const rows = this.#rows;
    const [first, last] = [rows[0], rows.at(-1)];
    if (first === undefined || last === undefined) return null;
    this.#rows = [];
    const decided = idsOf(rows, "decision");
    if (decided.highest > this.#highWater) this.#highWater = decided.highest;
    return {
      first: readNumber(first, "position"),
      last: readNumber(last, "position"),
      hash: readText(last, "hash"),
      process: readNumber(last, "process"),
      diedAt: null,
      decided,
      ended: idsOf(rows, "outcome"),
      highWater: this.#highWater,
      ...pack(rows),
    };
  }
}

function idsOf(rows: readonly Row[], kind: "decision" | "outcome"): IdRange {
  let range = NO_IDS;
  for (const row of rows) if (row["kind"] === kind) range = widened(range, readText(row, "request_id"));
  return range;
}

function pack(rows: readonly Row[]): Pick<StoredBatch, "records" | "workspaces"> {
  const frames: Uint8Array[] = [];
  const workspaces: string[] = [];
  for (const row of rows) {
    const [at, requestId, record] = [readNumber(row, "at"), readText(row, "request_id"), readText(row, "record")];
    const isDecision = row["kind"] === "decision";
    const { bytes } = isDecision
      ? encodeBatch([at, requestId, null, record], [])
      : encodeBatch([], [at, requestId, record]);
    const cursor = new FrameCursor(bytes);
    cursor.next();
    cursor.hash = readText(row, "hash");
    const workspace = readTextOrNull(row, "workspace");
    if (workspace !== null) cursor.workspaceNumber = workspaceNumberOf(workspace, workspaces);
    frames.push(bytes);
  }
  return { records: Buffer.concat(frames), workspaces };
}

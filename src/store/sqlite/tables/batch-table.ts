import type { DatabaseSync, StatementSync } from "node:sqlite";

import { GENESIS, type ChainKind, type ChainLink } from "../../../evidence/chain.ts";
import { readRows, type StoredBatch } from "../../batch/lines.ts";
import type { BatchQuery } from "../protocol.ts";
import { readBytes, readNumber, readText, readTexts, type Row } from "../../rows/row.ts";

const OF_WORKSPACE = "(? IS NULL OR EXISTS (SELECT 1 FROM json_each(workspaces) WHERE value = ?))";

/**
 * Bytes of records as stored that are read at a time, so that writing waits for a few milliseconds
 * at most.
 */
const PAGE = 64 * 1024;

/** The statements over `evidence_batches`; runs in the worker. */
export class BatchTable {
  readonly #newest: StatementSync;
  readonly #start: StatementSync;
  readonly #insert: StatementSync;
  readonly #after: StatementSync;
  readonly #before: StatementSync;
  readonly #position: StatementSync;
  readonly #range: StatementSync;

  constructor(database: DatabaseSync) {
    this.#newest = database.prepare(
      "SELECT last AS position, hash FROM evidence_batches ORDER BY last DESC LIMIT 1",
    );
    this.#start = database.prepare("SELECT position, hash FROM evidence_start");
    this.#insert = database.prepare("INSERT INTO evidence_batches VALUES (?, ?, ?, ?, ?, ?, ?)");
    this.#after = database.prepare("SELECT * FROM evidence_batches WHERE last > ? ORDER BY last");
    this.#before = database.prepare(
      `SELECT * FROM evidence_batches WHERE last < ? AND last > ? AND ${OF_WORKSPACE} ORDER BY last DESC`,
    );
    this.#position = database.prepare(
      "SELECT last FROM evidence_batches WHERE highest >= ? ORDER BY highest, last LIMIT 1",
    );
    this.#range = database.prepare(
      `SELECT batch.* FROM evidence_batches AS batch JOIN (
         SELECT last, highest FROM evidence_batches WHERE highest >= ? AND lowest <= ?) AS found ON found.last = batch.last
       ORDER BY found.highest, found.last`,
    );
  }

  /** The newest row, of any process; where all were pruned, what they ended at. */
  head(): ChainLink {
    const row = this.#newest.get() ?? this.#start.get();
    return row === undefined
      ? GENESIS
      : { position: readNumber(row, "position"), hash: readText(row, "hash") };
  }

  insert({ last, first, hash, lowest, highest, workspaces, records }: StoredBatch): void {
    this.#insert.run(last, first, hash, lowest, highest, JSON.stringify(workspaces), records);
  }

  /** Batches after a position, in order. */
  after(position: number): readonly StoredBatch[] {
    return pageOf(this.#after.iterate(position));
  }

  /** A page of batches. */
  page({ after, before, newestFirst, workspace }: BatchQuery): readonly StoredBatch[] {
    return newestFirst
      ? pageOf(this.#before.iterate(before, after, workspace, workspace))
      : this.after(after);
  }

  /**
   * The batches with the records of a request, in the order of the log.
   *
   * @param kinds which are wanted: an outcome that is not there is searched for in all newer
   * batches
   */
  find(requestId: string, kinds: readonly ChainKind[]): readonly StoredBatch[] {
    const wanted = new Set(kinds);
    const found: StoredBatch[] = [];
    for (const row of this.#range.iterate(requestId, requestId)) {
      const batch = readBatch(row);
      const size = wanted.size;
      for (const one of readRows(batch)) if (one.requestId === requestId) wanted.delete(one.kind);
      if (wanted.size < size) found.push(batch);
      if (wanted.size === 0) break;
    }
    return found.toSorted((left, right) => left.last - right.last);
  }

  /** See {@link SearchedLog.positionOf}. */
  positionOf(requestId: string): number {
    const row = this.#position.get(requestId);
    return row === undefined ? this.head().position : readNumber(row, "last");
  }
}

function pageOf(rows: Iterable<Row>): readonly StoredBatch[] {
  const batches: StoredBatch[] = [];
  let bytes = 0;
  for (const row of rows) {
    const batch = readBatch(row);
    batches.push(batch);
    bytes += batch.records.length;
    if (bytes >= PAGE) break;
  }
  return batches;
}

function readBatch(row: Row): StoredBatch {
  return {
    first: readNumber(row, "first"),
    last: readNumber(row, "last"),
    hash: readText(row, "hash"),
    lowest: readText(row, "lowest"),
    highest: readText(row, "highest"),
    workspaces: readTexts(row, "workspaces"),
    records: readBytes(row, "records"),
  };
}

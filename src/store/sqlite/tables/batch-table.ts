import type { DatabaseSync, StatementSync } from "node:sqlite";

import { GENESIS, type ChainLink } from "../../../evidence/chain.ts";
import { compressedRecords, decompressedRecords } from "../../batch/compression.ts";
import { FrameCursor } from "../../batch/frames.ts";
import type { SealedBatch } from "../batch/seal.ts";
import type { BatchQuery } from "../protocol.ts";
import type { StoredBatch } from "../../batch/stored-batch.ts";
import { readBytes, readNumber, readNumberOrNull, readText, readTexts, type Row } from "../../rows/row.ts";
import { diedAt } from "./process-lease.ts";

const SELECT = `
SELECT batches.*, processes.seen_at, processes.ended_at FROM evidence_batches AS batches
JOIN processes ON processes.id = batches.process`;
const OF_WORKSPACE = "(? IS NULL OR EXISTS (SELECT 1 FROM json_each(batches.workspaces) WHERE value = ?))";

/** Bytes of records that are read at a time, so that writing waits for a few milliseconds at most. */
const PAGE = 512 * 1024;

/** The statements over `evidence_batches`; runs in the worker. */
export class BatchTable {
  readonly #newest: StatementSync;
  readonly #start: StatementSync;
  readonly #insert: StatementSync;
  readonly #after: StatementSync;
  readonly #before: StatementSync;
  readonly #at: StatementSync;
  readonly #highWaterAt: StatementSync;
  readonly #bounds: StatementSync;
  readonly #decided: StatementSync;
  readonly #ended: StatementSync;

  constructor(database: DatabaseSync) {
    this.#newest = database.prepare(
      "SELECT last AS position, hash, high_water FROM evidence_batches ORDER BY last DESC LIMIT 1",
    );
    this.#start = database.prepare("SELECT position, hash, '' AS high_water FROM evidence_start");
    this.#insert = database.prepare("INSERT INTO evidence_batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#after = database.prepare(`${SELECT} WHERE batches.last > ? ORDER BY batches.last`);
    this.#before = database.prepare(
      `${SELECT} WHERE batches.last < ? AND batches.last > ? AND ${OF_WORKSPACE} ORDER BY batches.last DESC`,
    );
    this.#at = database.prepare(`${SELECT} WHERE batches.last >= ? ORDER BY batches.last LIMIT 1`);
    this.#highWaterAt = database.prepare(
      "SELECT last, high_water FROM evidence_batches WHERE last >= ? ORDER BY last LIMIT 1",
    );
    // Apart: with both in one statement SQLite reads the whole table.
    this.#bounds = database.prepare(
      "SELECT (SELECT min(last) FROM evidence_batches) AS oldest, (SELECT max(last) FROM evidence_batches) AS newest",
    );
    this.#decided = database.prepare(
      `${SELECT} WHERE batches.last >= ? AND batches.decided_lowest <= ? AND batches.decided_highest >= ? ORDER BY batches.last`,
    );
    this.#ended = database.prepare(
      `${SELECT} WHERE batches.last >= ? AND batches.ended_lowest <= ? AND batches.ended_highest >= ? ORDER BY batches.last`,
    );
  }

  /** The newest row, of any process; where all were pruned, what they ended at. */
  head(): ChainLink {
    return this.newest().head;
  }

  /** The same, and the largest request id of a decision so far. */
  newest(): { readonly head: ChainLink; readonly highWater: string } {
    const row = this.#newest.get() ?? this.#start.get();
    if (row === undefined) return { head: GENESIS, highWater: "" };
    return {
      head: { position: readNumber(row, "position"), hash: readText(row, "hash") },
      highWater: readText(row, "high_water"),
    };
  }

  insert(batch: SealedBatch, highWater: string): void {
    const { head, steps, decided, ended } = batch;
    this.#insert.run(
      head.position,
      head.position - steps.length + 1,
      head.hash,
      batch.process,
      highWater,
      decided.lowest,
      decided.highest,
      ended.lowest,
      ended.highest,
      JSON.stringify(batch.workspaces),
      compressedRecords(batch.bytes),
    );
  }

  /** All batches after a position, in order. */
  *after(position: number): Generator<StoredBatch, void> {
    for (const row of this.#after.iterate(position)) yield readBatch(row, 0);
  }

  /** The batch with the row at `position`; `null` where there is none. */
  at(position: number): StoredBatch | null {
    const row = this.#at.get(position);
    if (row === undefined) return null;
    const batch = readBatch(row, 0);
    return batch.first <= position ? batch : null;
  }

  /** A page of batches. */
  page({ after, before, newestFirst, workspace }: BatchQuery, now: number): readonly StoredBatch[] {
    const rows = newestFirst ? this.#before.iterate(before, after, workspace, workspace) : this.#after.iterate(after);
    const batches: StoredBatch[] = [];
    let bytes = 0;
    for (const row of rows) {
      const batch = readBatch(row, now);
      batches.push(batch);
      bytes += batch.records.length;
      if (bytes >= PAGE) break;
    }
    return batches;
  }

  /**
   * The batches with the records of a request: of its decision, then of its outcome.
   *
   * @param isOpen whether the request is known to run, so that its outcome is not searched for
   */
  find(requestId: string, isOpen: boolean, now: number): readonly StoredBatch[] {
    const decided = this.#first(this.#decided, "decision", this.lowerBound(requestId), requestId, now);
    if (decided === null) return [];
    const ended = isOpen ? null : this.#first(this.#ended, "outcome", decided.first, requestId, now);
    return ended === null || ended.last === decided.last ? [decided] : [decided, ended];
  }

  #first(
    statement: StatementSync,
    kind: "decision" | "outcome",
    from: number,
    requestId: string,
    now: number,
  ): StoredBatch | null {
    for (const row of statement.iterate(from, requestId, requestId)) {
      const batch = readBatch(row, now);
      const cursor = new FrameCursor(batch.records);
      // Much faster than going through the frames; ranges of ids overlap, so most batches have other ids.
      if (!cursor.bytes.includes(requestId)) continue;
      while (cursor.next()) if (cursor.kind === kind && cursor.requestId === requestId) return batch;
    }
    return null;
  }

  /** Where the first batch can be that has a decision with this id or a larger one: `high_water` rises, so it is found by halving. */
  lowerBound(requestId: string): number {
    const bounds = this.#bounds.get() ?? {};
    let low = readNumberOrNull(bounds, "oldest") ?? 0;
    let high = readNumberOrNull(bounds, "newest") ?? 0;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = this.#highWaterAt.get(middle) ?? {};
      if (readText(row, "high_water") >= requestId) high = middle;
      else low = readNumber(row, "last") + 1;
    }
    return low;
  }
}

function readBatch(row: Row, now: number): StoredBatch {
  return {
    first: readNumber(row, "first"),
    last: readNumber(row, "last"),
    hash: readText(row, "hash"),
    process: readNumber(row, "process"),
    decided: { lowest: readText(row, "decided_lowest"), highest: readText(row, "decided_highest") },
    ended: { lowest: readText(row, "ended_lowest"), highest: readText(row, "ended_highest") },
    highWater: readText(row, "high_water"),
    workspaces: readTexts(row, "workspaces"),
    diedAt: diedAt(row, now),
    records: decompressedRecords(readBytes(row, "records")),
  };
}

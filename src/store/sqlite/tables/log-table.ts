import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { EvidenceAnchor } from "../../../evidence/evidence-store.ts";
import type { BatchTable } from "./batch-table.ts";
import { readNumber, readText, type Row } from "../../rows/row.ts";
import type { Transaction } from "./transaction.ts";

/** The anchors of the log, and its beginning; runs in the worker. */
export class LogTable {
  readonly #transaction: Transaction;
  readonly #batches: BatchTable;
  readonly #anchors: StatementSync;
  readonly #insertAnchor: StatementSync;
  readonly #anchorAt: StatementSync;
  readonly #oldest: StatementSync;
  readonly #hashAt: StatementSync;
  readonly #moveStart: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: DatabaseSync, transaction: Transaction, batches: BatchTable) {
    this.#transaction = transaction;
    this.#batches = batches;
    // A prune that was cut off has its own beginning, which is no anchor.
    this.#anchors = database.prepare(
      `SELECT position, hash, at FROM evidence_anchors
       UNION ALL SELECT position, hash, at FROM evidence_start WHERE position NOT IN (SELECT position FROM evidence_anchors)
       ORDER BY position`,
    );
    this.#insertAnchor = database.prepare(
      "INSERT INTO evidence_anchors (position, hash, at) VALUES (?, ?, ?) ON CONFLICT (position) DO NOTHING",
    );
    this.#anchorAt = database.prepare(
      "SELECT position, hash, at FROM evidence_anchors WHERE position = ?",
    );
    this.#oldest = database.prepare(
      "SELECT first, last FROM evidence_batches WHERE last <= ? ORDER BY last",
    );
    this.#hashAt = database.prepare("SELECT hash FROM evidence_batches WHERE last = ?");
    this.#moveStart = database.prepare(
      `INSERT INTO evidence_start (only, position, hash, at) VALUES (1, ?, ?, ?)
       ON CONFLICT (only) DO UPDATE SET position = excluded.position, hash = excluded.hash, at = excluded.at`,
    );
    this.#delete = database.prepare("DELETE FROM evidence_batches WHERE last <= ?");
  }

  anchors(): readonly EvidenceAnchor[] {
    return this.#anchors.all().map(readAnchor);
  }

  anchor(now: number): EvidenceAnchor | null {
    return this.#transaction.run(() => {
      const { position, hash } = this.#batches.head();
      if (position === 0) return null;
      // After a prune of everything the head's row is gone, and the head is an anchor already.
      if (this.#hashAt.get(position) !== undefined) this.#insertAnchor.run(position, hash, now);
      const row = this.#anchorAt.get(position);
      return row === undefined ? null : readAnchor(row);
    });
  }

  /**
   * Deletes batches of up to `limit` rows, but at least one batch, up to `through`, where it writes
   * an anchor first; gives how many rows. Call it when all of them are counted.
   *
   * @param through the last position of a batch
   */
  deleteThrough(through: number, limit: number, now: number): number {
    return this.#transaction.run(() => {
      let [rows, end] = [0, 0];
      for (const row of this.#oldest.iterate(through)) {
        const last = readNumber(row, "last");
        const count = last - readNumber(row, "first") + 1;
        if (end > 0 && rows + count > limit) break;
        rows += count;
        end = last;
      }
      if (end === 0) return 0;
      this.#insertAnchor.run(through, this.#readHash(through), now);
      this.#moveStart.run(end, this.#readHash(end), now);
      this.#delete.run(end);
      return rows;
    });
  }

  #readHash(position: number): string {
    return readText(this.#hashAt.get(position) ?? {}, "hash");
  }
}

function readAnchor(row: Row): EvidenceAnchor {
  return {
    position: readNumber(row, "position"),
    hash: readText(row, "hash"),
    at: readNumber(row, "at"),
  };
}

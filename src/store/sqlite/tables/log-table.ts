import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { ChainLink } from "../../../evidence/chain.ts";
import { asWord } from "../../../evidence/record.ts";
import type { EvidenceAnchor, LogRow } from "../../../evidence/evidence-log.ts";
import { unknownOutcome } from "../../stored-evidence.ts";
import type { ScannedRow } from "../../prune-scan.ts";
import type { LogWriter } from "./log-writer.ts";
import { LEASE } from "./process-lease.ts";
import { readNumber, readNumberOrNull, readText, readTextOrNull, type Row } from "../../rows/row.ts";
import type { Transaction } from "./transaction.ts";

/** The log as its auditors and its retention see it; runs in the worker. */
export class LogTable {
  readonly #transaction: Transaction;
  readonly #writer: LogWriter;
  readonly #rows: StatementSync;
  readonly #anchors: StatementSync;
  readonly #insertAnchor: StatementSync;
  readonly #anchorAt: StatementSync;
  readonly #dead: StatementSync;
  readonly #oldestOpen: StatementSync;
  readonly #allOpen: StatementSync;
  readonly #scan: StatementSync;
  readonly #oldest: StatementSync;
  readonly #hashAt: StatementSync;
  readonly #moveStart: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: DatabaseSync, transaction: Transaction, writer: LogWriter) {
    this.#transaction = transaction;
    this.#writer = writer;
    this.#rows = database.prepare(
      "SELECT position, kind, at, request_id, workspace, record, hash FROM evidence_log WHERE position > ? ORDER BY position LIMIT ?",
    );
    // A prune that was cut off has its own beginning, which is no anchor.
    this.#anchors = database.prepare(
      `SELECT position, hash, at FROM evidence_anchors
       UNION ALL SELECT position, hash, at FROM evidence_start WHERE position NOT IN (SELECT position FROM evidence_anchors)
       ORDER BY position`,
    );
    this.#insertAnchor = database.prepare(
      "INSERT INTO evidence_anchors (position, hash, at) VALUES (?, ?, ?) ON CONFLICT (position) DO NOTHING",
    );
    this.#anchorAt = database.prepare("SELECT position, hash, at FROM evidence_anchors WHERE position = ?");
    this.#dead = database.prepare(
      `SELECT evidence_log.request_id, processes.seen_at FROM evidence_open
       JOIN processes ON processes.id = evidence_open.process
       JOIN evidence_log ON evidence_log.position = evidence_open.position
       WHERE processes.ended_at IS NOT NULL OR processes.seen_at < ?
       ORDER BY evidence_open.position LIMIT ?`,
    );
    this.#oldestOpen = database.prepare("SELECT min(position) AS position FROM evidence_open");
    this.#allOpen = database.prepare("SELECT position FROM evidence_open ORDER BY position");
    this.#scan = database.prepare(
      `SELECT decisions.position, decisions.at, outcomes.position AS ended FROM evidence_log AS decisions
       LEFT JOIN evidence_log AS outcomes ON decisions.kind = 'decision'
         AND outcomes.request_id = decisions.request_id AND outcomes.kind = 'outcome'
       WHERE decisions.position > ? ORDER BY decisions.position LIMIT ?`,
    );
    this.#oldest = database.prepare("SELECT min(position) AS position FROM evidence_log");
    this.#hashAt = database.prepare("SELECT hash FROM evidence_log WHERE position = ?");
    this.#moveStart = database.prepare(
      `INSERT INTO evidence_start (only, position, hash, at) VALUES (1, ?, ?, ?)
       ON CONFLICT (only) DO UPDATE SET position = excluded.position, hash = excluded.hash, at = excluded.at`,
    );
    this.#delete = database.prepare("DELETE FROM evidence_log WHERE position <= ?");
  }

  head(): ChainLink {
    return this.#writer.readHead();
  }

  log(after: number, limit: number): readonly LogRow[] {
    return this.#rows.all(after, limit).map(readLogRow);
  }

  openDecisions(): readonly number[] {
    return this.#allOpen.all().map((row) => readNumber(row, "position"));
  }

  anchors(): readonly EvidenceAnchor[] {
    return this.#anchors.all().map(readAnchor);
  }

  anchor(now: number): EvidenceAnchor | null {
    return this.#transaction.run(() => {
      const { position, hash } = this.#writer.readHead();
      if (position === 0) return null;
      // After a prune of everything the head's row is gone, and the head is an anchor already.
      if (this.#hashAt.get(position) !== undefined) this.#insertAnchor.run(position, hash, now);
      const row = this.#anchorAt.get(position);
      return row === undefined ? null : readAnchor(row);
    });
  }

  /**
   * Ends, as `unknown`, up to `limit` decisions whose process has died, and gives how many. What their processes may yet
   * say comes too late and is counted as lost.
   */
  reap(now: number, limit: number): number {
    if (this.#oldestOpen.get()?.["position"] === null) return 0;
    // Looked for without the write lock: nearly always there is nothing to do.
    if (this.#dead.all(now - LEASE, 1).length === 0) return 0;
    return this.#transaction.run(() => {
      this.#writer.begin();
      const dead = this.#dead.all(now - LEASE, limit);
      for (const row of dead) {
        const [requestId, at] = [readText(row, "request_id"), readNumber(row, "seen_at")];
        this.#writer.settle({ at, requestId, record: JSON.stringify(unknownOutcome(asWord(requestId), at)) });
      }
      this.#writer.end();
      return dead.length;
    });
  }

  /** The next rows after `after` for `PruneScan`, and the oldest decision that has not ended. */
  scan(after: number, limit: number): { readonly rows: readonly ScannedRow[]; readonly oldestOpen: number | null } {
    const oldestOpen = readNumberOrNull(this.#oldestOpen.get() ?? { position: null }, "position");
    return { rows: this.#scan.all(after, limit).map(readScanned), oldestOpen };
  }

  /** Deletes up to `limit` rows up to `through`, where it writes an anchor first; gives how many. */
  deleteThrough(through: number, limit: number, now: number): number {
    return this.#transaction.run(() => {
      const oldest = readNumberOrNull(this.#oldest.get() ?? { position: null }, "position");
      if (oldest === null || oldest > through) return 0;
      this.#insertAnchor.run(through, this.#readHash(through), now);
      const last = Math.min(through, oldest + limit - 1);
      this.#moveStart.run(last, this.#readHash(last), now);
      this.#delete.run(last);
      return last - oldest + 1;
    });
  }

  #readHash(position: number): string {
    return readText(this.#hashAt.get(position) ?? {}, "hash");
  }
}

function readLogRow(row: Row): LogRow {
  return {
    position: readNumber(row, "position"),
    kind: readText(row, "kind") === "decision" ? "decision" : "outcome",
    record: readText(row, "record"),
    hash: readText(row, "hash"),
    columns: {
      requestId: readText(row, "request_id"),
      at: readNumber(row, "at"),
      workspace: readTextOrNull(row, "workspace"),
    },
  };
}

function readAnchor(row: Row): EvidenceAnchor {
  return { position: readNumber(row, "position"), hash: readText(row, "hash"), at: readNumber(row, "at") };
}

function readScanned(row: Row): ScannedRow {
  return {
    position: readNumber(row, "position"),
    at: readNumber(row, "at"),
    ended: readNumberOrNull(row, "ended"),
  };
}

import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { Abandoned } from "../../batch/lines.ts";
import { readNumber, readText } from "../../rows/row.ts";
import { LEASE } from "./process-lease.ts";

/**
 * Positions for which the request ids of ended requests are kept, so that one that comes again is
 * refused.
 */
const KEPT = 100_000;

/** Requests by their ids: those that run, and the newest that have ended. */
export class RequestTable {
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  readonly #isOpen: StatementSync;
  readonly #open: StatementSync;
  readonly #abandoned: StatementSync;
  readonly #forget: StatementSync;

  constructor(database: DatabaseSync) {
    this.#begin = database.prepare(
      "INSERT INTO evidence_requests (position, request_id, process, workspace) VALUES (?, ?, ?, ?) ON CONFLICT (request_id) DO NOTHING",
    );
    this.#end = database.prepare(
      "UPDATE evidence_requests SET ended = 1 WHERE request_id = ? AND ended = 0 RETURNING workspace",
    );
    this.#isOpen = database.prepare(
      "SELECT 1 FROM evidence_requests WHERE request_id = ? AND ended = 0",
    );
    this.#open = database.prepare("SELECT request_id FROM evidence_requests WHERE ended = 0");
    this.#abandoned = database.prepare(
      `SELECT request.request_id, holder.seen_at FROM processes AS holder
       JOIN evidence_requests AS request ON request.process = holder.id AND request.ended = 0
       WHERE holder.ended_at IS NOT NULL OR holder.seen_at < ? ORDER BY request.position LIMIT ?`,
    );
    this.#forget = database.prepare(
      "DELETE FROM evidence_requests WHERE position < ? AND ended = 1",
    );
  }

  /** Whether the request id was not there. @param position of the decision */
  begin(position: number, requestId: string, process: number, workspace: string): boolean {
    return this.#begin.run(position, requestId, process, workspace).changes === 1;
  }

  /** The workspace of the request; `null` where it does not run. */
  end(requestId: string): string | null {
    const row = this.#end.get(requestId);
    return row === undefined ? null : readText(row, "workspace");
  }

  isOpen(requestId: string): boolean {
    return this.#isOpen.get(requestId) !== undefined;
  }

  /** Request ids of the decisions without an outcome. */
  open(): readonly string[] {
    return this.#open.all().map((row) => readText(row, "request_id"));
  }

  /** Those of processes that are gone, the oldest first. */
  abandoned(now: number, limit: number): Abandoned {
    const rows = this.#abandoned.all(now - LEASE, limit);
    return new Map(rows.map((row) => [readText(row, "request_id"), readNumber(row, "seen_at")]));
  }

  /** @param head position of the newest row */
  forget(head: number): void {
    this.#forget.run(head - KEPT);
  }
}

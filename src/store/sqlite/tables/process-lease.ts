import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LOST_IS_LISTED, type EvidenceProcess } from "../../../evidence/evidence-store.ts";
import { readNumber } from "../../rows/row.ts";

/** How often a process says that it still runs, milliseconds. */
const RENEWAL = 5_000;

/**
 * A process not seen for this long is dead: its decisions without an outcome read `unknown`.
 * Milliseconds.
 */
export const LEASE = 20_000;

/** Who wrote the log. */
export class ProcessTable {
  readonly #list: StatementSync;

  constructor(database: DatabaseSync) {
    this.#list = database.prepare(
      "SELECT started_at, seen_at FROM processes WHERE ended_at IS NULL AND seen_at > ? ORDER BY id",
    );
  }

  /** Those that run, and those that were lost in the last hour. */
  list(now: number): readonly EvidenceProcess[] {
    return this.#list.all(now - LOST_IS_LISTED).map((row) => ({
      startedAt: readNumber(row, "started_at"),
      seenAt: readNumber(row, "seen_at"),
      state: now - readNumber(row, "seen_at") > LEASE ? "lost" : "running",
    }));
  }
}

/**
 * The row by which other processes distinguish a decision that is still being answered from one
 * whose process died. Taken with the first decision, so that a command that only reads leaves no
 * trace.
 */
export class ProcessLease {
  readonly #start: StatementSync;
  readonly #renew: StatementSync;
  readonly #end: StatementSync;
  #id: number | null = null;
  #seenAt = 0;

  constructor(database: DatabaseSync) {
    this.#start = database.prepare("INSERT INTO processes (started_at, seen_at) VALUES (?, ?)");
    this.#renew = database.prepare("UPDATE processes SET seen_at = ? WHERE id = ?");
    this.#end = database.prepare("UPDATE processes SET ended_at = ?, seen_at = ? WHERE id = ?");
  }

  get taken(): boolean {
    return this.#id !== null;
  }

  /**
   * This process's number. Call inside a write transaction and {@link confirm} it after the commit.
   */
  take(now: number): number {
    return this.#id ?? Number(this.#start.run(now, now).lastInsertRowid);
  }

  /** Remembers the number only once it is on disk; a rolled back one must not be used again. */
  confirm(id: number, now: number): void {
    if (this.#id !== null) return;
    this.#id = id;
    this.#seenAt = now;
  }

  renewWhenDue(now: number): void {
    if (this.#id === null || now - this.#seenAt < RENEWAL) return;
    this.#renew.run(now, this.#id);
    this.#seenAt = now;
  }

  end(now: number): void {
    if (this.#id !== null) this.#end.run(now, now, this.#id);
  }
}

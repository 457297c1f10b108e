import type { DatabaseSync, StatementSync } from "node:sqlite";
import { holderText } from "../../../canon/identity.ts";
import type { SessionRecord } from "../../../keys/key-store.ts";
import { holderColumns, readSession } from "../../rows/session-row.ts";

/** The statements over `sessions`; runs in the worker. Each is a transaction of its own. */
export class SessionTable {
  readonly #insert: StatementSync;
  readonly #find: StatementSync;
  readonly #touch: StatementSync;
  readonly #end: StatementSync;
  readonly #prune: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      "INSERT INTO sessions (digest, holder, key_id, person, created_at, seen_at, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#find = database.prepare(
      "SELECT digest, key_id, person, created_at, seen_at, ends_at FROM sessions WHERE digest = ?",
    );
    this.#touch = database.prepare(
      "UPDATE sessions SET seen_at = max(seen_at, ?) WHERE digest = ?",
    );
    this.#end = database.prepare("DELETE FROM sessions WHERE digest = ?");
    this.#prune = database.prepare("DELETE FROM sessions WHERE ends_at <= ? OR seen_at <= ?");
  }

  create(record: SessionRecord): void {
    const { digest, holder, createdAt, seenAt, endsAt } = record;
    this.#insert.run(
      digest,
      holderText(holder),
      ...holderColumns(record),
      createdAt,
      seenAt,
      endsAt,
    );
  }

  find(digest: string): SessionRecord | null {
    const row = this.#find.get(digest);
    return row === undefined ? null : readSession(row);
  }

  touch(digest: string, at: number): void {
    this.#touch.run(at, digest);
  }

  end(digest: string): void {
    this.#end.run(digest);
  }

  prune(now: number, idleSince: number): number {
    return Number(this.#prune.run(now, idleSince).changes);
  }
}

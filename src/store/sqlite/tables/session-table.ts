import type { DatabaseSync, StatementSync } from "node:sqlite";
import { holderText } from "../../../canon/identity.ts";
import type { SessionRecord } from "../../../keys/key-store.ts";
import { holderColumns, readSession } from "../../rows/session-row.ts";

/** The calls about sessions to the store's thread. */
export type SessionRequest =
  | { readonly operation: "sessions.create"; readonly record: SessionRecord }
  | { readonly operation: "sessions.find"; readonly digest: string }
  | { readonly operation: "sessions.touch"; readonly digest: string; readonly at: number }
  | { readonly operation: "sessions.end"; readonly digest: string }
  | { readonly operation: "sessions.prune"; readonly now: number; readonly idleSince: number };

export type SessionReply =
  | { readonly kind: "done" }
  | { readonly kind: "session"; readonly record: SessionRecord | null }
  | { readonly kind: "pruned"; readonly count: number };

const DONE: SessionReply = { kind: "done" };

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

  answer(request: SessionRequest): SessionReply {
    switch (request.operation) {
      case "sessions.create": {
        const { record } = request;
        const { digest, holder, createdAt, seenAt, endsAt } = record;
        this.#insert.run(
          digest,
          holderText(holder),
          ...holderColumns(record),
          createdAt,
          seenAt,
          endsAt,
        );
        return DONE;
      }
      case "sessions.find": {
        const row = this.#find.get(request.digest);
        return { kind: "session", record: row === undefined ? null : readSession(row) };
      }
      case "sessions.touch":
        this.#touch.run(request.at, request.digest);
        return DONE;
      case "sessions.end":
        this.#end.run(request.digest);
        return DONE;
      case "sessions.prune":
        return {
          kind: "pruned",
          count: Number(this.#prune.run(request.now, request.idleSince).changes),
        };
    }
  }
}

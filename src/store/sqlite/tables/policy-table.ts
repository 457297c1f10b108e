import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { PolicyState } from "../../../canon/policy.ts";
import type { ObservedPolicy } from "../../port.ts";
import { readNumber, readText } from "../../rows/row.ts";
import type { Transaction } from "./transaction.ts";

/** The statements over `policies` and `policy_revisions`; runs in the worker. */
export class PolicyTable {
  readonly #transaction: Transaction;
  readonly #get: StatementSync;
  readonly #insert: StatementSync;
  readonly #advance: StatementSync;
  readonly #remember: StatementSync;
  readonly #list: StatementSync;

  constructor(database: DatabaseSync, transaction: Transaction) {
    this.#transaction = transaction;
    this.#get = database.prepare("SELECT digest, revision, mode FROM policies WHERE id = ?");
    this.#insert = database.prepare("INSERT INTO policies (id, digest, revision, mode) VALUES (?, ?, 1, ?)");
    this.#advance = database.prepare("UPDATE policies SET digest = ?, revision = ? WHERE id = ?");
    this.#list = database.prepare("SELECT id, digest, revision, mode FROM policies ORDER BY id");
    this.#remember = database.prepare(
      "INSERT INTO policy_revisions (id, revision, digest, first_seen_at) VALUES (?, ?, ?, ?)",
    );
  }

  /** Sorted by id. */
  list(): readonly PolicyState[] {
    return this.#list.all().map((row) => ({
      id: readText(row, "id"),
      digest: readText(row, "digest"),
      revision: readNumber(row, "revision"),
      mode: readText(row, "mode") === "enforce" ? "enforce" : "shadow",
    }));
  }

  /** All of `contents` in one transaction, so that two processes which start at once agree on the numbers. */
  observe(contents: readonly ObservedPolicy[], now: number): readonly PolicyState[] {
    return this.#transaction.run(() => contents.map((content) => this.#observeOne(content, now)));
  }

  #observeOne({ id, digest, initialMode }: ObservedPolicy, now: number): PolicyState {
    const row = this.#get.get(id);
    if (row === undefined) {
      this.#insert.run(id, digest, initialMode);
      this.#remember.run(id, 1, digest, now);
      return { id, digest, revision: 1, mode: initialMode };
    }
    const mode = readText(row, "mode") === "enforce" ? "enforce" : "shadow";
    const revision = readNumber(row, "revision");
    if (readText(row, "digest") === digest) return { id, digest, revision, mode };
    this.#advance.run(digest, revision + 1, id);
    this.#remember.run(id, revision + 1, digest, now);
    return { id, digest, revision: revision + 1, mode };
  }
}

import type { DatabaseSync } from "node:sqlite";

import type { ChainLink } from "../../../evidence/chain.ts";
import { refuseUnchained } from "../../policy-log.ts";
import type { PolicyLogRow } from "../../../lifecycle/records.ts";
import type { StoredContent } from "../../../canon/policy.ts";
import { readPolicyContent, readLink, readPolicyRow } from "../../rows.ts";
import { prepareAll, type Statements, type Transaction } from "./transaction.ts";

const SQL = {
  newest: "SELECT position, hash FROM policy_log ORDER BY position DESC LIMIT 1",
  read: "SELECT position, previous, hash, record FROM policy_log WHERE position > ? ORDER BY position LIMIT ?",
  insert: "INSERT INTO policy_log (position, previous, hash, record) VALUES (?, ?, ?, ?)",
  // Node 22 binds an array of no bytes as NULL.
  keep: "INSERT INTO policy_contents (digest, policy, description, module) VALUES (?, ?, ?, coalesce(?, zeroblob(0))) ON CONFLICT (digest) DO NOTHING",
  content: "SELECT digest, policy, description, module FROM policy_contents WHERE digest = ?",
};

/** The statements over `policy_log` and `policy_contents`; runs in the worker. */
export class PolicyLogTable {
  readonly #sql: Statements<typeof SQL>;
  readonly #transaction: Transaction;

  constructor(database: DatabaseSync, transaction: Transaction) {
    this.#sql = prepareAll(database, SQL);
    this.#transaction = transaction;
  }

  head(): ChainLink {
    return readLink(this.#sql.newest.get());
  }

  rows(after: number, limit: number): readonly PolicyLogRow[] {
    return this.#sql.read.all(after, limit).map(readPolicyRow);
  }

  /**
   * `false` where `expected` is not the head. The head is read under the write lock, so no other
   * process can add between the two.
   *
   * @throws {RangeError} for rows that do not follow: a row that did not verify would end the log
   * for every reader, for ever
   */
  append(expected: ChainLink, rows: readonly PolicyLogRow[]): boolean {
    refuseUnchained(expected, rows);
    return this.#transaction.run(() => {
      const { position, hash } = this.head();
      if (position !== expected.position || hash !== expected.hash) return false;
      for (const row of rows)
        this.#sql.insert.run(row.position, row.previous, row.hash, row.record);
      return true;
    });
  }

  /** The first content under a digest stays. */
  keep({ digest, policy, description, module }: StoredContent): void {
    this.#sql.keep.run(digest, policy, description, module);
  }

  content(digest: string): StoredContent | null {
    return readPolicyContent(this.#sql.content.get(digest));
  }
}

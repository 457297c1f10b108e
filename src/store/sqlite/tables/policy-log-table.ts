import type { ChainLink } from "../../../evidence/chain.ts";
import { refuseUnchained } from "../../policy-log.ts";
import type { PolicyLogRow } from "../../../lifecycle/records.ts";
import type { StoredContent } from "../../../canon/policy.ts";
import { COMMON_SQL } from "../../common-tables.ts";
import { readLink } from "../../rows.ts";
import type { Connection, Statements } from "./connection.ts";

const SQL = {
  newest: COMMON_SQL["policyLog.head"],
  insert: "INSERT INTO policy_log (position, previous, hash, record) VALUES (?, ?, ?, ?)",
  // Node 22 binds an array of no bytes as NULL.
  keep: "INSERT INTO policy_contents (digest, policy, description, module) VALUES (?, ?, ?, coalesce(?, zeroblob(0))) ON CONFLICT (digest) DO NOTHING",
};

/** The statements over `policy_log` and `policy_contents`; runs in the worker. */
export class PolicyLogTable {
  readonly #sql: Statements<typeof SQL>;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#sql = connection.prepare(SQL);
    this.#connection = connection;
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
    return this.#connection.transaction(() => {
      const { position, hash } = readLink(this.#sql.newest.get());
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
}

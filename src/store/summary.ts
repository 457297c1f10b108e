import type { Facet, RollUpRow } from "../governance/increments.ts";

export interface RollUpQuery {
  /** `null`: the requests without an accepted key. */
  readonly workspace: string | null;
  readonly facet: Facet;
  /** Hours since the epoch; the first one counted. */
  readonly from: number;
  /** Hours since the epoch; the first one not counted. */
  readonly until: number;
}

/**
 * Hourly counts, kept when the evidence they were made of is pruned. Every engine adds them in the transaction that writes
 * the records: what a record counts for is there exactly when the record is, and once.
 */
export interface SummaryStore {
  /**
   * Every cell of the facet in these hours, once, in pages, oldest hour first; what was written before the call is in them.
   *
   * @throws {StoreUnavailableError}
   */
  read(query: RollUpQuery): AsyncIterable<readonly RollUpRow[]>;
  /** Those with a cell in any hour; `null` where there are requests without an accepted key. Sorted, `null` first. */
  workspaces(): Promise<readonly (string | null)[]>;
  /** The newest known state of every policy, sorted by id: what other processes have observed too. */
  policies(): Promise<readonly StoredPolicy[]>;
}

export interface StoredPolicy {
  readonly id: string;
  readonly digest: string;
  readonly revision: number;
  readonly mode: "shadow" | "enforce";
}

import type { RollUpQuery, RollUpRow } from "./increments.ts";

/**
 * Hourly counts, kept when the evidence they were made of is pruned. In every engine what a record
 * counts for is there exactly when the record is, and once: written in its transaction, or counted
 * from the log up to a cursor.
 */
export interface SummaryStore {
  /**
   * Every cell of the facet in these hours, once, in pages, oldest hour first; what was written
   * before the call is in them.
   *
   * @throws {StoreUnavailableError}
   */
  read(query: RollUpQuery): AsyncIterable<readonly RollUpRow[]>;
  /**
   * Those with a cell in any hour; `null` where there are requests without an accepted key. Sorted,
   * `null` first.
   */
  workspaces(): Promise<readonly (string | null)[]>;
}

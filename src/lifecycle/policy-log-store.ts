import type { StoredContent } from "../canon/policy.ts";
import type { ChainLink } from "../evidence/chain.ts";

/** One row of the policy log: chained like evidence, with `policy` for the kind (`chainHash`). */
export interface PolicyLogRow extends ChainLink {
  /** Hash of the row before it; zeros before the first. */
  readonly previous: string;
  /** A `PolicyRecord` as JSON, exactly as it was hashed. */
  readonly record: string;
}

/**
 * What happened to policies, as one append-only chain, and the contents it speaks of. Nothing is
 * ever changed or deleted. What follows from the rows is worked out by `lifecycle/`, the same for
 * both engines.
 */
export interface PolicyLogStore {
  /** The newest row; position 0 and zeros where there is none. */
  head(): Promise<ChainLink>;
  /**
   * Rows after a position, in order, at most `limit`. @throws {RangeError} for a limit that is not
   * 1 to 10,000, or a position below 0.
   */
  read(query: { readonly after: number; readonly limit: number }): Promise<readonly PolicyLogRow[]>;
  /**
   * Adds rows behind `expected`, all or none; durable when it resolves. `false`, and nothing is
   * added, where `expected` is not the head: another writer was quicker, so read on and decide
   * again. The engine refuses rows that do not follow by itself, too.
   *
   * @throws {RangeError} for no rows, more than 10,000, or rows that do not follow `expected` one
   * after the other.
   * @throws {StoreUnavailableError} with `done` "unknown" where the answer was lost: read on to
   * learn whether the rows are there
   */
  append(expected: ChainLink, rows: readonly PolicyLogRow[]): Promise<boolean>;
  /**
   * Keeps a content; the first one kept under a digest stays. Durable when it resolves, so that no
   * row can speak of bytes that are not there.
   */
  keep(content: StoredContent): Promise<void>;
  /** `null` where nothing is kept under the digest. */
  content(digest: string): Promise<StoredContent | null>;
  /**
   * Calls back within one second of an append by another process, and before an append by this one
   * resolves; once for several that come together. Says nothing of what is there when it resolves:
   * read after it, and nothing is missed. Gives back a function that ends it. Never rejects later
   * on: a store that cannot be read is read again.
   *
   * @throws {StoreUnavailableError} when the log cannot be read at the beginning
   */
  watch(listener: () => void): Promise<() => void>;
}

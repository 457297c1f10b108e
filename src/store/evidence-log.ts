import type { EvidenceHealth, EvidenceStore, Store } from "./port.ts";

/** The newest row of the log. Position 0 and 64 zeros while it is empty. */
export interface EvidenceHead {
  readonly position: number;
  /** SHA-256, lower-case hexadecimal (`evidence/chain.ts`). */
  readonly hash: string;
}

/** One row as stored. */
export interface LogRow {
  /** From 1 without gaps. */
  readonly position: number;
  readonly kind: "decision" | "outcome";
  /** The exact text that the hash covers. */
  readonly record: string;
  readonly hash: string;
}

/** A head that is remembered for ever; what is pruned ends at one. */
export interface EvidenceAnchor {
  readonly position: number;
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The evidence as one append-only, hash-chained log. */
export interface EvidenceLog {
  head(): Promise<EvidenceHead>;
  /** In order of position; limit 1 to 10,000. @throws {RangeError} */
  log(query: { readonly after: number; readonly limit: number }): Promise<readonly LogRow[]>;
  /** Oldest first. */
  anchors(): Promise<readonly EvidenceAnchor[]>;
  /** Remembers the present head as an anchor (idempotent at one position). `null` when the log is empty. */
  anchor(now: number): Promise<EvidenceAnchor | null>;
  /**
   * Deletes, in bounded steps, the longest prefix of rows older than `before` (milliseconds) whose requests have ended:
   * a decision in the prefix has its outcome in the prefix too. Each step ends at an anchor, so that the rest can be
   * verified whenever it is interrupted. Gives the last anchor and the number of rows; a `null` anchor when nothing was
   * deleted.
   */
  prune(before: number, now: number): Promise<{ readonly anchor: EvidenceAnchor | null; readonly rows: number }>;
  health(): EvidenceLogHealth;
}

export interface EvidenceLogHealth extends EvidenceHealth {
  /** As last known to this process, without a round trip; `null` until its first commit. */
  readonly head: EvidenceHead | null;
}

/** A store whose evidence is such a log. */
export interface EvidenceLogStore extends Store {
  readonly evidence: Omit<EvidenceStore, "health"> & EvidenceLog;
}

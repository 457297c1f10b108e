import { createHash } from "node:crypto";
import { chainHash, GENESIS, type ChainLink } from "../evidence/chain.ts";
import { foldRow, readPolicyRecord } from "./fold.ts";
import type { PolicyLogRow } from "./policy-log-store.ts";
import { NO_POLICY_STATES } from "./policy-states.ts";
import type { PolicyRecord } from "./records.ts";
import type { StoredContent } from "../canon/policy.ts";

/** Why a policy log does not verify; each with its sentence. */
export const POLICY_LOG_CAUSES = {
  gap: "a row is missing here, or is at another position",
  hash: "the row, or the one before it, was changed after it was written",
  unreadable: "the row has no policy record in canonical form that this version supports",
  impossible: "no server can follow the row after those before it",
  anchor: "the hash at this position differs from the checkpoint",
  end: "the log ends before the position of a checkpoint",
} as const;

export type PolicyLogCause = keyof typeof POLICY_LOG_CAUSES;

export interface PolicyLogFault {
  /** The first position that does not verify. */
  readonly position: number;
  readonly cause: PolicyLogCause;
}

/** One sentence's second half for people: `does not verify at …`. Quotes nothing of the log. */
export function describePolicyLogFault({ position, cause }: PolicyLogFault): string {
  return `does not verify at position ${position}: ${POLICY_LOG_CAUSES[cause]} (${cause})`;
}

/**
 * Verifies a policy log row by row: that no row was changed, added, removed or moved, and that the
 * fold of the servers follows each (decision 39). Discard it after a fault.
 */
export class PolicyLogVerifier {
  readonly #remembered = new Map<number, string[]>();
  readonly #contents = new Map<string, SpokenContent>();
  readonly #counts = new Map<PolicyRecord["kind"], number>();
  #states = NO_POLICY_STATES;
  #reports = { verified: 0, claimed: 0 };

  /** @param remembered positions that were noted before, in this log or elsewhere */
  constructor(remembered: readonly ChainLink[] = []) {
    for (const { position, hash } of remembered) {
      this.#remembered.set(position, [...(this.#remembered.get(position) ?? []), hash]);
    }
  }

  /** The newest row that verified. */
  get head(): ChainLink {
    return this.#states.head;
  }

  /** Every content with rules that the log names, each once: the store must have it. */
  get contents(): readonly SpokenContent[] {
    return [...this.#contents.values()];
  }

  /** How many rows of a kind verified. */
  count(kind: PolicyRecord["kind"]): number {
    return this.#counts.get(kind) ?? 0;
  }

  /**
   * Approvals with a report: those whose server had made the same report itself, and those that
   * only claim one.
   */
  get reports(): { readonly verified: number; readonly claimed: number } {
    return this.#reports;
  }

  /** Call before the first row. Compares the beginning with what was remembered. */
  begin(): PolicyLogFault | null {
    return this.#matches(GENESIS) ? null : { position: 0, cause: "anchor" };
  }

  /** Adds the next row. Returns its fault. */
  add(row: PolicyLogRow): PolicyLogFault | null {
    const position = this.head.position + 1;
    const cause = row.position === position ? this.#causeIn(row) : "gap";
    return cause === null ? null : { position, cause };
  }

  /** Call after the last row. Checks that the log reaches every remembered position. */
  end(): PolicyLogFault | null {
    for (const position of this.#remembered.keys()) {
      if (position > this.head.position) return { position: this.head.position + 1, cause: "end" };
    }
    return null;
  }

  #causeIn(row: PolicyLogRow): PolicyLogCause | null {
    const hash = chainHash(this.head.hash, row.position, "policy", row.record);
    if (row.previous !== this.head.hash || row.hash !== hash) return "hash";
    if (!this.#matches(row)) return "anchor";
    const record = readPolicyRecord(row.record);
    if (record === null) return "unreadable";
    try {
      this.#states = foldRow(this.#states, row);
    } catch (error) {
      if (error instanceof TypeError) return "impossible";
      throw error;
    }
    this.#counts.set(record.kind, this.count(record.kind) + 1);
    if (record.kind === "approved" && record.report !== null) {
      const result = record.report.verification.result === "verified" ? "verified" : "claimed";
      this.#reports = { ...this.#reports, [result]: this.#reports[result] + 1 };
    }
    if (record.kind === "observed" && record.module !== null) {
      const { policy, revision, digest, module } = record;
      const key = `${policy} ${digest}`;
      if (!this.#contents.has(key)) {
        this.#contents.set(key, { policy, revision, digest, module, position: row.position });
      }
    }
    return null;
  }

  #matches({ position, hash }: ChainLink): boolean {
    return (this.#remembered.get(position) ?? []).every((known) => known === hash);
  }
}

/** A content that the log speaks of, and so must be kept. */
export interface SpokenContent {
  readonly policy: string;
  readonly revision: number;
  readonly digest: string;
  /** SHA-256 of its module's bytes. */
  readonly module: string;
  /** Of the row that speaks of it first. */
  readonly position: number;
}

/** Why what is kept is not what the log speaks of, each with its sentence. */
export const KEPT_CONTENT_CAUSES = {
  not_kept: "its content is not stored",
  other_policy: "the content stored under its digest belongs to another policy",
  module: "the stored module is not the one in the log",
  digest: "the stored contract and sources cannot be read, or do not have its digest",
} as const;

export type KeptContentCause = keyof typeof KEPT_CONTENT_CAUSES;

/**
 * Whether what is kept under a digest is what the log speaks of.
 *
 * @param digestOf digest of contract and sources as they are kept; `null` where they cannot be read
 */
export function keptContentCause(
  spoken: SpokenContent,
  kept: StoredContent | null,
  digestOf: (kept: StoredContent) => string | null,
): KeptContentCause | null {
  if (kept === null) return "not_kept";
  if (kept.policy !== spoken.policy) return "other_policy";
  if (createHash("sha256").update(kept.module).digest("hex") !== spoken.module) return "module";
  return kept.digest === spoken.digest && digestOf(kept) === spoken.digest ? null : "digest";
}

/** Quotes nothing of the log but numbers. */
export function describeContentFault({ position }: SpokenContent, cause: KeptContentCause): string {
  return `names content at position ${position} that is missing or damaged: ${KEPT_CONTENT_CAUSES[cause]} (${cause})`;
}

import { createHash } from "node:crypto";
import { canonicalJson } from "../canon/json.ts";
import { chainHash, GENESIS, type ChainLink } from "../evidence/chain.ts";
import type { PolicyLogRow } from "./policy-log-store.ts";
import type { PolicyRecord } from "./records.ts";
import type { PolicyLogCause, PolicyLogFault } from "./verification/causes.ts";
import { restsOnClaims } from "./verification/promotion.ts";
import { readRecordText } from "./verification/record-shape.ts";
import { SlotStatus } from "./verification/slot-status.ts";
import type { StoredContent } from "../canon/policy.ts";

/**
 * Verifies a policy log row by row: that nothing was changed, added, taken out or moved, and that each row can be true after those before it. It
 * keeps its own account of where policies stand, apart from the one that servers run by. After a fault it is of no more use.
 */
export class PolicyLogVerifier {
  readonly #remembered = new Map<number, string[]>();
  readonly #policies = new Map<string, SlotStatus>();
  readonly #contents: SpokenContent[] = [];
  readonly #counts = new Map<PolicyRecord["kind"], number>();
  #reports = { verified: 0, claimed: 0 };
  #promotionsOnClaims = 0;
  #head: ChainLink = GENESIS;

  /** @param remembered positions that were noted before, in this log or elsewhere */
  constructor(remembered: readonly ChainLink[] = []) {
    for (const { position, hash } of remembered) {
      this.#remembered.set(position, [...(this.#remembered.get(position) ?? []), hash]);
    }
  }

  /** The newest row that verified. */
  get head(): ChainLink {
    return this.#head;
  }

  /** What must be kept: every content with rules that was seen, each once. */
  get contents(): readonly SpokenContent[] {
    return this.#contents;
  }

  /** Digests in the slots of a policy by this account; `null` for an empty slot. */
  slots(policy: string): { readonly enforced: string | null; readonly candidate: string | null } {
    return this.#policies.get(policy) ?? { enforced: null, candidate: null };
  }

  /** How many rows of a kind verified. */
  count(kind: PolicyRecord["kind"]): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Approvals with a report: those whose server had made the same report itself, and those that only claim one. */
  get reports(): { readonly verified: number; readonly claimed: number } {
    return this.#reports;
  }

  /** Promotions that required a report and were made by an older version, which trusted the approvers' statement. */
  get promotionsOnClaims(): number {
    return this.#promotionsOnClaims;
  }

  /** Call before the first row: whether a beginning that was remembered is one. */
  begin(): PolicyLogFault | null {
    return this.#matches(GENESIS) ? null : { position: 0, cause: "anchor" };
  }

  /** Takes the next row; gives what is wrong with it. */
  add(row: PolicyLogRow): PolicyLogFault | null {
    const position = this.#head.position + 1;
    if (row.position !== position) return { position, cause: "gap" };
    const cause = this.#causeIn(row);
    if (cause !== null) return { position, cause };
    this.#head = { position, hash: row.hash };
    return null;
  }

  /** Call after the last row: whether the log reaches as far as was remembered. */
  end(): PolicyLogFault | null {
    for (const position of this.#remembered.keys()) {
      if (position > this.#head.position) return { position: this.#head.position + 1, cause: "end" };
    }
    return null;
  }

  #causeIn(row: PolicyLogRow): PolicyLogCause | null {
    const hash = chainHash(this.#head.hash, row.position, "policy", row.record);
    if (row.previous !== this.#head.hash || row.hash !== hash) return "hash";
    if (!this.#matches(row)) return "anchor";
    const record = readRecordText(row.record);
    if (typeof record === "string") return record;
    // A store takes the numbers of its older version over when it makes the log, and never again.
    if (record.kind === "imported" && this.count("imported") < this.#head.position) return "imported_late";
    const cause = this.#status(record.policy).add(record);
    if (cause !== null) return cause;
    this.#counts.set(record.kind, this.count(record.kind) + 1);
    this.#countReports(record);
    if (record.kind === "observed" && record.module !== null) {
      const { policy, revision, digest, module } = record;
      this.#contents.push({ policy, revision, digest, module, position: row.position });
    }
    return null;
  }

  #countReports(record: PolicyRecord): void {
    if (record.kind === "promoted" && restsOnClaims(record)) this.#promotionsOnClaims += 1;
    if (record.kind !== "approved" || record.report === null) return;
    const result = record.report.verification?.result === "verified" ? "verified" : "claimed";
    this.#reports = { ...this.#reports, [result]: this.#reports[result] + 1 };
  }

  #status(policy: string): SlotStatus {
    const known = this.#policies.get(policy);
    if (known !== undefined) return known;
    const status = new SlotStatus(removalDigest(policy));
    this.#policies.set(policy, status);
    return status;
  }

  #matches({ position, hash }: ChainLink): boolean {
    return (this.#remembered.get(position) ?? []).every((known) => known === hash);
  }
}

/** What a policy that is no longer in the files has for a digest. */
function removalDigest(policy: string): string {
  return createHash("sha256")
    .update(canonicalJson({ removal: policy }))
    .digest("hex");
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

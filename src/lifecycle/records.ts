import type { StoredContent } from "../canon/policy.ts";
import type { PromotionRequirements } from "../canon/table.ts";
import type { ChainLink } from "../evidence/chain.ts";

/** One row of the policy log: chained like evidence, with `policy` for the kind (`chainHash`). */
export interface PolicyLogRow extends ChainLink {
  /** Hash of the row before it; zeros before the first. */
  readonly previous: string;
  /** A `PolicyRecord` as JSON, exactly as it was hashed. */
  readonly record: string;
}

/**
 * The history of policies, as one append-only chain, and its contents. Nothing is
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
   * again. The engine refuses rows that do not follow, too.
   *
   * @throws {RangeError} for no rows, more than 10,000, or rows that do not follow `expected` one
   * after the other.
   * @throws {StoreUnavailableError} with `done` "unknown" where the answer was lost: read on to
   * learn whether the rows are there
   */
  append(expected: ChainLink, rows: readonly PolicyLogRow[]): Promise<boolean>;
  /**
   * Keeps a content, the first under its digest. Durable when it resolves: rows name kept bytes
   * only.
   */
  keep(content: StoredContent): Promise<void>;
  /** `null` where nothing is kept under the digest. */
  content(digest: string): Promise<StoredContent | null>;
  /**
   * Calls back within one second of an append by another process, and before an append by this one
   * resolves; once for several that come together. The state at that time is not reported: read
   * afterwards to miss nothing. Gives back a function that ends it. Never rejects later on: a store
   * that cannot be read is read again.
   *
   * @throws {StoreUnavailableError} when the log cannot be read at the beginning
   */
  watch(listener: () => void): Promise<() => void>;
}

/**
 * The records of the policy log (docs/evidence.md#the-policy-log). They hold identifiers, numbers
 * and closed lists, and no free text. Records are never changed, so members are only added, and a
 * reader must accept older records without them.
 */
export type PolicyRecord =
  | ObservedRecord
  | ReturnedRecord
  | ApprovedRecord
  | ApprovalWithdrawnRecord
  | CandidateWithdrawnRecord
  | PromotedRecord
  | RolledBackRecord
  | ReleasedRecord;

export const RECORD_KINDS = [
  "observed",
  "returned",
  "approved",
  "approval_withdrawn",
  "candidate_withdrawn",
  "promoted",
  "rolled_back",
  "released",
] as const satisfies readonly PolicyRecord["kind"][];

interface Common {
  /** Policy id. */
  readonly policy: string;
  /** Milliseconds since the epoch, on the clock of the process that wrote it. */
  readonly at: number;
}

/** A record of one content. */
interface Numbered extends Common {
  readonly revision: number;
  readonly digest: string;
}

/** A record of what somebody did to one content. */
interface Acted extends Numbered {
  readonly by: Actor;
}

/** One content of a policy. */
export interface ContentReference {
  readonly revision: number;
  /** Lower-case hexadecimal SHA-256 (`policyDigest`). */
  readonly digest: string;
  /** SHA-256 of the module's bytes as kept; `null` for a removal, which has none. */
  readonly module: string | null;
}

/**
 * A content that the log did not know, found in the files of a server. It gets the next revision.
 */
export interface ObservedRecord extends Common, ContentReference {
  readonly kind: "observed";
  /** `removal`: the policy is no longer in the files; promoting it ends the policy. */
  readonly content: "rules" | "removal";
  /** `enforced` only for the first content of a policy whose initial mode is `enforce`. */
  readonly slot: "enforced" | "candidate";
  readonly tableRevision: string;
}

/**
 * Files went back to a content that is known: it is the candidate again, or, where it is the
 * enforced one, there is no candidate any more.
 */
export interface ReturnedRecord extends Numbered {
  readonly kind: "returned";
}

/** Key or person that changes a policy. */
export interface Actor {
  /** Public id of the key. */
  readonly keyId: string;
  readonly workspace: string;
  /**
   * Public id of the key that this one comes from, by rotations and by being made with another key
   * over HTTP; its own where it was made at a terminal. Two keys with one origin are one person,
   * whatever they call themselves.
   */
  readonly origin: string;
  /**
   * Labels that the key and every key on its way from the origin have; sorted. What `roles` of a
   * requirement look at.
   */
  readonly roles: readonly string[];
  /** Of the request that caused it. */
  readonly requestId: string;
  /**
   * The person, from an identity provider: `keyId` and `origin` are a digest of issuer and
   * subject then. Absent for keys, and in older records.
   */
  readonly person?: ActingPerson;
}

/** A person, as their identity provider names them. */
export interface ActingPerson {
  readonly issuer: string;
  readonly subject: string;
  /** Only where the configuration requests names. */
  readonly name?: string;
}

/**
 * Whether the server that took an approval had made the approver's report itself. `verified`: byte
 * for byte, with `enforced` as the digest of what the content would have replaced (`null`:
 * nothing). `differs`: the server's own report has other bytes. `not_computed`: the server could
 * not make one.
 */
type ReportVerification =
  | { readonly result: "verified"; readonly enforced: string | null }
  | { readonly result: "differs" | "not_computed" };

/**
 * The simulation that an approver has seen: facts of its JSON report. Claims of the approver,
 * unless `verification` is `verified`.
 */
export interface ReportReference {
  /** SHA-256 of the report's bytes. */
  readonly sha256: string;
  /** Revision of the table on the report's head side. */
  readonly tableRevision: string;
  /** Whether every class was decided. */
  readonly complete: boolean;
  /** Results of assertions, coverage gates included; all 0 if there were none. */
  readonly assertions: {
    readonly passed: number;
    readonly failed: number;
    readonly waived: number;
  };
  readonly verification: ReportVerification;
}

export interface ApprovedRecord extends Acted {
  readonly kind: "approved";
  readonly report: ReportReference | null;
}

export interface ApprovalWithdrawnRecord extends Acted {
  readonly kind: "approval_withdrawn";
}

/**
 * The candidate is not watched any more, and does not come back by a restart; its files may still
 * be there.
 */
export interface CandidateWithdrawnRecord extends Acted {
  readonly kind: "candidate_withdrawn";
}

/** An approval as it stood at a promotion. */
export interface Approval {
  readonly by: Actor;
  readonly at: number;
  readonly report: ReportReference | null;
}

/**
 * Verdicts of the content while it was the candidate, of every workspace together; counted over all
 * hours in which its revision was evaluated.
 */
export interface ShadowFigures {
  /** When it entered shadow, milliseconds since the epoch. */
  readonly since: number;
  /** Requests that it was evaluated for; the other counts are parts of this one. */
  readonly judged: number;
  readonly wouldDeny: number;
  /** The part of `wouldDeny` that was let through. */
  readonly newlyDenied: number;
  readonly wouldNarrow: number;
  readonly indeterminate: number;
}

export interface PromotedRecord extends Common {
  readonly kind: "promoted";
  readonly by: Actor;
  readonly tableRevision: string;
  /** `null`: nothing was enforced before. */
  readonly from: ContentReference | null;
  readonly to: ContentReference;
  readonly approvals: readonly Approval[];
  readonly requirements: PromotionRequirements;
  /** `null` where nothing was counted: a removal. */
  readonly shadow: ShadowFigures | null;
}

export const ROLLBACK_REASONS = [
  "wrong_denials",
  "wrong_permits",
  "indeterminate",
  "latency",
  "mistake",
  "other",
] as const;
export type RollbackReason = (typeof ROLLBACK_REASONS)[number];

export interface RolledBackRecord extends Common {
  readonly kind: "rolled_back";
  readonly by: Actor;
  readonly tableRevision: string;
  /** From now on held: not promoted again before it is released. */
  readonly from: ContentReference;
  /** `null`: as before the first promotion, nothing is enforced. */
  readonly to: ContentReference | null;
  readonly reason: RollbackReason;
}

/** Lifts a hold or a withdrawal; the content is the candidate where that slot was free. */
export interface ReleasedRecord extends Acted {
  readonly kind: "released";
}

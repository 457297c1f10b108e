import type { PromotionRequirements, MissingRequirement } from "../canon/promotion.ts";
import type { PolicyStates } from "./policy-states.ts";
import type {
  Actor,
  PolicyRecord,
  ReportReference,
  RollbackReason,
  ShadowFigures,
  ContentReference,
} from "./records.ts";

/** One policy as a server's files have it. */
export interface FileContent {
  readonly policy: string;
  readonly digest: string;
  /** SHA-256 of the module's bytes as the store keeps them. */
  readonly module: string;
  readonly initialMode: "shadow" | "enforce";
}

/** What a caller looked at: nothing is done where it is not so any more. */
export interface Expectation {
  /** The strong entity tag, with its quotation marks (RFC 9110 §8.8.3). */
  readonly etag: string;
  /**
   * Revision numbers as the body repeats them; `null`: nothing in the slot. A slot that is left out
   * is not looked at.
   */
  readonly candidateRevision?: number | null;
  readonly enforcedRevision?: number | null;
}

export interface PromotionRequest {
  readonly policy: string;
  readonly expected: Expectation;
  readonly by: Actor;
  readonly requirements: PromotionRequirements;
  /** Public ids of keys whose approvals do not count, because they have been revoked. */
  readonly revoked?: ReadonlySet<string>;
  readonly tableRevision: string;
  /**
   * Counts what the candidate said in shadow; called with its revision number and when it entered.
   */
  readonly figures: (revision: number, since: number) => Promise<ShadowFigures>;
}

export interface RollbackRequest {
  readonly policy: string;
  readonly expected: Expectation;
  readonly by: Actor;
  /**
   * Revision of a content that was enforced before, or `null` for nothing; left out: whatever was
   * enforced last.
   */
  readonly toRevision?: number | null;
  readonly tableRevision: string;
  readonly reason: RollbackReason;
}

/** Done: what was written, and what follows. `record` is `null` where it was so already. */
export interface LifecycleChange {
  readonly record: PolicyRecord | null;
  readonly states: PolicyStates;
}

type Result = Promise<LifecycleChange | LifecycleFault>;

/**
 * Everything that can happen to policies. Each call reads the newest rows, decides, and appends;
 * where another writer was first, it decides anew.
 */
export interface PolicyLifecycle {
  /** As of the newest row that this process has read. */
  readonly states: PolicyStates;
  /**
   * Reads what is new. @throws {StoreUnavailableError} @throws {PolicyLogError} when the chain does
   * not hold.
   */
  refresh(): Promise<PolicyStates>;
  /**
   * Records what a server's files hold. New content takes its number and its slot; policies that
   * the files no longer have get a removal for candidate. A content that is known already moves
   * nothing at a start, where it may be an older replica's; at a reload the files have gone back to
   * it, and so does the candidate. Contents must be kept in the store before.
   *
   * @throws {RangeError} when a policy stands in `contents` twice. @throws {StoreUnavailableError}
   */
  observe(
    contents: readonly FileContent[],
    occasion: "start" | "reload",
    tableRevision: string,
  ): Promise<PolicyStates>;
  approve(request: {
    readonly policy: string;
    readonly digest: string;
    readonly by: Actor;
    readonly report: ReportReference | null;
  }): Result;
  withdrawApproval(request: {
    readonly policy: string;
    readonly digest: string;
    readonly by: Actor;
  }): Result;
  withdrawCandidate(request: {
    readonly policy: string;
    readonly expected: Expectation;
    readonly by: Actor;
  }): Result;
  promote(request: PromotionRequest): Result;
  rollBack(request: RollbackRequest): Result;
  /** Lifts a hold or a withdrawal of a kept content, or brings back one that stands in no slot. */
  release(request: {
    readonly policy: string;
    readonly digest: string;
    readonly expected: Expectation;
    readonly by: Actor;
  }): Result;
}

/**
 * Why something was not done. Each caller has its own message for it (`http/control/policies/`,
 * `cli/policy/lifecycle/`).
 */
export type LifecycleFault =
  | { readonly fault: "unknown_policy" }
  | { readonly fault: "unknown_content" }
  /** The caller looked at another state than the present one. */
  | {
      readonly fault: "changed";
      readonly etag: string;
      readonly candidate: ContentReference | null;
      readonly enforced: ContentReference | null;
    }
  | { readonly fault: "no_candidate" }
  /** What is held must be released before it can be promoted. */
  | { readonly fault: "held"; readonly revision: number }
  | { readonly fault: "requirements"; readonly missing: readonly MissingRequirement[] }
  | { readonly fault: "nothing_to_roll_back_to" }
  | { readonly fault: "not_held" }
  | { readonly fault: "not_approved" }
  /** The bytes of the content are not kept, or cannot be loaded. */
  | { readonly fault: "no_bytes"; readonly revision: number }
  /** Too many others changed policies at the same time. */
  | { readonly fault: "busy" }
  | { readonly fault: "unavailable" };

export function isFault(value: object): value is LifecycleFault {
  return "fault" in value;
}

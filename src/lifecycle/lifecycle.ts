import { hash } from "node:crypto";
import { canonicalJson } from "../canon/json.ts";
import type { PromotionRequirements } from "../canon/table.ts";
import { GENESIS, type ChainLink } from "../evidence/chain.ts";
import type {
  Actor,
  Approval,
  ContentReference,
  PolicyRecord,
  RollbackReason,
  ShadowFigures,
} from "./records.ts";

/** A content that the log has numbered. */
export interface KnownContent extends ContentReference {
  readonly content: "rules" | "removal";
  /** When it was first seen, milliseconds since the epoch. */
  readonly firstSeenAt: number;
}

/** The content in a slot. */
export interface SlotState {
  readonly digest: string;
  /** When it entered the slot, milliseconds since the epoch. */
  readonly since: number;
}

/** The state of one policy. It follows from the rows about this policy alone. */
export interface PolicyStatus {
  readonly id: string;
  /**
   * By digest. A digest keeps its number for ever; the numbers rise in the order of first sight,
   * beginning with 1.
   */
  readonly contents: ReadonlyMap<string, KnownContent>;
  /** The enforced content, or `null`. A promoted removal is here too: then the policy has ended. */
  readonly enforced: SlotState | null;
  /**
   * The content in shadow, or `null`; never the enforced content. A removal here waits for its
   * promotion, which ends the policy.
   */
  readonly candidate: SlotState | null;
  /** Valid approvals by digest, oldest first; at most one of each origin. They outlive the slot. */
  readonly approvals: ReadonlyMap<string, readonly Approval[]>;
  /** Digests that were rolled back and not released. */
  readonly held: ReadonlySet<string>;
  /**
   * Digests whose candidacy was withdrawn: a start with them in the files does not bring them back.
   */
  readonly withdrawn: ReadonlySet<string>;
  /**
   * Contents that were enforced before, oldest first; `null` for none. A rollback without a
   * revision goes to the last one.
   */
  readonly former: readonly (string | null)[];
  /**
   * Position of the newest row that moved a slot or a hold; part of the entity tag, so that there
   * and back is not as before.
   */
  readonly movedAt: number;
  /** Position of the newest row about it. */
  readonly position: number;
}

/** The state of all policies after a row of the log. */
export interface PolicyStates {
  readonly head: ChainLink;
  /** By id, sorted. */
  readonly policies: ReadonlyMap<string, PolicyStatus>;
}

export const NO_POLICY_STATES: PolicyStates = { head: GENESIS, policies: new Map() };

/**
 * @throws {TypeError} for a digest that the policy does not have: a bug, or a log that was not
 * verified.
 */
export function contentOf(status: PolicyStatus, digest: string): KnownContent {
  const content = status.contents.get(digest);
  if (content === undefined)
    throw new TypeError(`policy ${status.id}: the log names content that the policy does not have`);
  return content;
}

/** Digest, number and module of what stands in a slot. */
export function referenceOf(
  status: PolicyStatus,
  slot: "enforced" | "candidate",
): ContentReference | null {
  const state = status[slot];
  if (state === null) return null;
  const { revision, digest, module } = contentOf(status, state.digest);
  return { revision, digest, module };
}

/**
 * The strong entity tag of a policy (RFC 9110 §8.8.3): over what stands in its slots and when that
 * came to be. Approvals do not change it, or every approver would stand in the way of who wants to
 * promote.
 */
export function entityTag(status: PolicyStatus): string {
  const slots = {
    policy: status.id,
    moved: status.movedAt,
    enforced: referenceOf(status, "enforced"),
    candidate: referenceOf(status, "candidate"),
  };
  return `"${hash("sha256", canonicalJson(slots), "hex").slice(0, 32)}"`;
}

/** Digest of a policy that is no longer in the files. */
export function removalDigest(policy: string): string {
  return hash("sha256", canonicalJson({ removal: policy }), "hex");
}

/** One policy as a server's files have it. */
export interface FileContent {
  readonly policy: string;
  readonly digest: string;
  /** SHA-256 of the module's bytes as the store keeps them. */
  readonly module: string;
  readonly initialMode: "shadow" | "enforce";
}

/** The state that a caller has seen; another state refuses the change. */
export interface Expectation {
  /** The strong entity tag, with its quotation marks (RFC 9110 §8.8.3). */
  readonly etag: string;
  /**
   * Revision numbers as the body repeats them; `null`: nothing in the slot. A slot that is left out
   * is not looked at.
   */
  readonly candidateRevision?: number | null | undefined;
  readonly enforcedRevision?: number | null | undefined;
}

/** Requirements of a promotion, in the order of checks and documentation. */
export const REQUIREMENTS = [
  "approvals",
  "roles",
  "soak",
  "decisions",
  "no_indeterminate",
  "report",
  "assertions",
] as const;

export type RequirementName = (typeof REQUIREMENTS)[number];

/** Present and required amounts; 0 and empty where a requirement has no such amount. */
export interface RequirementFacts {
  readonly have: number;
  readonly need: number;
  /** Required roles that no approver has. */
  readonly roles: readonly string[];
  /** Approvals with a report that no server has verified. */
  readonly claimed: number;
  /**
   * Approvals with a report that was verified under another table, or against other enforced
   * content.
   */
  readonly outdated: number;
}

/** A requirement that is not met, with the amounts that it has. */
export interface MissingRequirement extends Partial<RequirementFacts> {
  readonly requirement: RequirementName;
}

export interface PromotionRequest {
  readonly policy: string;
  readonly expected: Expectation;
  readonly by: Actor;
  readonly requirements: PromotionRequirements;
  /** Public ids of keys whose approvals do not count, because they have been revoked. */
  readonly revoked: ReadonlySet<string>;
  readonly tableRevision: string;
  /** Counts the candidate's verdicts in shadow. */
  readonly figures: () => Promise<ShadowFigures>;
}

export interface RollbackRequest {
  readonly policy: string;
  readonly expected: Expectation;
  readonly by: Actor;
  /**
   * Revision of a content that was enforced before, or `null` for nothing; left out: whatever was
   * enforced last.
   */
  readonly toRevision?: number | null | undefined;
  readonly tableRevision: string;
  readonly reason: RollbackReason;
}

/** The record to write; `null` where nothing changes; or a fault. */
export type Verdict = PolicyRecord | null | LifecycleFault;

/**
 * Judges a requested change in one state of the policies; called again, on the newest state, where
 * another writer was first. Its record has the time `at`, milliseconds since the epoch.
 */
export type Judge = (states: PolicyStates, at: number) => Verdict | Promise<Verdict>;

/** Everything that can happen to policies. */
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
  /**
   * Reads the newest rows, judges, and appends; where another writer was first, it judges anew.
   *
   * @returns the written record; `null` where the state was so already
   */
  change(judge: Judge): Promise<Verdict>;
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
  /** A held candidate must be released before its promotion. */
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

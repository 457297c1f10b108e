import { GENESIS, type ChainLink } from "../evidence/chain.ts";
import type { Approval, ContentReference } from "./records.ts";
import { createHash } from "node:crypto";
import { canonicalJson } from "../canon/json.ts";

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
  readonly moved: number;
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
    moved: status.moved,
    enforced: referenceOf(status, "enforced"),
    candidate: referenceOf(status, "candidate"),
  };
  return `"${createHash("sha256").update(canonicalJson(slots)).digest("hex").slice(0, 32)}"`;
}

/** What a policy that is no longer in the files has for a digest. */
export function removalDigest(policy: string): string {
  return createHash("sha256")
    .update(canonicalJson({ removal: policy }))
    .digest("hex");
}

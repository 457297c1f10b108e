import { GENESIS, type ChainLink } from "../evidence/chain.ts";
import type { Approval, ContentReference } from "./records.ts";

/** A content that the log has numbered. */
export interface KnownContent extends ContentReference {
  readonly content: "rules" | "removal";
  /** When it was first seen, milliseconds since the epoch. */
  readonly firstSeenAt: number;
  /** Whether its bytes are kept: those of older versions were not. */
  readonly isKept: boolean;
}

/** The content in a slot. */
export interface SlotState {
  readonly digest: string;
  /** When it entered the slot, milliseconds since the epoch. */
  readonly since: number;
}

/** Where one policy stands: what follows from the rows about it, and from nothing else. */
export interface PolicyLine {
  readonly id: string;
  /** By digest. A digest keeps its number for ever; the numbers rise in the order of first sight, beginning with 1. */
  readonly contents: ReadonlyMap<string, KnownContent>;
  /** What acts; `null`: nothing. A removal that was promoted stands here too: then the policy has ended. */
  readonly enforced: SlotState | null;
  /** What is watched, or `null`; never the enforced content. A removal may stand here: then the policy's end waits for its promotion. */
  readonly candidate: SlotState | null;
  /** Standing approvals by digest, oldest first; at most one of each origin. They outlive the slot. */
  readonly approvals: ReadonlyMap<string, readonly Approval[]>;
  /** Digests that were rolled back and not released. */
  readonly held: ReadonlySet<string>;
  /** Digests whose candidacy was withdrawn: a start with them in the files does not bring them back. */
  readonly withdrawn: ReadonlySet<string>;
  /** What was enforced before, oldest first; `null` for nothing. A rollback goes to the last one unless told otherwise. */
  readonly former: readonly (string | null)[];
  /** For a policy that was taken over from an older version and has no slots yet: the slot of its next content. */
  readonly imported: "shadow" | "enforce" | null;
  /** Position of the newest row that moved a slot or a hold; part of the entity tag, so that there and back is not as before. */
  readonly moved: number;
  /** Position of the newest row about it. */
  readonly position: number;
}

/** Everything that follows from a log, up to a row. */
export interface PolicyLedger {
  readonly head: ChainLink;
  /** By id, sorted. */
  readonly policies: ReadonlyMap<string, PolicyLine>;
}

export const EMPTY_LEDGER: PolicyLedger = { head: GENESIS, policies: new Map() };

/** @throws {TypeError} for a digest that the policy does not have: a bug, or a log that was not verified. */
export function contentOf(line: PolicyLine, digest: string): KnownContent {
  const content = line.contents.get(digest);
  if (content === undefined)
    throw new TypeError(`policy ${line.id}: the log speaks of a content that it does not have`);
  return content;
}

/** Digest, number and module of what stands in a slot. */
export function referenceOf(line: PolicyLine, slot: "enforced" | "candidate"): ContentReference | null {
  const state = line[slot];
  if (state === null) return null;
  const { revision, digest, module } = contentOf(line, state.digest);
  return { revision, digest, module };
}

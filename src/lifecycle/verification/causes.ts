import { PROMOTION_CAUSES } from "./promotion.ts";

/** Why a log of policies does not verify; each with its sentence. The first six are of the chain, the others of what its rows say. */
export const POLICY_LOG_CAUSES = {
  gap: "a row is missing here, or is at another position",
  hash: "the row, or the one before it, is not what was written",
  unreadable: "the row holds no record of a policy in its canonical form",
  unknown_kind: "this version does not know what kind of record it is; verify with the version that wrote it",
  anchor: "the chain is not the one that was remembered at this position",
  end: "the log ends before a position that was remembered",
  imported_late: "a number of an older version comes after rows that are not of one",
  known_content: "a content is recorded as seen for the first time that was seen before",
  unknown_content: "it speaks of a content that the policy never had",
  revision: "the revision is not the content's own number, or the numbers do not rise by one",
  module: "the module is not the one that the content was first seen with, or there is one where there can be none",
  removal: "the digest is not that of the policy's removal, or there is nothing that a removal could end",
  slot: "the content took a slot that it cannot have taken",
  no_change: "nothing was changed by what it records",
  not_approved: "an approval was withdrawn that did not exist",
  not_candidate: "the content was not the candidate",
  not_enforced: "what it replaced was not what was enforced",
  never_enforced: "it went back to something that was not enforced before",
  held: "the content was held after a rollback and not released",
  not_held: "a content was released that was not held",
  ...PROMOTION_CAUSES,
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

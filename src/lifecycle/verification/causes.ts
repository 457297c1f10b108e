import { PROMOTION_CAUSES } from "./promotion.ts";

/** Why a policy log does not verify; each with its sentence. The first six are of the chain, the others of what its rows say. */
export const POLICY_LOG_CAUSES = {
  gap: "a row is missing here, or is at another position",
  hash: "the row, or the one before it, was changed after it was written",
  unreadable: "the row has no policy record in canonical form",
  unknown_kind: "this version does not support the kind of the record; verify with the version that wrote it",
  anchor: "the hash at this position differs from the checkpoint",
  end: "the log ends before the position of a checkpoint",
  imported_late: "a revision number of an older version follows rows of a newer version",
  known_content: "content is recorded as first seen, but an earlier row already recorded it",
  unknown_content: "the row names content that the policy never had",
  revision: "the revision is not the number of the content, or the numbers do not rise by one",
  module: "the module differs from the one that the content was first seen with, or a removal has a module",
  removal: "the digest is not that of the policy's removal, or the policy has nothing to remove",
  slot: "the content entered a slot that it could not enter",
  no_change: "the row records a change that changed nothing",
  not_approved: "an approval was withdrawn that did not exist",
  not_candidate: "the content was not the candidate",
  not_enforced: "the replaced content was not the enforced content",
  never_enforced: "the rollback restored content that was not enforced before",
  held: "the content was still held after a rollback (release it before a promotion)",
  not_held: "content was released that was not held",
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

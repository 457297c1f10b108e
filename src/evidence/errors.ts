/** A decision with this request id is on disk already; request ids must be unique. */
export class DuplicateDecisionError extends Error {
  override readonly name = "DuplicateDecisionError";
  constructor() {
    super("a decision with this request id is recorded already");
  }
}

/** Why a decision could not be made durable; a closed list, safe to log. */
export type EvidenceUnavailableReason = "late" | "full" | "failed" | "closed";

const EVIDENCE_SENTENCES = {
  late: "the evidence store has not confirmed within its time limit",
  full: "too many decisions are waiting for the evidence store",
  failed: "the evidence store could not write",
  closed: "the evidence store is closed",
} as const satisfies Record<EvidenceUnavailableReason, string>;

/** The decision is not known to be on disk, so the answer must not leave; the server says 503. Passes by itself. */
export class EvidenceUnavailableError extends Error {
  override readonly name = "EvidenceUnavailableError";
  readonly reason: EvidenceUnavailableReason;
  constructor(reason: EvidenceUnavailableReason) {
    super(EVIDENCE_SENTENCES[reason]);
    this.reason = reason;
  }
}

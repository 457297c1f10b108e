/** A key with this id exists already; ids are random, so this is a repeated call or a copied record. */
export class DuplicateKeyError extends Error {
  override readonly name = "DuplicateKeyError";
  constructor(id: string) {
    super(`a key with the id ${id} exists already`);
  }
}

/** Only a key that works can be replaced: rotation must not bring a revoked or expired grant back to life. */
export class KeyNotActiveError extends Error {
  override readonly name = "KeyNotActiveError";
  constructor(id: string) {
    super(`the key ${id} is revoked or expired; create a new key instead`);
  }
}

/** Rotation is serial per key: a second one would give a key that lives no longer than the overlap of the first. */
export class KeyRotatedError extends Error {
  override readonly name = "KeyRotatedError";
  constructor(id: string) {
    super(`the key ${id} has been rotated already; rotate the key that replaced it, or create a new key`);
  }
}

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

/** What is known of a call of the store that failed. */
export interface StoreFailure {
  /** `no`: nothing of it was done, it was rolled back or never began. `unknown`, the default: it may have been done. */
  readonly done?: "no" | "unknown";
  /** It is what was asked that cannot be done, whatever the state of the store: asked again, it fails again. */
  readonly refused?: boolean;
}

/** The store cannot do what was asked: disk full, file locked, damaged or written by a newer version. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  readonly done: "no" | "unknown";
  readonly refused: boolean;
  constructor(message: string, { done = "unknown", refused = false }: StoreFailure = {}) {
    super(message);
    this.done = done;
    this.refused = refused;
  }
}

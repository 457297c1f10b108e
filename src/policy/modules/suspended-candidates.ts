import type { PolicyIdentity } from "../../canon/policy.ts";

/** A candidate is given up at this many evaluations that took more than they may; each costs milliseconds of every tenant's time. */
const TIMEOUTS = 3;

/**
 * Candidates that are not evaluated any more in this process, because they took more than an evaluation may take again and again. By content:
 * other rules under the same id are evaluated, and so is everything after a start. Enforced policies are never among them.
 */
export class SuspendedCandidates {
  /** Digest → evaluations that timed out. */
  readonly #timeouts = new Map<string, number>();
  readonly #onSuspended: (identity: PolicyIdentity) => void;

  /** @param onSuspended called once for each content. */
  constructor(onSuspended: (identity: PolicyIdentity) => void) {
    this.#onSuspended = onSuspended;
  }

  has(digest: string): boolean {
    return (this.#timeouts.get(digest) ?? 0) >= TIMEOUTS;
  }

  timedOut(identity: PolicyIdentity): void {
    const count = (this.#timeouts.get(identity.digest) ?? 0) + 1;
    this.#timeouts.set(identity.digest, count);
    if (count === TIMEOUTS) this.#onSuspended(identity);
  }
}

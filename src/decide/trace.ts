import type { ConstraintTrace } from "../canon/decision.ts";
import type { Denial } from "../canon/error.ts";

/**
 * Collects the results of constraints. The first enforced denial in the order of checking becomes
 * the client's error.
 */
export class Trace {
  readonly entries: ConstraintTrace[] = [];
  denial: Denial | null = null;

  record(entry: ConstraintTrace): void {
    this.entries.push(entry);
  }

  /** A constraint of the table. @param isDenied nothing that passes is left. */
  check(checked: Omit<Denial, "mode">, isDenied: boolean): void {
    const { policy, revision, constraint, reason, failing } = checked;
    const isMet = failing.length === 0 && !isDenied;
    this.entries.push({
      policy,
      revision,
      slot: "enforced",
      constraint,
      verdict: isMet ? "pass" : "fail",
      reason: isMet ? null : reason,
      failing,
      effect: isMet ? "none" : isDenied ? "denied" : "narrowed",
    });
    if (isDenied) this.deny(checked);
  }

  /** @returns the first denial, which this one does not replace. */
  deny(denial: Omit<Denial, "mode">): Denial {
    return (this.denial ??= { mode: "enforce", ...denial });
  }
}

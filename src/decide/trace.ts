import type { ConstraintTrace, Denial } from "../canon/decision.ts";

/** Collects what each constraint said. The first enforced denial in the order of checking is the one in the client's error. */
export class Trace {
  readonly entries: ConstraintTrace[] = [];
  denial: Denial | null = null;

  record(entry: ConstraintTrace): void {
    this.entries.push(entry);
  }

  deny(denial: Omit<Denial, "mode">): void {
    this.denial ??= { mode: "enforce", ...denial };
  }
}

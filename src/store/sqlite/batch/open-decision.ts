import type { DecisionFacts } from "../../../governance/roll-up.ts";

/** A decision whose request has not ended. */
export interface OpenDecision {
  readonly requestId: string;
  readonly position: number;
  /** The row of `processes` of the process that decided. */
  readonly process: number;
  readonly workspace: string | null;
  /** What its outcome's counts need; `null` until the decision is counted, and where another process counted it. */
  facts: DecisionFacts | null;
}

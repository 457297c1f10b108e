import { Increments } from "../../../governance/increments.ts";
import { decisionFacts, rollUpDecision, rollUpOutcome, type DecisionFacts } from "../../../governance/roll-up.ts";
import { readDecision, readOutcome } from "../../stored-evidence.ts";

/** A row of the log, as counting looks at it. */
export interface CountedRow {
  readonly kind: "decision" | "outcome";
  readonly record: string;
  /** The decision's text, for an outcome whose decision is not among the rows before it. */
  readonly decision: string | null;
}

/**
 * What these rows, in the order of the log, add to the cells. A record that this version does not know is not counted:
 * the others must not wait for it.
 */
export function countRows(rows: readonly CountedRow[]): Increments {
  const increments = new Increments();
  const decided = new Map<string, DecisionFacts>();
  for (const { kind, record, decision: before } of rows) {
    if (kind === "decision") {
      const decision = readDecision(record);
      if (decision === null) continue;
      rollUpDecision(increments, decision);
      decided.set(decision.requestId, decisionFacts(decision));
    } else {
      const outcome = readOutcome(record);
      if (outcome === null) continue;
      const facts = decided.get(outcome.requestId) ?? factsIn(before);
      if (facts !== null) rollUpOutcome(increments, facts, outcome);
    }
  }
  return increments;
}

function factsIn(text: string | null): DecisionFacts | null {
  const decision = text === null ? null : readDecision(text);
  return decision === null ? null : decisionFacts(decision);
}

import { sharedAtHand } from "../../support/at-hand.ts";

/**
 * @returns `$SIGNALBOX_OPA_CASES`, or the cases beside the project; `null` where there are none.
 */
export function casesAtHand(): string | null {
  const named = process.env.SIGNALBOX_OPA_CASES;
  return named !== undefined && named !== "" ? named : sharedAtHand("opa-cases/cases.jsonl");
}

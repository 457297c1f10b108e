/**
 * What is left of the tightest budget of a caller, in steps: few values keep the classes of
 * requests finite. `unlimited`: there is no budget.
 */
export const BUDGET_STEPS = [
  "unlimited",
  "above_half",
  "below_half",
  "below_tenth",
  "exhausted",
] as const;
export type BudgetStep = (typeof BUDGET_STEPS)[number];

/** @param share what is left of the whole budget; negative where more was used. */
export function budgetStep(share: number): BudgetStep {
  if (share <= 0) return "exhausted";
  if (share < 0.1) return "below_tenth";
  return share < 0.5 ? "below_half" : "above_half";
}

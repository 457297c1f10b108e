/**
 * Remainder of the tightest budget of a caller, in steps: few values keep the classes of requests
 * finite. `unlimited`: there is no budget.
 */
export const BUDGET_STEPS = [
  "unlimited",
  "above_half",
  "below_half",
  "below_tenth",
  "exhausted",
] as const;
export type BudgetStep = (typeof BUDGET_STEPS)[number];

/**
 * @param share remaining part of the budget; negative when overspent.
 * @example budgetStep(0.05) // "below_tenth"
 */
export function budgetStep(share: number): BudgetStep {
  if (share <= 0) return "exhausted";
  if (share < 0.1) return "below_tenth";
  return share < 0.5 ? "below_half" : "above_half";
}

/** Limits of one key; `null`: unlimited. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  /** Input and output together. */
  readonly tokensPerMinute: number | null;
  /** Requests under way at once. */
  readonly concurrency: number | null;
  readonly budget: Budget | null;
}

/** Money or tokens for a calendar period in UTC. */
export type Budget =
  | { readonly usd: number; readonly per: BudgetPeriod }
  | { readonly tokens: number; readonly per: BudgetPeriod };

/** US dollars; money is counted in millionths. */
export const SMALLEST_BUDGET = 0.000_001;

export const BUDGET_PERIODS = ["hour", "day", "month"] as const;
type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Limits of all keys of a workspace together. */
export interface WorkspaceLimits extends KeyLimits {
  /** Limits of each key; a key's own limits can only be lower (`limits/accounts.ts`). */
  readonly perKey: KeyLimits | null;
  /**
   * Simulations that its keys may ask each process for; absent: the default of
   * `http/control/simulate.ts`.
   */
  readonly simulationsPerMinute?: number;
}

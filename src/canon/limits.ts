/** What one key may use; `null` where nothing limits it. */
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

/** What all keys of a workspace may use together. */
export interface WorkspaceLimits extends KeyLimits {
  /** What each key may use. Its own limits only narrow that (`limits/accounts.ts`). */
  readonly perKey: KeyLimits | null;
  /**
   * Simulations that its keys may ask each process for; absent: the default of
   * `http/control/simulation-rate.ts`.
   */
  readonly simulationsPerMinute?: number;
}

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

export const BUDGET_PERIODS = ["hour", "day", "week", "month"] as const;
type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Periods over which use is counted. */
export const LIMIT_WINDOWS = ["minute", ...BUDGET_PERIODS] as const;
export type LimitWindow = (typeof LIMIT_WINDOWS)[number];

/** Counted quantities. `micro_usd`: millionths of a US dollar, so that sums are whole numbers. */
export const LIMIT_MEASURES = ["requests", "tokens", "micro_usd"] as const;
export type LimitMeasure = (typeof LIMIT_MEASURES)[number];

/** The limit that refused a request, as it was then; amounts in the unit of the measure. */
export interface RefusingLimit {
  readonly subject: "workspace" | "key";
  readonly measure: LimitMeasure | "concurrency";
  /** `null` for concurrency. */
  readonly window: LimitWindow | null;
  readonly size: number;
  /**
   * By all replicas, with the reservations of running requests; `null` where the counter was not
   * read, because the request alone exceeds the limit.
   */
  readonly used: number | null;
  /** The part of `used` that running requests of this process may release. */
  readonly reserved: number | null;
  /** Upper bound of the request. */
  readonly requested: number;
  /** End of the window, milliseconds since the epoch; `null` for concurrency. */
  readonly renewsAt: number | null;
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

/** Money or tokens for a calendar period. */
export type Budget = ({ readonly usd: number } | { readonly tokens: number }) & BudgetWindow;

interface BudgetWindow {
  readonly per: BudgetPeriod;
  /** IANA name, in which days, weeks and months begin; absent: UTC. */
  readonly timeZone?: string | undefined;
}

/** US dollars; money is counted in millionths. */
export const SMALLEST_BUDGET = 0.000_001;

/** Limits of all keys of a workspace together. */
export interface WorkspaceLimits extends KeyLimits {
  /** Limits of each key; a key's own limits can only be lower (`limits/accounts.ts`). */
  readonly perKey: KeyLimits | null;
  /**
   * Simulations that its keys may request of each process; absent: the default of
   * `http/control/simulate.ts`.
   */
  readonly simulationsPerMinute?: number;
}

/** The protocol's least budget for thinking, tokens. */
export const LEAST_BUDGET = 1024;

/** Refuses a budget that leaves no room for the answer. It names no numbers: they are the caller's. */
export const BUDGET_ABOVE_LIMIT =
  "The reasoning budget must be below the output limit, which it is a part of; raise the limit or ask for less reasoning";

/**
 * The budget under a limit that a policy has lowered. Thinking is part of the output and its budget must be below the limit, so it shrinks
 * with it, as far as the protocol lets it. A limit that is the caller's own changes nothing: what does not fit it is the caller's mistake.
 */
export function budgetUnder(budget: number, requested: number | null, limit: number): number {
  const lowered = requested === null || limit < requested;
  return lowered && budget >= limit ? Math.max(limit - 1, LEAST_BUDGET) : budget;
}

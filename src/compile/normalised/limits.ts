import type { Budget, KeyLimits, WorkspaceLimits } from "../../canon/limits.ts";
import type { AuthoredWorkspace } from "../routes-schema.ts";

type AuthoredKeyLimits = NonNullable<NonNullable<AuthoredWorkspace["limits"]>["per_key"]>;

/** The ceilings of a workspace; `null` for each that the file does not set. */
export function normaliseLimits(limits: AuthoredWorkspace["limits"]): WorkspaceLimits {
  return {
    ...keyLimits(limits ?? {}),
    perKey: limits?.per_key === undefined ? null : keyLimits(limits.per_key),
    // Absent where it is not set: tables that do not use it keep their revision.
    ...(limits?.simulations_per_minute !== undefined && { simulationsPerMinute: limits.simulations_per_minute }),
  };
}

function keyLimits(limits: AuthoredKeyLimits): KeyLimits {
  return {
    requestsPerMinute: limits.requests_per_minute ?? null,
    tokensPerMinute: limits.tokens_per_minute ?? null,
    concurrency: limits.concurrency ?? null,
    budget: limits.budget === undefined ? null : budgetOf(limits.budget),
  };
}

/** The schema sees to it that a budget has exactly one of both. */
function budgetOf({ usd, tokens, per }: NonNullable<AuthoredKeyLimits["budget"]>): Budget {
  return usd === undefined ? { tokens: tokens ?? 0, per } : { usd, per };
}

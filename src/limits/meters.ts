import type { Budget } from "../canon/limits.ts";
import type { CounterAccount } from "./counter-account.ts";
import type { SlotAccount } from "./slot-account.ts";
import type { EffectiveLimits } from "./effective.ts";
import type { LimitMeasure, LimitWindow } from "./windows.ts";

/** What a request uses, or may use: whole numbers, at least 0. Money in millionths of a US dollar. */
export interface Amounts {
  readonly requests: number;
  readonly tokens: number;
  readonly microUsd: number;
}

export function amountOf(amounts: Amounts, measure: LimitMeasure): number {
  if (measure === "requests") return amounts.requests;
  return measure === "tokens" ? amounts.tokens : amounts.microUsd;
}

/** The limits of one subject, each with what this process holds of it. Never changed: other limits are other meters. */
export interface Meters {
  readonly limits: EffectiveLimits;
  readonly counters: readonly CounterAccount[];
  readonly slots: SlotAccount | null;
}

/** One ceiling of a subject. */
export interface CounterLimit {
  readonly measure: LimitMeasure;
  readonly window: LimitWindow;
  readonly ceiling: number;
  /** Error code of a refusal because of this limit (docs/limits.md#what-a-client-sees). */
  readonly code: "requests_per_minute" | "tokens_per_minute" | "budget_exhausted";
}

/** The counters that limits need. */
export function counterLimits(limited: EffectiveLimits): readonly CounterLimit[] {
  const { requestsPerMinute, tokensPerMinute, budget, secondBudget } = limited;
  const limits: CounterLimit[] = [];
  if (requestsPerMinute !== null) {
    limits.push({ measure: "requests", window: "minute", ceiling: requestsPerMinute, code: "requests_per_minute" });
  }
  if (tokensPerMinute !== null) {
    limits.push({ measure: "tokens", window: "minute", ceiling: tokensPerMinute, code: "tokens_per_minute" });
  }
  for (const each of [budget, secondBudget]) {
    if (each != null) limits.push({ ...measured(each), window: each.per, code: "budget_exhausted" });
  }
  return limits;
}

function measured(budget: Budget): Pick<CounterLimit, "measure" | "ceiling"> {
  // Rounded down, but not because 0.29 has no exact double.
  if ("usd" in budget) return { measure: "micro_usd", ceiling: Math.floor(budget.usd * 1_000_000 + 0.000_1) };
  return { measure: "tokens", ceiling: budget.tokens };
}

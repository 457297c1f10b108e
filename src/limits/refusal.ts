import type { CounterAccount } from "./counter-account.ts";
import { amountOf, type Amounts, type Meters } from "./accounts.ts";

export const LIMIT_CODES = [
  "requests_per_minute",
  "tokens_per_minute",
  "budget_exhausted",
  "budget_reserved",
  "exceeds_limit",
  "concurrency",
] as const;
export type LimitCode = (typeof LIMIT_CODES)[number];

/** Why a request may not be sent now. */
export interface LimitRefusal {
  readonly refused: LimitCode | "limits_unavailable";
  /** The limit's measure and period; `null` for concurrent requests, and where the store failed. */
  readonly limit: Pick<CounterAccount, "measure" | "window"> | null;
  /** The owner of the limit; `null` where the store failed. */
  readonly subject: "workspace" | "key" | null;
  /** Milliseconds until it helps to try again; `null` where the same request will never fit (`exceeds_limit`). */
  readonly retryAfter: number | null;
  readonly meters: readonly Meters[];
}

/** A slot may come free at any moment. Milliseconds. */
const SLOT_RETRY = 1_000;
/** What a request under way has reserved may come back at any moment. Milliseconds. */
const RETURN_RETRY = 1_000;
const STORE_RETRY = 1_000;

/** `known`: the refusal by what is known of the counters; `null` where the store must answer first. */
export function refusalBy(meters: readonly Meters[], amounts: Amounts, now: number, why: "known"): LimitRefusal | null;
export function refusalBy(meters: readonly Meters[], amounts: Amounts, now: number, why: "unavailable"): LimitRefusal;
export function refusalBy(
  meters: readonly Meters[],
  amounts: Amounts,
  now: number,
  why: "known" | "unavailable",
): LimitRefusal | null {
  if (why === "unavailable") {
    return { refused: "limits_unavailable", limit: null, subject: null, retryAfter: STORE_RETRY, meters };
  }
  let found: LimitRefusal | null = null;
  for (const { counters, slots } of meters) {
    for (const counter of counters) {
      const amount = amountOf(amounts, counter.measure);
      const never = amount > counter.ceiling;
      if (!never && (counter.available >= amount || !counter.isKnownFull(amount, now))) continue;
      const untilEnd = Math.max(1, counter.end - now);
      const isReserved = !never && counter.mayComeFree(amount);
      const retryAfter = never ? null : isReserved ? Math.min(RETURN_RETRY, untilEnd) : untilEnd;
      // The longest wait is the one that helps.
      if (found !== null && waitOf(found) >= waitOf({ retryAfter })) continue;
      const refused = never ? "exceeds_limit" : codeOf(counter, isReserved);
      found = { refused, limit: counter, subject: kindOf(counter.subject), retryAfter, meters };
    }
    if (found === null && slots !== null && slots.free(now) < 1 && slots.isKnownFull(now)) {
      found = { refused: "concurrency", limit: null, subject: kindOf(slots.subject), retryAfter: SLOT_RETRY, meters };
    }
  }
  return found;
}

function waitOf({ retryAfter }: Pick<LimitRefusal, "retryAfter">): number {
  return retryAfter ?? Number.POSITIVE_INFINITY;
}

/** @param isReserved requests under way hold what is missing, and may give it back. */
function codeOf({ measure, window }: CounterAccount, isReserved: boolean): LimitCode {
  if (window !== "minute" || measure === "micro_usd") return isReserved ? "budget_reserved" : "budget_exhausted";
  return measure === "requests" ? "requests_per_minute" : "tokens_per_minute";
}

function kindOf(subject: string): "workspace" | "key" {
  return subject.startsWith("key:") ? "key" : "workspace";
}

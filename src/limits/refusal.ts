import type { CounterAccount } from "./counter-account.ts";
import { amountOf, type Amounts, type Meters } from "./meters.ts";

export const LIMIT_CODES = ["requests_per_minute", "tokens_per_minute", "budget_exhausted", "concurrency"] as const;
export type LimitCode = (typeof LIMIT_CODES)[number];

/** Why a request may not be sent now. */
export interface LimitRefusal {
  readonly refused: LimitCode | "limits_unavailable";
  /** Whose limit it is; `null` where the store could not say. */
  readonly subject: "workspace" | "key" | null;
  /** The request alone needs more than the limit: waiting does not help. */
  readonly never: boolean;
  /** Milliseconds. */
  readonly retryAfter: number;
  readonly meters: readonly Meters[];
}

/** A place may come free at any moment. Milliseconds. */
const SLOT_RETRY = 1_000;
/** What a request under way has reserved may come back at any moment. Milliseconds. */
const RETURN_RETRY = 1_000;
const STORE_RETRY = 1_000;

/** `known`: the refusal by what is known of the counters; `null` where the store must be asked first. */
export function refusalBy(meters: readonly Meters[], amounts: Amounts, now: number, why: "known"): LimitRefusal | null;
export function refusalBy(meters: readonly Meters[], amounts: Amounts, now: number, why: "unavailable"): LimitRefusal;
export function refusalBy(
  meters: readonly Meters[],
  amounts: Amounts,
  now: number,
  why: "known" | "unavailable",
): LimitRefusal | null {
  if (why === "unavailable") {
    return { refused: "limits_unavailable", subject: null, never: false, retryAfter: STORE_RETRY, meters };
  }
  let found: LimitRefusal | null = null;
  for (const { counters, slots } of meters) {
    for (const counter of counters) {
      const amount = amountOf(amounts, counter.measure);
      const never = amount > counter.ceiling;
      if (!never && (counter.available >= amount || !counter.isKnownFull(amount, now))) continue;
      const untilEnd = Math.max(1, counter.end - now);
      const retryAfter = !never && counter.mayComeFree(amount) ? Math.min(RETURN_RETRY, untilEnd) : untilEnd;
      // The longest wait is the one that helps.
      if (found !== null && (found.never || (!never && found.retryAfter >= retryAfter))) continue;
      found = { refused: codeOf(counter), subject: kindOf(counter.subject), never, retryAfter, meters };
    }
    if (found === null && slots !== null && slots.free(now) < 1 && slots.isKnownFull(now)) {
      found = { refused: "concurrency", subject: kindOf(slots.subject), never: false, retryAfter: SLOT_RETRY, meters };
    }
  }
  return found;
}

function codeOf({ measure, window }: CounterAccount): LimitCode {
  if (window !== "minute" || measure === "micro_usd") return "budget_exhausted";
  return measure === "requests" ? "requests_per_minute" : "tokens_per_minute";
}

function kindOf(subject: string): "workspace" | "key" {
  return subject.startsWith("key:") ? "key" : "workspace";
}

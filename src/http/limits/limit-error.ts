import type { ServiceError } from "../../canon/error.ts";
import { codedError } from "../../canon/errors/coded-error.ts";
import type { LimitCode, LimitRefusal } from "../../limits/refusal.ts";

const LESS = "Lower max_tokens or send less input.";

const FEWER = "Send fewer inputs at once, or batches in fewer calls (x-max-batch-size).";

const NAMES = { requests: "requests", tokens: "tokens", micro_usd: "USD" } as const;

const WAIT = "Try again after the seconds in retry-after.";

const SENTENCES: Readonly<Record<Exclude<LimitCode, "exceeds_limit">, (renewal: string) => string>> = {
  requests_per_minute: () => `the requests of this minute are used up. ${WAIT}`,
  tokens_per_minute: () => `the tokens left in this minute are fewer than the request may use. ${WAIT}`,
  budget_reserved: () =>
    `the rest of the budget is reserved by requests under way, which may not need all of it. ${WAIT}`,
  concurrency: () => `the maximum number of requests is under way. ${WAIT}`,
  budget_exhausted: (renewal) =>
    `the budget left in this period is less than the request may use. It renews at ${renewal}.`,
};

/**
 * The error of a limit of ours (docs/limits.md#what-a-client-sees): 402 for a spent budget and for a request that exceeds a whole limit, 429 for a limit that
 * passes within a minute, 503 for limits that cannot be counted.
 *
 * @param now milliseconds since the epoch, on the clock of the limits.
 */
export function limitError({ refused, limit, subject, retryAfter }: LimitRefusal, now: number): ServiceError {
  if (refused === "limits_unavailable") {
    return codedError(
      refused,
      "The router could not read the limit counters, so it does not send the request. Try again later.",
    );
  }
  const whose = subject === "key" ? "this key" : "the workspace";
  const beginning = `Limit of ${whose} (${refused})`;
  if (refused === "exceeds_limit") {
    const whole = limit === null ? "limit" : `limit of ${NAMES[limit.measure]} per ${limit.window}`;
    const fix = limit?.measure === "requests" ? FEWER : LESS;
    return codedError(refused, `${beginning}: this request alone may use more than the whole ${whole}. ${fix}`);
  }
  const message = `${beginning}: ${SENTENCES[refused](timestamp(now + (retryAfter ?? 0)))}`;
  // A budget says in words when it renews: agents wait in silence for the end of a `retry-after` of hours.
  return codedError(refused, message, refused === "budget_exhausted" ? {} : { retryAfter });
}

/** RFC 3339, whole seconds, rounded up. @param at milliseconds since the epoch. */
export function timestamp(at: number): string {
  return new Date(Math.ceil(at / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

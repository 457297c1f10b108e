import { serviceError, type ServiceError } from "../../canon/error.ts";
import type { LimitCode, LimitRefusal } from "../../limits/refusal.ts";

const SENTENCES: Readonly<Record<LimitCode, string>> = {
  requests_per_minute: "as many requests as a minute allows have been made",
  tokens_per_minute: "the tokens of this minute do not suffice for what the request may use",
  budget_exhausted: "the budget of this period does not suffice for what the request may use",
  concurrency: "as many requests are under way as may be",
};

/** The 429 of a limit of ours, or the 503 of limits that cannot be counted (decisions.md, "Status codes and error bodies"). */
export function limitError({ refused, subject, never, retryAfter }: LimitRefusal): ServiceError {
  if (refused === "limits_unavailable") {
    const message =
      "What is left of the limits could not be found out, and nothing is sent beyond them. Try again later.";
    return serviceError(503, "unavailable", refused, message, { retryAfter });
  }
  const whose = subject === "key" ? "this key" : "the workspace";
  if (never) {
    const message = `Limit of ${whose} (${refused}): this request alone may use more than the whole limit. Ask for less output (max_tokens) or send less input.`;
    return serviceError(429, "rate_limit", refused, message, { retryAfter });
  }
  const message = `Limit of ${whose} (${refused}): ${SENTENCES[refused]}. Try again when the time of retry-after has passed.`;
  return serviceError(429, "rate_limit", refused, message, { retryAfter });
}

import { final, passing, type ErrorRow } from "./error-row.ts";

const LIMIT_FIX =
  "Wait for `retry-after`; operators look with `signalbox limits` and change `limits` of the workspace.";

/** Limits of workspaces and keys. */
export const LIMIT_ERRORS = {
  requests_per_minute: {
    ...passing(429, "rate_limit", 60000),
    at: ["inference", "simulateRoute", "explainDecision"],
    meaning: "The requests of this minute are used up.",
    example: "`requests_per_minute: 1` and two requests.",
    fix: LIMIT_FIX,
  },
  tokens_per_minute: {
    ...passing(429, "rate_limit", 60000),
    at: ["inference"],
    meaning: "The tokens left in this minute are fewer than the request may use.",
    example: "A request with a large output limit.",
    fix: `${LIMIT_FIX} A smaller \`max_tokens\` reserves less.`,
  },
  budget_exhausted: {
    ...final(402, "quota"),
    at: ["inference"],
    meaning:
      "The budget left in the period is less than the request may use; or an exchanged token has used up its own limit.",
    example: "`budget: {usd: 1, per: day}` in the afternoon.",
    fix: "Wait until the budget renews (the message says when), or have it raised. A token does not renew: exchange the key for a new one.",
  },
  budget_reserved: {
    ...passing(429, "rate_limit", 1000),
    at: ["inference"],
    meaning:
      "The rest of the budget is reserved by requests under way, which may not need all of it.",
    example: "Four requests at once near the end of a budget.",
    fix: "Try again after `retry-after`. A smaller `max_tokens` reserves less.",
  },
  exceeds_limit: {
    ...final(402, "quota"),
    at: ["inference"],
    meaning: "This request alone may use more than a whole limit, so waiting does not help.",
    example: "`tokens_per_minute: 1000` and a request with `max_tokens: 5000`.",
    fix: "Lower `max_tokens`, send less input, or have the limit raised.",
  },
  concurrency: {
    ...passing(429, "rate_limit", 1000),
    at: ["inference"],
    meaning: "The workspace or key has as many requests under way as its limit allows.",
    example: "`concurrency: 1` and two requests at once.",
    fix: LIMIT_FIX,
  },
  limits_unavailable: {
    ...passing(503, "unavailable", 1000),
    at: ["inference"],
    meaning: "The router could not read the limit counters, so it does not send the request.",
    example: "The database of the shared counters is not reachable.",
    fix: "Try again; operators look at the store.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

import type { FailureKind } from "../canon/failure.ts";
import type { Terminal } from "../evidence/record.ts";

/**
 * The numbers under which counts are stored. Never changed and never used again: stored cells have
 * them. A terminal or a failure without a number here does not compile.
 */
export const COUNTER_NUMBERS = {
  requests: 1,
  allowed: 2,
  answered: 3,
  denied: 4,
  refused: 5,
  judged: 6,
  would_deny: 7,
  newly_denied: 8,
  would_narrow: 9,
  indeterminate: 10,
  ended: 11,
  fell_back: 12,
  attempts: 13,
  input_tokens: 14,
  output_tokens: 15,
  cache_read_tokens: 16,
  reasoning_tokens: 17,
  metered: 18,
  "terminal.completed": 20,
  "terminal.incomplete": 21,
  "terminal.failed": 22,
  "terminal.denied": 23,
  "terminal.refused": 24,
  "terminal.client_closed": 25,
  "terminal.unknown": 26,
  "failure.connect": 30,
  "failure.tls": 31,
  "failure.reset": 32,
  "failure.timeout_connect": 33,
  "failure.timeout_first_byte": 34,
  "failure.timeout_first_token": 35,
  "failure.timeout_idle": 36,
  "failure.timeout_attempt": 37,
  "failure.timeout_total": 38,
  "failure.rate_limited": 39,
  "failure.overloaded": 40,
  "failure.server_error": 41,
  "failure.auth": 42,
  "failure.not_found": 43,
  "failure.rejected": 44,
  "failure.redirect": 45,
  "failure.malformed": 46,
  "failure.truncated": 47,
  "failure.error_frame": 48,
  "failure.too_large": 49,
  "failure.credentials_missing": 50,
  "failure.saturated": 51,
  "failure.client_closed": 52,
  "failure.abandoned": 53,
  "failure.address_refused": 54,
  "failure.server_stopping": 55,
  "failure.key_revoked": 56,
  cost_nano_usd: 57,
  priced: 58,
  priced_unmetered: 59,
  unpriced_unmetered: 60,
  "failure.proxy": 61,
  "failure.proxy_auth": 62,
} as const satisfies Readonly<Record<`terminal.${Terminal}` | `failure.${FailureKind}`, number>> &
  Readonly<Record<string, number>>;

/**
 * What is counted. Money is for spend alone: the governance summary is no bill. `metered` requests
 * have token counts, `priced` ones a known cost; of the two kinds the rest is counted in
 * `priced_unmetered` and `unpriced_unmetered`, so cells that were counted before there were costs
 * are unpriced.
 */
export type Counter = keyof typeof COUNTER_NUMBERS;

/** Larger than every number of a counter, with space for counters of a later version. */
export const COUNTER_LIMIT = 96;

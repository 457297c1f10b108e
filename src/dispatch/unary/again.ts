import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";

/** Failures that may be gone a moment later at the same place. What a provider refuses, or an operator must mend, is not among them. */
const PASSING_KINDS: ReadonlySet<FailureKind> = new Set([
  "connect",
  "reset",
  "timeout_connect",
  "timeout_first_byte",
  "timeout_first_token",
  "timeout_idle",
  "timeout_attempt",
  "rate_limited",
  "overloaded",
  "server_error",
  "malformed",
  "truncated",
  "error_frame",
  "saturated",
]);

export function isPassing(kind: FailureKind): boolean {
  return PASSING_KINDS.has(kind);
}

/** How often a part goes through the whole plan. Twice: what two rounds cannot get, a caller should hear of. */
export const ROUNDS = 2;

/** Most and least of the time before a second round, milliseconds. */
const LONGEST_PAUSE = 5_000;
const FIRST_PAUSE = 250;

/**
 * How long to wait before a part is tried again from the start of its plan; `null`: it has failed. Full jitter, or what the provider
 * asked for; embeddings, ranks and verdicts change nothing at the provider, so a repetition costs money and does no harm.
 *
 * @param round rounds that have failed, from 1.
 * @param remaining milliseconds to the deadline.
 * @param random from 0 to 1.
 */
export function pauseBeforeRound(
  failure: UpstreamFailure,
  round: number,
  remaining: number,
  random: number,
): number | null {
  if (round >= ROUNDS || !isPassing(failure.kind)) return null;
  const pause = failure.retryAfter ?? random * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (round - 1));
  // A caller who would be told of the deadline is better told at once what went wrong.
  return pause < remaining ? pause : null;
}

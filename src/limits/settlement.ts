import { hasReachedProvider, type FailureKind } from "../canon/failure.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { EndpointRow } from "../canon/table.ts";
import { costOf, type Estimate } from "./estimate.ts";
import type { Amounts } from "./meters.ts";

/** How calls at one endpoint ended. */
export interface EndedAttempt {
  readonly endpoint: EndpointRow;
  /** `null`: answered. */
  readonly failure: FailureKind | null;
  /** The provider's; `null` where none arrived. */
  readonly status: number | null;
  readonly calls: number;
}

/** How a request ended, as far as it tells what was used. */
export interface EndedRequest {
  /** The client got a whole answer, or a whole answer that says that it is cut. */
  readonly whole: boolean;
  /** In the order of trying. */
  readonly attempts: readonly EndedAttempt[];
  readonly usage: TokenUsage | null;
  /** The answer comes as a stream; otherwise in one piece, which is made before its first byte is sent. */
  readonly streamed: boolean;
  /** Bytes of the answer that were sent to the client. */
  readonly sent: number;
}

/** Failures that the provider has told itself, whatever the status: it makes no answer. */
const TOLD: ReadonlySet<FailureKind> = new Set([
  "rate_limited",
  "overloaded",
  "server_error",
  "auth",
  "not_found",
  "rejected",
  "redirect",
  "error_frame",
]);

/** Bytes of an answer for one token. Frames of streams have far more: too many tokens are counted rather than too few. */
const BYTES_PER_TOKEN = 4;

/**
 * What a request has used; `null` where it reached no provider, so that nothing of it counts.
 *
 * - A whole answer: what the provider counted; where it did not count, what was estimated.
 * - An answer that was cut, by the provider, by the router or by the client who left: what was counted of its input, or its estimate;
 *   of its output what was counted or what was sent, whichever is more.
 * - An answer in one piece that did not come: the output that was estimated. Providers go on when nobody listens any more, and charge for it.
 * - A call that the provider refused with an error status: nothing but the request.
 * - A call whose end nobody saw, before another answered: its input.
 *
 * All input counts at the price of input, whether it came from a cache or not, and reasoning is output: the table has no other prices.
 */
export function usedBy(estimate: Estimate, ended: EndedRequest): Amounts | null {
  const reached = ended.attempts.filter(({ failure }) => failure === null || hasReachedProvider(failure));
  if (reached.length === 0) return null;
  if (estimate.requestsOnly) return estimate.amounts;
  const input = believed(ended.usage?.input ?? null, estimate) ?? estimate.input;
  const carriedOut = reached.filter(({ failure, status }) => failure === null || status === null || status < 400);
  const last = carriedOut.at(-1);
  let tokens = 0;
  let microUsd = 0;
  for (const attempt of carriedOut) {
    const output = attempt === last ? outputOf(estimate, ended, attempt.failure) : 0;
    tokens += input + output;
    microUsd += costOf(attempt.endpoint.price, input, output, attempt.calls);
  }
  return { requests: 1, tokens, microUsd: Math.min(microUsd, LARGEST_COST) };
}

/** Millionths of a US dollar: beyond this, sums of many requests would not be exact. */
const LARGEST_COST = 2 ** 45;

/** What a provider says that it counted, within what can be: one wrong figure must not use up every budget, nor be one that cannot be stored. */
function believed(counted: number | null, { most }: Estimate): number | null {
  return counted === null || Number.isNaN(counted) ? null : Math.min(Math.max(0, Math.ceil(counted)), most);
}

function outputOf(
  estimate: Estimate,
  { whole, usage, sent, streamed }: EndedRequest,
  failure: FailureKind | null,
): number {
  const counted = believed(usage?.output ?? null, estimate);
  const isMade = whole || (!streamed && (failure === null || !TOLD.has(failure)));
  if (isMade) return counted ?? estimate.output;
  // What a provider counted before the cut is often only its first word.
  return Math.max(counted ?? 0, Math.min(estimate.output, Math.ceil(sent / BYTES_PER_TOKEN)));
}

/**
 * The same for a request that was sent in parts, whose answers are not cut: tokens are those of the parts that were answered, at the dearest price of
 * those who answered; the estimate where somebody did not count, or where calls were lost.
 *
 * @param counted tokens; `null` where nobody counted.
 */
export function usedByParts(
  estimate: Estimate,
  attempts: readonly EndedAttempt[],
  counted: number | null,
): Amounts | null {
  const reached = attempts.filter(({ failure }) => failure === null || hasReachedProvider(failure));
  if (reached.length === 0) return null;
  const costly = reached.filter(({ failure, status }) => failure === null || status === null || status < 400);
  const answered = costly.some(({ failure }) => failure === null);
  const lost = costly.some(({ failure }) => failure !== null);
  const unknown = lost || (answered && counted === null);
  const told = believed(counted, estimate) ?? 0;
  const tokens = unknown ? Math.max(estimate.input, told) : told;
  let dearest = 0;
  let calls = 0;
  for (const { endpoint, calls: made } of costly) {
    dearest = Math.max(dearest, costOf(endpoint.price, tokens, 0, 0));
    calls += costOf(endpoint.price, 0, 0, made);
  }
  return { requests: 1, tokens, microUsd: Math.min(dearest + calls, LARGEST_COST) };
}

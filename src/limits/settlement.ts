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

/** How a request ended, as far as its use depends on it. */
export interface EndedRequest {
  /** The provider's answer is whole, or reports its own truncation. */
  readonly whole: boolean;
  /** In the order of trying. */
  readonly attempts: readonly EndedAttempt[];
  readonly usage: TokenUsage | null;
  /** The answer comes as a stream; otherwise in one piece, which is made before its first byte is sent. */
  readonly streamed: boolean;
  /** Characters of output of a stream, as far as the provider sent it; `null` for an answer in one piece. */
  readonly outputCharacters: number | null;
}

/** What a request is charged. */
export interface Used {
  readonly amounts: Amounts;
  /** Tokens of it were estimated, because the provider did not count them or its count cannot be. */
  readonly estimated: boolean;
}

/** Failures that the provider reported itself, with any status: it generated no answer. */
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

/** Characters of output for one token, in an answer without a count. English has four to five, code and other languages fewer. */
const CHARACTERS_PER_TOKEN = 3;

/** A count of output below one token for so many characters is one of the beginning of the answer, or none. The longest tokens have fewer. */
const MOST_CHARACTERS_PER_TOKEN = 64;

/**
 * What a request has used; `null` where it reached no provider, so that nothing of it counts.
 *
 * - A whole answer: what the provider counted; where it did not count, what was reserved. A stream whose count cannot be (no input, or far too little
 *   output for its characters) counts by its characters.
 * - A stream that was cut, by the provider, by the router or by the client: of its input what was counted or is likely; of its output what was
 *   counted or what its characters come to, whichever is more.
 * - An answer in one piece that did not come: what was reserved. Providers go on when the client has left, and charge for it.
 * - A call that the provider refused with an error status: nothing but the request.
 * - A call whose end is unknown, before another answered: its input.
 *
 * All input counts at the price of input, whether it came from a cache or not, and reasoning is output: the table has no other prices.
 */
export function usedBy(estimate: Estimate, ended: EndedRequest): Used | null {
  const reached = ended.attempts.filter(({ failure }) => failure === null || hasReachedProvider(failure));
  if (reached.length === 0) return null;
  if (estimate.requestsOnly) return { amounts: estimate.amounts, estimated: false };
  const carriedOut = reached.filter(({ failure, status }) => failure === null || status === null || status < 400);
  const last = carriedOut.at(-1);
  if (last === undefined) return { amounts: { requests: 1, tokens: 0, microUsd: 0 }, estimated: false };
  const counted = countedBy(estimate, ended.usage);
  const output = outputOf(estimate, ended, counted.output, last.failure);
  const input = counted.input ?? inputOf(estimate, ended);
  let tokens = 0;
  let microUsd = 0;
  for (const attempt of carriedOut) {
    const made = attempt === last ? output : 0;
    tokens += input + made;
    microUsd += costOf(attempt.endpoint.price, input, made, attempt.calls);
  }
  const estimated = input !== counted.input || output !== counted.output;
  return { amounts: { requests: 1, tokens, microUsd: Math.min(microUsd, LARGEST_COST) }, estimated };
}

/** Tokens that a provider counted; `null` where it did not. There is no request without input: a count of none counts nothing. */
function countedBy(
  estimate: Estimate,
  usage: TokenUsage | null,
): { readonly input: number | null; readonly output: number | null } {
  const input = believed(usage?.input ?? null, estimate);
  const output = believed(usage?.output ?? null, estimate);
  return { input: input === 0 ? null : input, output: input === 0 && output === 0 ? null : output };
}

function inputOf(estimate: Estimate, { whole, streamed, outputCharacters }: EndedRequest): number {
  const isCut = streamed && !whole;
  return isCut || (outputCharacters ?? 0) > 0 ? estimate.likelyInput() : estimate.input;
}

/** Millionths of a US dollar: beyond this, sums of many requests would not be exact. */
const LARGEST_COST = 2 ** 45;

/** What a provider says that it counted, within what can be: one wrong figure must not use up every budget, nor be one that cannot be stored. */
function believed(counted: number | null, { most }: Estimate): number | null {
  return counted === null || Number.isNaN(counted) ? null : Math.min(Math.max(0, Math.ceil(counted)), most);
}

function outputOf(
  estimate: Estimate,
  { whole, outputCharacters, streamed }: EndedRequest,
  counted: number | null,
  failure: FailureKind | null,
): number {
  const characters = outputCharacters ?? 0;
  const likely = Math.min(estimate.output, Math.ceil(characters / CHARACTERS_PER_TOKEN));
  const isMade = whole || (!streamed && (failure === null || !TOLD.has(failure)));
  // What a provider counted before a cut is often only the beginning.
  if (!isMade || (counted !== null && counted * MOST_CHARACTERS_PER_TOKEN < characters))
    return Math.max(counted ?? 0, likely);
  return counted ?? estimate.output;
}

/**
 * The same for a request that was sent in parts, whose answers are not cut: tokens are those of the parts that were answered, at the dearest price of
 * the calls that were answered; the estimate where one did not count, or where calls failed.
 *
 * @param counted tokens; `null` where no provider counted.
 */
export function usedByParts(
  estimate: Estimate,
  attempts: readonly EndedAttempt[],
  counted: number | null,
): Used | null {
  const reached = attempts.filter(({ failure }) => failure === null || hasReachedProvider(failure));
  if (reached.length === 0) return null;
  const costly = reached.filter(({ failure, status }) => failure === null || status === null || status < 400);
  const answered = costly.some(({ failure }) => failure === null);
  const lost = costly.some(({ failure }) => failure !== null);
  // No text has no tokens: a count of none counts nothing.
  const reported = believed(counted === 0 ? null : counted, estimate);
  const estimated = !estimate.requestsOnly && (lost || (answered && reported === null));
  const tokens = estimated ? Math.max(estimate.input, reported ?? 0) : (reported ?? 0);
  // A part counts once, however often it was tried, as a request does that is answered in one piece; parts that were never sent count nothing.
  const made = reached.reduce((sum, attempt) => sum + attempt.calls, 0);
  const requests = Math.min(estimate.amounts.requests, made);
  let dearest = 0;
  let calls = 0;
  for (const { endpoint, calls: sent } of costly) {
    dearest = Math.max(dearest, costOf(endpoint.price, tokens, 0, 0));
    calls += costOf(endpoint.price, 0, 0, sent);
  }
  return { amounts: { requests, tokens, microUsd: Math.min(dearest + calls, LARGEST_COST) }, estimated };
}

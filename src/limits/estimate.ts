import type { BodyReader } from "../canon/body-reader.ts";
import type { Capability } from "../canon/capability.ts";
import type { RequestEdits } from "../canon/decision.ts";
import type { JsonObject } from "../canon/json.ts";
import type { Operation } from "../canon/operation.ts";
import { largestOutput } from "../canon/largest-output.ts";
import type { EndpointRow, ModelRow, Price } from "../canon/table.ts";
import type { Amounts } from "./accounts.ts";
import { hasReachedProvider, type FailureKind } from "../canon/failure.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";

/** What the most that a request may use is made from. */
export interface EstimatedRequest {
  readonly operation: Operation;
  /** In the caller's protocol, which `reader` reads. */
  readonly body: JsonObject;
  readonly reader: BodyReader;
  /** Size of the body as it arrived. */
  readonly bytes: number;
  readonly needs: readonly Capability[];
  readonly edits: RequestEdits;
  /** Calls that the request is cut into; at least 1. Each counts as a request: a batch in forty parts is forty calls to a provider. */
  readonly calls: number;
}

export interface EstimatedCandidate {
  readonly endpoint: EndpointRow;
  readonly model: ModelRow | undefined;
}

export interface Estimate {
  /** The reservation: never less than the request uses, as far as the request and the table show. */
  readonly amounts: Amounts;
  /** Tokens of `amounts`; the largest over all candidates. */
  readonly input: number;
  readonly output: number;
  /** Tokens of the input as they are likely to be counted, at most `input`. Computed at its first use. */
  readonly likelyInput: () => number;
  /** More tokens than a provider may be believed to have counted. */
  readonly most: number;
  /** Counts requests and nothing else: nothing is generated or read by a model. */
  readonly requestsOnly: boolean;
}

/** How many times the window and the output of a model a provider is believed to have counted: its own tools may read and write again and again. */
const BELIEVED = 16;

/** Bounds of what is believed, tokens: sums of such counts and their prices are far below 2^53. */
const LEAST_MOST = 2 ** 20;
const LARGEST_MOST = 2 ** 40;

const NOTHING_READ = { requests: 1, tokens: 0, microUsd: 0 };

/**
 * The most that a request may use, wherever it goes: never too little as far as the request and the table tell. A token is at least one byte of
 * the body; of what has no bytes there the surface's reader adds an allowance. Where there is a context window, no more than that can be read for one prompt.
 */
export function estimateRequest(request: EstimatedRequest, candidates: readonly EstimatedCandidate[]): Estimate {
  if (request.operation === "messages.count_tokens") {
    return { amounts: NOTHING_READ, input: 0, output: 0, likelyInput: () => 0, most: 0, requestsOnly: true };
  }
  const generates = OUTPUTS.has(request.operation);
  const { body, reader, needs } = request;
  const bound = request.bytes + reader.inputAllowance(body, needs);
  const limit = generates ? outputLimit(request) : 0;
  const prompts = reader.prompts(body);
  const choices = generates ? prompts * reader.choices(body) : 0;
  let tokens = 0;
  let microUsd = 0;
  let [input, output, most] = [0, 0, LEAST_MOST];
  for (const { endpoint, model } of candidates) {
    const read = generates ? Math.min(bound, prompts * (model?.contextWindow ?? bound)) : bound;
    const made = choices * Math.min(limit ?? Number.MAX_SAFE_INTEGER, largestOutput(model));
    tokens = Math.max(tokens, read + made);
    microUsd = Math.max(microUsd, costOf(endpoint.price, read, made, request.calls));
    input = Math.max(input, read);
    output = Math.max(output, made);
    most = Math.max(most, BELIEVED * (Math.max(read, prompts * (model?.contextWindow ?? 0)) + made));
  }
  most = Math.min(most, LARGEST_MOST);
  const amounts = { requests: request.calls, tokens, microUsd };
  return {
    amounts,
    input,
    output,
    likelyInput: () => Math.min(input, reader.likelyInput(body, needs)),
    most,
    requestsOnly: false,
  };
}

/** Millionths of a US dollar, rounded up; nothing for an endpoint without a price. */
export function costOf(price: Price | null, input: number, output: number, calls: number): number {
  if (price === null) return 0;
  // Dollars per million tokens are millionths of a dollar per token.
  const exact = input * price.input + output * price.output + calls * price.request * 1_000_000;
  // Mostly a whole number: writing it out to find that costs more than all the rest of an estimate.
  return Number.isInteger(exact) ? exact : Math.ceil(Number(exact.toFixed(6)));
}

const OUTPUTS: ReadonlySet<Operation> = new Set(["chat.completions", "completions", "responses", "messages"]);

/** The most that the request and a policy allow, tokens; `null` where neither has a limit. */
function outputLimit({ body, reader, edits }: EstimatedRequest): number | null {
  const own = reader.outputLimit(body);
  if (edits.maxOutputTokens === null) return own;
  return own === null ? edits.maxOutputTokens : Math.min(own, edits.maxOutputTokens);
}

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

import type { BodyReader } from "../canon/request.ts";
import type { Capability } from "../canon/capability.ts";
import { type RequestEdits, largestOutput } from "../canon/decision.ts";
import type { JsonObject } from "../canon/json.ts";
import type { Operation } from "../canon/operation.ts";
import type { EndpointRow, ModelRow, Price } from "../canon/table.ts";
import type { Amounts } from "./accounts.ts";
import { hasReachedProvider, hasTrait, type FailureKind } from "../canon/failure.ts";
import {
  carriedOut,
  inputOfParts,
  NANO_PER_MICRO,
  TOKENS_PER_SEARCH,
  type AnsweredPart,
  type EndedAttempt,
  type EndedRequest,
  type UsageBounds,
} from "./cost.ts";

/** Inputs of a request's upper bound. */
export interface EstimatedRequest {
  readonly operation: Operation;
  /** In the caller's protocol, which `reader` reads. */
  readonly body: JsonObject;
  readonly reader: BodyReader;
  /** Size of the body as it arrived. */
  readonly bytes: number;
  readonly needs: readonly Capability[];
  readonly edits: RequestEdits;
  /**
   * Calls that the request is cut into; at least 1. Each counts as a request: a batch in forty
   * parts is forty calls to a provider.
   */
  readonly calls: number;
}

interface EstimatedCandidate {
  readonly endpoint: EndpointRow;
  readonly model: ModelRow | undefined;
}

export interface Estimate {
  /**
   * The reservation: never less than the request uses, as far as the request and the table show.
   */
  readonly amounts: Amounts;
  /** Tokens of `amounts`; the largest over all candidates. */
  readonly input: number;
  readonly output: number;
  /**
   * Tokens of the input as they are likely to be counted, at most `input`. Computed at its first
   * use.
   */
  readonly likelyInput: () => number;
  /** Bounds of the provider's counts. */
  readonly bounds: UsageBounds;
}

/**
 * How many times its estimate a count may be without a bound that is stated, and how many times the
 * stated ones where a provider's own tools read and write again and again.
 */
const PLAUSIBLE_FACTOR = 16;

/**
 * Tokens of input that providers may add to any prompt: instructions of their own, descriptions of
 * tools.
 */
const ADDED_INPUT = 2 ** 17;

/** Tokens: sums of such counts and their prices are far below 2^53. */
const LARGEST_COUNT = 2 ** 40;

const REPEATING: ReadonlySet<Capability> = new Set([
  "web_search",
  "file_search",
  "code_execution",
  "computer_use",
  "mcp",
]);

/**
 * The most that a request may use at any candidate: never too little by the request and the table.
 * A token is at least one byte of the body; for input without bytes there the surface's reader adds
 * an allowance. One prompt cannot be longer than the context window.
 */
export function estimateRequest(
  request: EstimatedRequest,
  candidates: readonly EstimatedCandidate[],
): Estimate {
  const generates = OUTPUTS.has(request.operation);
  const { body, reader, needs } = request;
  const bound = request.bytes + reader.inputAllowance(body, needs);
  const limit = outputLimit(request) ?? Infinity;
  const prompts = Math.max(1, reader.prompts(body));
  const choices = generates ? prompts * reader.choices(body) : 0;
  let tokens = 0;
  let microUsd = 0;
  let [input, output] = [0, 0];
  const most = { input: 0, output: 0, reasonedOutput: 0, sum: 0 };
  const rounds = needs.some((need) => REPEATING.has(need)) ? PLAUSIBLE_FACTOR : 1;
  for (const { endpoint, model } of candidates) {
    const window = generates ? (model?.contextWindow ?? null) : null;
    const read = Math.min(bound, prompts * (window ?? Infinity));
    const generated = choices * Math.min(limit, largestOutput(model));
    tokens = Math.max(tokens, read + generated);
    microUsd = Math.max(microUsd, costOf(endpoint.price, read, generated, request.calls));
    input = Math.max(input, read);
    output = Math.max(output, generated);
    const stated = rounds * (window ?? Infinity);
    const largest =
      largestOutput(model) *
      (window === null && (model?.maxOutputTokens ?? null) === null ? PLAUSIBLE_FACTOR : 1);
    const added = Math.max(
      ADDED_INPUT,
      PLAUSIBLE_FACTOR * bound,
      rounds === 1 ? 0 : prompts * rounds * (window ?? ADDED_INPUT),
    );
    raise(most, {
      input: Math.min(prompts * stated, added),
      output: choices * rounds * Math.min(limit, largest),
      reasonedOutput: choices * rounds * largest,
      sum: Math.max(prompts, choices) * stated,
    });
  }
  const likelyInput = () => Math.min(input, reader.likelyInput(body, needs));
  const { operation, calls } = request;
  return {
    amounts:
      operation === "messages.count_tokens"
        ? ONE_REQUEST
        : { requests: calls, tokens, micro_usd: microUsd },
    input,
    output,
    likelyInput,
    bounds: { ...most, likelyInput, reservedOutput: output },
  };
}

type Counts = Omit<UsageBounds, "likelyInput" | "reservedOutput">;

function raise(most: { -readonly [Name in keyof Counts]: number }, other: Counts) {
  most.input = Math.min(LARGEST_COUNT, Math.max(most.input, other.input));
  most.output = Math.min(LARGEST_COUNT, Math.max(most.output, other.output));
  most.reasonedOutput = Math.min(
    LARGEST_COUNT,
    Math.max(most.reasonedOutput, other.reasonedOutput),
  );
  most.sum = Math.min(2 * LARGEST_COUNT, Math.max(most.sum, other.sum));
}

/**
 * Millionths of a US dollar, rounded up, at the dearest rate of input and of output; nothing for an
 * endpoint without a price. A rerank is billed for a search a call, and for one more for each
 * {@link TOKENS_PER_SEARCH}.
 */
export function costOf(price: Price | null, input: number, output: number, calls: number): number {
  if (price === null) return 0;
  const { cachedInput = 0, cacheWrite = 0, cacheWriteHour = 0, reasoning = 0, search = 0 } = price;
  const read = Math.max(price.input, cachedInput, cacheWrite, cacheWriteHour);
  const searches =
    search === 0 ? 0 : (calls + Math.floor(input / TOKENS_PER_SEARCH)) * search * 1_000;
  // Dollars per million tokens are millionths of a dollar per token.
  const exact =
    input * read +
    output * Math.max(price.output, reasoning) +
    calls * price.request * 1_000_000 +
    searches;
  // Mostly a whole number: writing it out to find that costs more than all the rest of an estimate.
  return Number.isInteger(exact) ? exact : Math.ceil(Number(exact.toFixed(6)));
}

const OUTPUTS: ReadonlySet<Operation> = new Set([
  "chat.completions",
  "completions",
  "responses",
  "messages",
]);

/** The most that the request and a policy allow, tokens; `null` where neither has a limit. */
function outputLimit({ body, reader, edits }: EstimatedRequest): number | null {
  const requested = reader.outputLimit(body);
  if (edits.maxOutputTokens === null) return requested;
  return requested === null ? edits.maxOutputTokens : Math.min(requested, edits.maxOutputTokens);
}

const ONE_REQUEST: Amounts = { requests: 1, tokens: 0, micro_usd: 0 };

/** A request's charge. */
export interface Used {
  readonly amounts: Amounts;
  /**
   * Tokens of it were estimated, because the provider did not count them or its count cannot be.
   */
  readonly estimated: boolean;
}

/**
 * Amounts that a request has used; `null` where it reached no provider, so that nothing counts.
 *
 * - Counts that are known. Unknown ones of a whole answer, and of one in one piece that did not
 *   come, as they were reserved: providers continue when the client has left, and charge for it.
 * - A call that the provider refused with an error status: nothing but the request.
 * - A call whose end is unknown, before another answered: its input.
 *
 * Money is the cost that the evidence has, rounded up. Where that is unknown it is estimated by
 * these tokens, at the dearest rate of input and of output.
 *
 * @param ended with the counts of `plausibleUsage`. @param cost of {@link reportedCost}
 */
export function usedBy(
  estimate: Estimate,
  ended: EndedRequest,
  cost: number | null | undefined,
): Used | null {
  const reached = ended.attempts.filter(
    ({ failure }) => failure === null || hasReachedProvider(failure),
  );
  if (reached.length === 0) return null;
  const calls = carriedOut(reached);
  const last = calls.at(-1);
  if (last === undefined || ended.countsOnly) return { amounts: ONE_REQUEST, estimated: false };
  const { usage, whole, outputCharacters } = ended;
  const output = usage?.output ?? unknownOutput(estimate, whole, last.failure);
  const input =
    usage?.input ?? ((outputCharacters ?? 0) > 0 ? estimate.likelyInput() : estimate.input);
  let tokens = 0;
  let microUsd = 0;
  for (const attempt of calls) {
    const outputTokens = attempt === last ? output : 0;
    tokens += input + outputTokens;
    microUsd += costOf(attempt.endpoint.price, input, outputTokens, attempt.calls);
  }
  const estimated = input !== usage?.input || output !== usage.output;
  return { amounts: { requests: 1, tokens, micro_usd: moneyOf(cost, microUsd) }, estimated };
}

/** Millionths of a US dollar. */
function moneyOf(cost: number | null | undefined, estimate: number) {
  return cost == null ? Math.min(estimate, LARGEST_COST) : Math.ceil(cost / NANO_PER_MICRO);
}

/** Millionths of a US dollar: beyond this, sums of many requests would not be exact. */
const LARGEST_COST = 2 ** 45;

function unknownOutput(estimate: Estimate, whole: boolean, failure: FailureKind | null) {
  return whole || failure === null || !hasTrait(failure, "reported") ? estimate.output : 0;
}

/**
 * The same for a request that was sent in parts, whose answers are not cut: tokens are those of the
 * parts that were answered, at the dearest price of the calls that were answered; the estimate
 * where one did not count, or where calls failed.
 *
 * @param answeredParts of {@link plausibleParts}. @param cost of {@link reportedCostOfParts}
 */
export function usedByParts(
  estimate: Estimate,
  attempts: readonly EndedAttempt[],
  answeredParts: readonly AnsweredPart[],
  cost: number | null | undefined,
): Used | null {
  const reached = attempts.filter(({ failure }) => failure === null || hasReachedProvider(failure));
  if (reached.length === 0) return null;
  const costly = carriedOut(reached);
  const hasAnswer = costly.some(({ failure }) => failure === null);
  const hasFailure = costly.some(({ failure }) => failure !== null);
  // No text has no tokens: a count of none counts nothing.
  const inputTokens = inputOfParts(answeredParts) ?? 0;
  const estimated = hasFailure || (hasAnswer && inputTokens === 0);
  const tokens = estimated ? Math.max(estimate.input, inputTokens) : inputTokens;
  // A part counts once, however often it was tried, as a request does that is answered in one
  // piece; parts that were never sent count nothing.
  const reachedCalls = reached.reduce((sum, attempt) => sum + attempt.calls, 0);
  const requests = Math.min(estimate.amounts.requests, reachedCalls);
  let dearest = 0;
  let calls = 0;
  for (const { endpoint, calls: callCount } of costly) {
    dearest = Math.max(dearest, costOf(endpoint.price, tokens, 0, 0));
    calls += costOf(endpoint.price, 0, 0, callCount);
  }
  return { amounts: { requests, tokens, micro_usd: moneyOf(cost, dearest + calls) }, estimated };
}

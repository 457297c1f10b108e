import { hasReachedProvider, type FailureKind } from "../canon/failure.ts";
import type { TokenUsage } from "../canon/generate/event.ts";
import type { EndpointRow, Price } from "../canon/table.ts";

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
  /** Nothing is generated: the provider only counts tokens, and charges nothing for it. */
  readonly countsOnly: boolean;
  /** The provider's answer is whole, or reports its own truncation. */
  readonly whole: boolean;
  /** In the order of trying. */
  readonly attempts: readonly EndedAttempt[];
  readonly usage: TokenUsage | null;
  /**
   * The answer comes as a stream; otherwise in one piece, which is made before its first byte is
   * sent.
   */
  readonly streamed: boolean;
  /**
   * Characters of output of a stream, as far as the provider sent it; `null` for an answer in one
   * piece.
   */
  readonly outputCharacters: number | null;
}

/** One part of a request, answered. */
export interface AnsweredPart {
  readonly endpoint: EndpointRow;
  /** `null` where the provider did not count. */
  readonly inputTokens: number | null;
  /**
   * Searches that the provider bills for a rerank; `null` where it did not count, 0 for other
   * parts.
   */
  readonly searches: number | null;
}

/** A request's counts and cost. */
export interface Settlement {
  /** Tokens of it were estimated, for the evidence or for the limits. */
  readonly estimated: boolean;
  /** Billionths of a US dollar; `null`: unknown. `undefined`: no provider carried out a call. */
  readonly cost: number | null | undefined;
}

/** Counts of one call, as the provider reported them; `null` where it did not. */
interface BilledUse extends Pick<TokenUsage, "input" | "output" | "cacheWriteHour"> {
  readonly cacheRead?: number | null;
  readonly cacheWrite?: number | null;
  readonly reasoning?: number | null;
  /** Absent: a call of another kind. */
  readonly searches?: number | null;
}

/** Billionths of a US dollar in a millionth, the unit of budgets. */
export const NANO_PER_MICRO = 1_000;

/**
 * Billionths of a US dollar: about 4.5 million dollars. A larger cost can only come from a wrong
 * count.
 */
const LARGEST_COST = 2 ** 52;

/** Tokens, or searches: a larger count is wrong. */
const LARGEST_COUNT = 2 ** 40;

/**
 * Tokens of input beyond which a rerank is billed for another search: providers bill 100 pieces of
 * 500 tokens as one.
 */
export const TOKENS_PER_SEARCH = 50_000;

/**
 * Characters of output for one token, in an answer without a count. English has four to five, code
 * and other languages fewer.
 */
const CHARACTERS_PER_TOKEN = 3;

/**
 * A count of output below one token for so many characters is one of the beginning of the answer,
 * or none. The longest tokens have fewer.
 */
const MOST_CHARACTERS_PER_TOKEN = 64;

/**
 * Cost of the counts of a call at a price, without the charge for the call itself. A rate that
 * the price lacks is the rate it is a part of: cached input costs as much as input.
 *
 * @returns billionths of a US dollar; `null`, and never 0, where the price or a count that it needs
 * is unknown.
 */
export function costOfUse(price: Price | null, use: BilledUse): number | null {
  if (price === null) return null;
  const input = costOfInput(price, use);
  const output = costOfOutput(price, use);
  const searches = costOfSearches(price, use);
  if (input === null || output === null || searches === null) return null;
  // Dollars per million tokens are millionths of a dollar per token; dollars per thousand searches
  // are thousandths per search.
  const nano = Math.round((input + output) * NANO_PER_MICRO + searches * 1_000_000);
  return nano > LARGEST_COST ? null : nano;
}

/** Billionths of a US dollar that so many calls cost, besides their counts. */
function costOfCalls(price: Price | null, calls: number) {
  return price === null ? null : Math.round(price.request * calls * 1_000_000_000);
}

function costOfInput(
  price: Price,
  { input, cacheRead, cacheWrite, cacheWriteHour }: BilledUse,
): number | null {
  const { cachedInput = price.input, cacheWrite: cacheWritePrice = price.input } = price;
  const { cacheWriteHour: writtenForAnHour = cacheWritePrice } = price;
  if (price.input + cachedInput + cacheWritePrice + writtenForAnHour === 0) return 0;
  // There is no request without input: a count of none counts nothing.
  if (!isCount(input) || input === 0) return null;
  const read = Math.min(cacheRead ?? 0, input);
  const write = Math.min(cacheWrite ?? 0, input - read);
  const hour = Math.min(cacheWriteHour ?? 0, write);
  return (
    (input - read - write) * price.input +
    read * cachedInput +
    (write - hour) * cacheWritePrice +
    hour * writtenForAnHour
  );
}

function costOfOutput(price: Price, { output, reasoning }: BilledUse): number | null {
  const { reasoning: reasoned = price.output } = price;
  if (price.output + reasoned === 0) return 0;
  if (!isCount(output)) return null;
  const thought = Math.min(reasoning ?? 0, output);
  return (output - thought) * price.output + thought * reasoned;
}

function costOfSearches({ search = 0 }: Price, { searches = 0 }: BilledUse): number | null {
  if (search === 0) return 0;
  return isCount(searches) ? search * searches : null;
}

function isCount(count: number | null): count is number {
  return count !== null && count >= 0 && count <= LARGEST_COUNT;
}

/** Calls that a provider carried out, or may have: it did not answer with an error status. */
export function carriedOut(attempts: readonly EndedAttempt[]): readonly EndedAttempt[] {
  return attempts.filter(
    ({ failure, status }) =>
      failure === null || (hasReachedProvider(failure) && (status === null || status < 400)),
  );
}

/**
 * Cost of a request by its counts at its end (`plausibleUsage`). An earlier call whose end is
 * unknown counts with the input of the one that answered.
 *
 * @returns billionths of a US dollar; `null` where the price or a count is unknown, `undefined`
 * where no provider carried out a call.
 */
export function reportedCost(ended: EndedRequest): number | null | undefined {
  const calls = carriedOut(ended.attempts);
  const last = calls.at(-1);
  if (last === undefined) return undefined;
  if (ended.countsOnly) return 0;
  const { usage } = ended;
  let sum = 0;
  for (const call of calls) {
    const cost = addCosts(
      costOfUse(
        call.endpoint.price,
        call === last ? (usage ?? UNKNOWN_USAGE) : { input: usage?.input ?? null, output: 0 },
      ),
      costOfCalls(call.endpoint.price, call.calls),
    );
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}

/**
 * The largest counts that can be right for a request at one endpoint, tokens, and the estimates
 * that replace larger ones.
 */
export interface UsageBounds {
  readonly input: number;
  /**
   * Of an answer without reported reasoning: some providers do not count reasoning against the
   * request's maximum.
   */
  readonly output: number;
  readonly reasonedOutput: number;
  /** Of input and output together. */
  readonly sum: number;
  readonly likelyInput: () => number;
  /** The most that the request is expected to generate. */
  readonly reservedOutput: number;
}

/**
 * The counts of a request at its end, completed, failed or cancelled: evidence, spend, metrics and
 * budgets all use these.
 *
 * A count beyond its bound is wrong, and so is one of output that is too low for the characters of
 * the stream: the estimate replaces it. Parts that are larger than their whole (cached input,
 * reasoning) are unknown. Of a stream that was cut, the estimate also replaces missing counts.
 *
 * @returns `usage` itself where nothing of it had to be changed.
 */
export function plausibleUsage(
  {
    usage: reported,
    whole,
    streamed,
    attempts,
    outputCharacters,
  }: Omit<EndedRequest, "countsOnly">,
  bounds: UsageBounds,
): TokenUsage | null {
  const isCut = streamed && !whole && carriedOut(attempts).length > 0;
  const isUncounted =
    reported === null || (reported.input === 0 && reported.output === 0 && !outputCharacters);
  if (isUncounted && !isCut) return null;
  const usage = reported ?? UNKNOWN_USAGE;
  // There is no request without input, so a count of none is wrong.
  const needsLikelyInput =
    usage.input === null ? isCut : usage.input === 0 || usage.input > bounds.input;
  const input = needsLikelyInput ? bounds.likelyInput() : usage.input;
  const limit = (usage.reasoning ?? 0) > 0 ? bounds.reasonedOutput : bounds.output;
  const most = Math.max(0, Math.min(limit, bounds.sum - (input ?? 0)));
  const output = likelyOutput(usage.output, isCut, outputCharacters, most, bounds.reservedOutput);
  const cacheRead = partOf(usage.cacheRead, input ?? bounds.input);
  const cacheWrite = partOf(usage.cacheWrite, (input ?? bounds.input) - (cacheRead ?? 0));
  const reasoning = partOf(usage.reasoning, output ?? bounds.reasonedOutput);
  const isUnchanged =
    input === usage.input &&
    output === usage.output &&
    cacheRead === usage.cacheRead &&
    cacheWrite === usage.cacheWrite &&
    reasoning === usage.reasoning;
  return isUnchanged ? usage : { ...usage, input, output, cacheRead, cacheWrite, reasoning };
}

function partOf(count: number | null, whole: number) {
  return count !== null && count > whole ? null : count;
}

function likelyOutput(
  count: number | null,
  isCut: boolean,
  outputCharacters: number | null,
  most: number,
  reserved: number,
): number | null {
  if (!isCut && count === null) return null;
  const characters = outputCharacters ?? 0;
  const likely = Math.min(most, reserved, Math.ceil(characters / CHARACTERS_PER_TOKEN));
  if (count !== null && count > most)
    return outputCharacters === null ? Math.min(most, reserved) : likely;
  const tokens = count ?? 0;
  const isPlausible =
    tokens >= characters / (isCut ? CHARACTERS_PER_TOKEN : MOST_CHARACTERS_PER_TOKEN);
  return isPlausible ? tokens : Math.max(tokens, likely);
}

const UNKNOWN_USAGE: TokenUsage = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  reasoning: null,
};

/** Tokens of the smallest piece of text that providers bill as a document of a search. */
const SEARCHED_PIECE = 500;

/**
 * The same for the answered parts of a request: counts beyond the bounds of the whole request are
 * replaced by shares of its estimate.
 */
export function plausibleParts(
  answeredParts: readonly AnsweredPart[],
  { input: most, likelyInput }: Pick<UsageBounds, "input" | "likelyInput">,
): readonly AnsweredPart[] {
  const needsLikelyInput = (inputOfParts(answeredParts) ?? 0) > most;
  const exceedsSearches = answeredParts.some(
    ({ searches }) => (searches ?? 0) > 1 + most / SEARCHED_PIECE,
  );
  if (!needsLikelyInput && !exceedsSearches) return answeredParts;
  return answeredParts.map((part) => ({
    ...part,
    ...(needsLikelyInput ? { inputTokens: Math.ceil(likelyInput() / answeredParts.length) } : {}),
    ...(exceedsSearches ? { searches: 1 + Math.floor(likelyInput() / TOKENS_PER_SEARCH) } : {}),
  }));
}

/** Tokens; `null` where a provider did not count, or no part was answered. */
export function inputOfParts(answeredParts: readonly AnsweredPart[]): number | null {
  return answeredParts.reduce<number | null>(
    (sum, { inputTokens }) => addCosts(sum, inputTokens),
    answeredParts.length === 0 ? null : 0,
  );
}

const PART_NOT_COUNTED: BilledUse = { input: null, output: 0, searches: null };

/**
 * The same for a request that was sent in parts: each answered part at the price of the endpoint
 * that answered it.
 *
 * @returns as {@link reportedCost}
 */
export function reportedCostOfParts(
  attempts: readonly EndedAttempt[],
  answeredParts: readonly AnsweredPart[],
): number | null | undefined {
  const calls = carriedOut(attempts);
  if (calls.length === 0) return undefined;
  let sum: number | null = 0;
  for (const { endpoint, inputTokens, searches } of answeredParts) {
    sum = addCosts(sum, costOfUse(endpoint.price, { input: inputTokens, output: 0, searches }));
  }
  for (const { endpoint, calls: count, failure } of calls) {
    sum = addCosts(sum, costOfCalls(endpoint.price, count));
    const answeredHere = answeredParts.filter((part) => part.endpoint === endpoint).length;
    // The charge for a lost call, or for an answer that was thrown away, is unknown, unless the
    // endpoint charges nothing.
    if (failure !== null || answeredHere < count)
      sum = addCosts(sum, costOfUse(endpoint.price, PART_NOT_COUNTED));
  }
  return sum;
}

function addCosts(left: number | null, right: number | null) {
  return left === null || right === null ? null : left + right;
}

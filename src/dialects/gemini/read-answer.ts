import type { UpstreamFailure } from "../../canon/failure.ts";
import type {
  Citation,
  FinishReason,
  TokenLogprob,
  TokenUsage,
} from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { finishFailure, finishReason as readFinish, namedMember } from "../answer-ends.ts";
import { AnswerEvents, countedTokens, failedAnswer } from "../answer-events.ts";
import type { Target, Upstream } from "../dialect.ts";
import {
  listOf,
  memberIn,
  numberOrNull,
  ownValue,
  parseAnswerBytes,
  parseExactJsonText,
  parseJsonBytes,
  readCount,
  textOf,
  textOrNull,
} from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";
import { SseEventParser } from "../sse.ts";
import { markSignature, type SignedPart } from "./signatures.ts";

/** A whole answer, or the answer to a count, as the events of a stream of it. */
export const parseGeminiAnswer: Upstream["parseAnswer"] = (
  bytes,
  request,
  target,
  answerId = "",
) => {
  const answer = parseJsonBytes(bytes);
  const error = errorOf(answer);
  if (error !== null) return failedAnswer(readErrorFrame(error));
  if (!isJsonObject(answer)) return failedAnswer("malformed");
  if (request.purpose === "count") {
    return countedTokens(readCount(answer.totalTokens), readCount(answer.cachedContentTokenCount));
  }
  const reader = new AnswerReader(request, target, answerId);
  reader.take(answer);
  const hasCandidates = Array.isArray(answer.candidates) && answer.candidates.length > 0;
  if (!reader.conclude()) reader.fail("malformed", hasCandidates ? "unknown_finish_reason" : null);
  return reader.drain();
};

export const parseGeminiStream: Upstream["parseStream"] = (request, target, answerId = "") =>
  new SseEventParser(new AnswerReader(request, target, answerId));

/** Signatures have blocks of their own, so that none is attached to a thought before its part. */
const SIGNATURE_BLOCK = "signature";

/** Reads the pieces of an answer; a whole answer is one piece. */
class AnswerReader extends AnswerEvents {
  readonly #wantsLogprobs: boolean;
  /** Our id of the answer, for calls without an id in an answer without one. */
  readonly #answerId: string;
  readonly #usedIds = new Set<string>();
  #hasStarted = false;
  #calls = 0;
  /** The open block, or the last one, is text that may still be cited. */
  #inText = false;
  #usage: TokenUsage | null = null;
  /** Calls with an id, as JSON. */
  readonly #seenCalls = new Set<string>();
  #ending: FinishReason | UpstreamFailure | null = null;

  constructor(request: GenerateRequest, target: Target, answerId: string) {
    super(target.model.signatureFamily);
    this.#answerId = answerId;
    this.#wantsLogprobs = request.logprobs !== null;
  }

  /**
   * Reads an event of a stream of generateContent. There is no mark at its end: the bytes end,
   * after a finish reason of a whole answer.
   */
  readEvent(data: string): void {
    // Arguments of calls are JSON and are sent on as JSON: a number keeps its digits.
    const piece = parseExactJsonText(data);
    const error = errorOf(piece);
    if (error !== null) this.fail(readErrorFrame(error));
    else if (isJsonObject(piece)) this.take(piece);
    // Other data after a proper end is ignored.
    else if (!this.conclude()) this.fail("malformed");
  }

  override endBytes(): void {
    if (!this.conclude()) super.endBytes();
  }

  take(piece: JsonObject): void {
    if (this.over) return;
    if (isJsonObject(piece.error)) return this.fail(readErrorFrame(piece.error));
    this.#begin(piece.modelVersion);
    this.#count(piece);
    const candidates = listOf(piece.candidates);
    const [candidate] = candidates;
    if (candidate === undefined) {
      // The prompt was refused before any answer, with status 200 (docs/protocols.md#gemini).
      const feedback = piece.promptFeedback;
      if (isJsonObject(feedback) && typeof feedback.blockReason === "string")
        this.#ending = "content_filter";
      return;
    }
    // Several answers are never requested, and none of them would be the caller's.
    const isSingleAnswer =
      candidates.length === 1 && isJsonObject(candidate) && (candidate.index ?? 0) === 0;
    if (!isSingleAnswer) return this.fail("malformed", "unexpected_output_item");
    this.#takeCandidate(candidate, piece.responseId);
  }

  #begin(model: JsonMember) {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.emit({ type: "start", model: textOrNull(model) });
  }

  /**
   * Counts are those of the whole answer so far, in every piece; only changed counts are reported.
   */
  #count(piece: JsonObject) {
    const usage = readUsage(piece.usageMetadata);
    if (usage === null || JSON.stringify(usage) === JSON.stringify(this.#usage)) return;
    this.#usage = usage;
    this.emit({ type: "usage", usage });
  }

  #takeCandidate(candidate: JsonObject, answerId: JsonMember) {
    const { content, finishReason } = candidate;
    const parts = memberIn(content, "parts");
    let logprobs = this.#wantsLogprobs ? readLogprobs(candidate.logprobsResult) : NO_LOGPROBS;
    for (const part of listOf(parts)) {
      if (this.#takePart(part, answerId, logprobs)) logprobs = NO_LOGPROBS;
      if (this.over) return;
    }
    this.#cite(candidate);
    this.flush();
    // The reason is 0 or absent in pieces that others follow, and servers give one before the last
    // piece too.
    if (finishReason == null || finishReason === "" || finishReason === 0) return;
    this.#ending = finishFailure(finishReason) ?? readFinish(finishReason) ?? "other";
  }

  /**
   * The bytes have ended: reports how the answer ended. @returns whether the provider had given a
   * reason.
   */
  conclude(): boolean {
    const ending = this.#ending;
    if (ending === null) return false;
    if (typeof ending === "string") this.finish(ending);
    else this.fail(ending);
    return true;
  }

  /** @returns whether the part was a text, which the piece's log probabilities belong to. */
  #takePart(part: JsonValue, answerId: JsonMember, logprobs: readonly TokenLogprob[]): boolean {
    if (!isJsonObject(part)) {
      this.fail("malformed");
      return false;
    }
    const { text, functionCall, thoughtSignature } = part;
    const signature = textOf(thoughtSignature);
    if (part.thought === true) {
      this.#addThought(textOf(text), signature);
    } else if (isJsonObject(functionCall)) {
      if (this.#isRepeated(functionCall)) return false;
      this.#signPart("call", signature);
      this.#call(functionCall, answerId);
    } else if (typeof text === "string" || isEmptyPart(part)) {
      return this.#addText(textOf(text), signature, logprobs);
    } else {
      // Images, code and calls of the provider's own tools, which no caller of another protocol can
      // request.
      this.fail("malformed", "unexpected_output_item");
    }
    return false;
  }

  /** Thoughts that are shown sum up the reasoning itself. */
  #addThought(text: string, signature: string) {
    this.blocks.reasoning(text, true);
    this.#inText = false;
    if (signature === "") return;
    this.sign(markSignature("thought", signature));
    this.blocks.close();
  }

  /**
   * Whether the same call came before: some streams end with all calls again
   * (https://github.com/allenhutchison/obsidian-gemini/issues/230).
   */
  #isRepeated({ id, name, args }: JsonObject): boolean {
    const call = JSON.stringify([id, name, args]);
    const isRepeated = textOf(id) !== "" && this.#seenCalls.has(call);
    this.#seenCalls.add(call);
    return isRepeated;
  }

  #call({ id, name, args, partialArgs, willContinue }: JsonObject, answerId: JsonMember): void {
    // Calls in pieces are never requested.
    if (partialArgs !== undefined || willContinue === true) {
      return this.fail("malformed", "unexpected_output_item");
    }
    if (typeof name !== "string" || name === "" || (args != null && !isJsonObject(args))) {
      return this.fail("malformed");
    }
    const key = String(this.#calls);
    this.#calls += 1;
    this.#inText = false;
    this.blocks.openTool(key, this.#callId(id, answerId), name);
    this.blocks.arguments(key, JSON.stringify(args ?? {}));
    this.blocks.close();
  }

  /**
   * The provider's id of a call; most models have none.
   *
   * @param answer the provider's id of the answer. Not every server sends one, and without any the
   *   calls of two turns would have the same ids.
   */
  #callId(sentId: JsonMember, answer: JsonMember): string {
    let id = textOf(sentId);
    const answerId = typeof answer === "string" && PLAIN_ID.test(answer) ? answer : this.#answerId;
    const prefix = answerId === "" ? "call_" : `call_${answerId}_`;
    for (let number = this.#usedIds.size; id === "" || this.#usedIds.has(id); number += 1)
      id = `${prefix}${number}`;
    this.#usedIds.add(id);
    return id;
  }

  #addText(text: string, signature: string, logprobs: readonly TokenLogprob[]): boolean {
    this.#signPart(text === "" ? "empty" : "text", signature);
    if (text === "") return false;
    this.blocks.text(text, logprobs);
    this.#inText = true;
    // The next part is not covered by the signature.
    if (signature !== "") this.blocks.close();
    return true;
  }

  #signPart(part: SignedPart, signature: string) {
    if (signature === "") return;
    this.sign(markSignature(part, signature), SIGNATURE_BLOCK);
    this.blocks.close();
    this.#inText = false;
  }

  #cite(candidate: JsonObject) {
    const { citations, complete } = readCitations(candidate);
    const hasPosition = this.#inText || citations.length === 0;
    if (!complete || !hasPosition) this.drop("citations_dropped");
    if (hasPosition) for (const citation of citations) this.blocks.citation(citation);
  }
}

const NO_LOGPROBS: readonly TokenLogprob[] = Object.freeze([]);

/** A part without content, except for its signature. */
function isEmptyPart(part: JsonObject) {
  return Object.keys(part).every((name) => name === "thoughtSignature" || name === "thought");
}

/**
 * Reads `logprobsResult`: the chosen tokens, and the alternatives of each. The protocol does not
 * give a token's bytes.
 */
function readLogprobs(result: JsonMember): readonly TokenLogprob[] {
  if (!isJsonObject(result)) return [];
  const alternatives = objectsOf(result.topCandidates).map((token) => objectsOf(token.candidates));
  return objectsOf(result.chosenCandidates).map((token, index) => ({
    ...readToken(token),
    top: (alternatives[index] ?? []).map(readToken),
  }));
}

/** Zero is left out on the wire: the token was certain. */
function readToken({ token, logProbability }: JsonObject) {
  return {
    token: textOf(token),
    logprob: numberOrNull(logProbability) ?? 0,
    bytes: null,
  };
}

function objectsOf(value: JsonMember): readonly JsonObject[] {
  return listOf(value).filter(isJsonObject);
}

/**
 * Reads `usageMetadata` (docs/protocols.md#gemini); `null` where it counts nothing. The prompt's
 * count includes cached tokens; tokens of the provider's own tools are counted beside it, and
 * thoughts beside the answer. Counts of zero are left out on the wire, so a missing output follows
 * from the total where there is one.
 */
function readUsage(metadata: JsonMember): TokenUsage | null {
  if (!isJsonObject(metadata)) return null;
  const prompt = readCount(metadata.promptTokenCount);
  const cacheRead = readCount(metadata.cachedContentTokenCount);
  const input =
    prompt === null ? null : prompt + (readCount(metadata.toolUsePromptTokenCount) ?? 0);
  const answer = readCount(metadata.candidatesTokenCount);
  const thoughts = readCount(metadata.thoughtsTokenCount);
  const output =
    answer === null
      ? remainder(readCount(metadata.totalTokenCount), input)
      : answer + (thoughts ?? 0);
  if (input === null && output === null && thoughts === null && cacheRead === null) return null;
  return { input, output, cacheRead, cacheWrite: null, reasoning: thoughts };
}

function remainder(total: number | null, input: number | null) {
  return total === null || input === null || total < input ? null : total - input;
}

/**
 * Ids of answers that may be part of our ids, which then have at most 40 characters, the limit of
 * some clients' stores.
 */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,30}$/;

/**
 * The sources that an answer repeats. Their positions count bytes of the whole answer, so they are
 * not reported. Sources of a search have marks of their own, which only callers of this protocol
 * can request. `complete`: nothing was left out.
 */
function readCitations({ citationMetadata, groundingMetadata }: JsonObject) {
  const isGrounded = isJsonObject(groundingMetadata) && Object.keys(groundingMetadata).length > 0;
  // One name in the Gemini API, another in Vertex AI.
  const sourceList =
    memberIn(citationMetadata, "citationSources") ?? memberIn(citationMetadata, "citations");
  const sources = objectsOf(sourceList);
  const citations = sources.flatMap(({ uri, title }): readonly Citation[] =>
    typeof uri === "string" && uri !== ""
      ? [{ url: uri, title: textOrNull(title), start: null, end: null }]
      : [],
  );
  return { citations, complete: !isGrounded && citations.length === sources.length };
}

/** The protocol's error codes (google.rpc.Code), and our codes for them. */
const CODES: Readonly<Record<string, string>> = {
  CANCELLED: "cancelled",
  UNKNOWN: "unknown",
  INVALID_ARGUMENT: "invalid_argument",
  DEADLINE_EXCEEDED: "deadline_exceeded",
  NOT_FOUND: "model_not_found",
  ALREADY_EXISTS: "already_exists",
  PERMISSION_DENIED: "permission_denied",
  UNAUTHENTICATED: "unauthenticated",
  RESOURCE_EXHAUSTED: "rate_limit_exceeded",
  FAILED_PRECONDITION: "failed_precondition",
  ABORTED: "aborted",
  OUT_OF_RANGE: "out_of_range",
  UNIMPLEMENTED: "unimplemented",
  INTERNAL: "internal",
  UNAVAILABLE: "unavailable",
  DATA_LOSS: "data_loss",
};

/** Reasons of a 400 that is about the router's key and not about the request. */
const KEY_REASONS = ["API_KEY_INVALID", "API_KEY_EXPIRED", "API_KEY_SERVICE_BLOCKED"];

/**
 * Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). The
 * provider's text is not kept.
 */
export function readGeminiError(status: number, bytes: Uint8Array): UpstreamFailure {
  const error = errorOf(parseAnswerBytes(bytes));
  const details = error === null ? [] : objectsOf(error.details);
  const isKeyError =
    status === 400 &&
    details.some(({ reason }) => typeof reason === "string" && KEY_REASONS.includes(reason));
  const failure = refusedAnswer(status, error ?? undefined, safeCode(error));
  const retryAfter = retryDelay(details);
  if (isKeyError) return { ...failure, retryAfter, kind: "auth", code: "api_key_invalid" };
  return { ...failure, retryAfter, ...violated(details) };
}

/** An error inside a stream, or in an answer with status 200. */
export function readErrorFrame(error: JsonMember): UpstreamFailure {
  return refusedFrame(error, safeCode(error));
}

/**
 * The error object of a body; streams that are requested as one JSON array have their error in one
 * as well.
 */
export function errorOf(body: JsonMember): JsonObject | null {
  const holder: JsonMember = Array.isArray(body) ? body[0] : body;
  const error = memberIn(holder, "error");
  return isJsonObject(error) ? error : null;
}

function safeCode(error: JsonMember) {
  return ownValue(CODES, textOf(memberIn(error, "status"))) ?? null;
}

/** `google.rpc.BadRequest`: the first member that is not as it should be. */
function violated(details: readonly JsonObject[]): { readonly param: string } | null {
  const [first] = details.flatMap(({ fieldViolations }) => objectsOf(fieldViolations));
  return namedMember(first?.field);
}

/** Longest accepted wait, seconds. */
const LONGEST_RETRY = 86_400;

/** `google.rpc.RetryInfo`: seconds with up to nine decimals and an `s`. */
function retryDelay(details: readonly JsonObject[]): number | null {
  for (const { retryDelay: delay } of details) {
    const match = typeof delay === "string" ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay) : null;
    const seconds = Number(match?.[1] ?? NaN);
    if (seconds <= LONGEST_RETRY) return Math.ceil(seconds * 1000);
  }
  return null;
}

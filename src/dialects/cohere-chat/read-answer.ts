import type { UpstreamFailure } from "../../canon/failure.ts";
import type { TokenLogprob, TokenUsage } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { answerFailure, finishFailure, finishReason } from "../answer-ends.ts";
import { AnswerEvents, type BlockSequencer } from "../answer-events.ts";
import type { Upstream } from "../dialect.ts";
import { countIn, listOf, parseAnswerBytes, parseJsonText, readCount } from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";
import { SseEventParser } from "../sse.ts";

const EMPTY: JsonObject = Object.freeze({});

export const parseCohereStream: Upstream["parseStream"] = (request) =>
  new SseEventParser(new MessageReader(request));

/** A whole answer as the events of a stream of it. */
export const parseCohereAnswer: Upstream["parseAnswer"] = (bytes, request) => {
  const reader = new MessageReader(request);
  const answer = parseAnswerBytes(bytes);
  const message = isJsonObject(answer) ? answer.message : null;
  if (!isJsonObject(answer)) reader.fail("malformed");
  else if (!isJsonObject(message)) reader.fail(failureOf(answer));
  else {
    reader.start();
    reader.takeMessage(message, answer.logprobs);
    reader.endMessage(answer);
  }
  return reader.drain();
};

function failureOf(object: JsonObject): ReturnType<typeof answerFailure> {
  return typeof object.message === "string" ? readErrorObject(object) : answerFailure("malformed");
}

function memberOf(object: JsonObject, name: string): JsonObject {
  const value: JsonMember = object[name];
  return isJsonObject(value) ? value : EMPTY;
}

/**
 * Reads a message piece by piece; streams and whole answers have the same values, so there is one
 * mapping.
 *
 * The plan before tool calls is reported as text. It is written for the reader ("I will look up the
 * weather"), also by models that do not reason. Every surface can carry text and sends it back in
 * the history, and no caller gets reasoning without approval.
 */
class MessageReader extends AnswerEvents {
  readonly #wantsLogprobs: boolean;
  readonly #calls = new CallReader(this.blocks);
  #started = false;
  /** Part of the content whose text may still be cited: the latest, until another block begins. */
  #text: number | null = null;

  constructor(request: GenerateRequest) {
    super();
    this.#wantsLogprobs = request.logprobs !== null;
  }

  /**
   * Reads an event of a stream (docs/protocols.md#cohere-chat). Only `message-end` completes the
   * answer; the `[DONE]` after it adds nothing.
   */
  readEvent(data: string, name: string | null): void {
    // The stream ended before the answer did.
    if (data === "[DONE]") return this.fail("truncated");
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.fail("malformed");
    const { type } = event;
    // An error has a message and no type.
    if (name === "error" || typeof type !== "string") return this.fail(failureOf(event));
    const index = typeof event.index === "number" ? event.index : 0;
    const delta = memberOf(event, "delta");
    const message = memberOf(delta, "message");
    // Events of other kinds, such as `debug`, are not part of the answer; unknown pieces are.
    switch (type) {
      case "message-start":
        return this.start();
      case "content-start":
        return this.#takePart(index, memberOf(message, "content"), NO_LOGPROBS);
      case "content-delta": {
        const logprobs = this.#wantsLogprobs ? readLogprobs(event.logprobs) : NO_LOGPROBS;
        return this.#addContent(index, memberOf(message, "content"), logprobs);
      }
      case "tool-plan-delta":
        return this.#addPlan(message.tool_plan);
      case "tool-call-start":
        return this.#openCall(index, message.tool_calls);
      case "tool-call-delta":
        return this.#addArguments(
          index,
          memberOf(memberOf(message, "tool_calls"), "function").arguments,
        );
      case "tool-call-end":
        return this.#closeCall(index);
      case "citation-start":
        return this.#cite(message.citations);
      case "message-end":
        return this.endMessage(delta);
    }
    if (type.endsWith("-delta") && this.#accepts()) this.drop("unknown_content_dropped");
  }

  /** The protocol's answers do not name their model. */
  start(): void {
    if (this.#started || this.over) return;
    this.#started = true;
    this.emit({ type: "start", model: null });
  }

  /** A whole message. */
  takeMessage(message: JsonObject, logprobs: JsonMember): void {
    const { content, tool_calls: calls, citations } = message;
    const parts: readonly JsonValue[] = listOf(content);
    const cited: readonly JsonValue[] = listOf(citations);
    const probabilities = this.#wantsLogprobs ? readLogprobs(logprobs) : NO_LOGPROBS;
    const first = parts.findIndex((part) => isJsonObject(part) && part.type === "text");
    for (const [index, part] of parts.entries()) {
      this.#takePart(index, isJsonObject(part) ? part : {}, probabilities);
      for (const citation of cited)
        if ((readCitation(citation).content ?? first) === index) this.#cite(citation);
    }
    if (first === -1 && cited.length > 0) this.drop("citations_dropped");
    this.#addPlan(message.tool_plan);
    for (const [index, call] of listOf(calls).entries()) {
      this.#openCall(index, call);
      this.#closeCall(index);
    }
  }

  #addPlan(plan: JsonMember): void {
    if (typeof plan !== "string" || plan === "" || !this.#accepts()) return;
    this.#text = null;
    this.blocks.text(plan, [], "plan");
  }

  #openCall(index: number, call: JsonMember): void {
    if (!this.#accepts()) return;
    this.#text = null;
    const failure = this.#calls.open(index, call);
    if (failure !== null) this.fail(failure);
  }

  #addArguments(index: number, json: JsonMember): void {
    if (typeof json !== "string" || !this.#accepts()) return;
    if (!this.#calls.add(index, json)) this.fail("malformed");
  }

  #closeCall(index: number): void {
    if (this.#accepts()) this.#calls.close(index);
  }

  #cite(value: JsonMember): void {
    if (!this.#accepts()) return;
    const { content, citations, incomplete } = readCitation(value);
    const text = this.#text;
    const hasPosition = text !== null && (content === null || content === text);
    if (incomplete || !hasPosition) this.drop("citations_dropped");
    if (hasPosition) for (const citation of citations) this.blocks.citation(citation, String(text));
  }

  /** The end of the answer: why it ended, and its usage. */
  endMessage({ finish_reason: value, error_type: type, usage: counts }: JsonObject): void {
    if (!this.#accepts()) return;
    const failure = finishFailure(value);
    const reason = finishReason(value);
    if (failure === null && reason !== null) this.blocks.closeAll();
    this.flush();
    const usage = readUsage(counts);
    if (usage !== null) this.emit({ type: "usage", usage });
    if (failure !== null) return this.fail({ ...failure, code: errorCode(type) ?? failure.code });
    if (reason === null) return this.fail("truncated");
    this.finish(reason);
  }

  #takePart(index: number, part: JsonObject, probabilities: ReadLogprobs): void {
    const { type, text } = part;
    if (type !== "text" && type !== "thinking") {
      return this.fail("malformed", "unexpected_output_item");
    }
    this.#addContent(
      index,
      part,
      typeof text === "string" ? logprobsOf(text, probabilities) : NO_LOGPROBS,
    );
  }

  #addContent(
    index: number,
    { text, thinking }: JsonObject,
    { logprobs, joined }: ReadLogprobs,
  ): void {
    if (!this.#accepts()) return;
    if (typeof thinking === "string" && thinking !== "") {
      this.#text = null;
      this.blocks.reasoning(thinking, false, String(index));
    }
    if (typeof text !== "string") return;
    this.#text = index;
    if (joined) this.drop("logprobs_coarser");
    this.blocks.text(text, logprobs, String(index));
  }

  /** Whether more pieces are accepted. A piece without the message's beginning is the beginning. */
  #accepts(): boolean {
    this.start();
    return !this.over;
  }
}

const NO_LOGPROBS: ReadLogprobs = Object.freeze({ logprobs: [], joined: false });

/** Our code for an `error_type` beside ERROR that helps a caller and reveals no content. */
function errorCode(type: JsonMember): string | null {
  return type === "INVALID_TOOL_GENERATION" ? "tool_use_failed" : null;
}

/**
 * The counts of an answer; `null` where it has none. `tokens` count the model's input and output;
 * `billed_units` exclude text that the provider adds to every prompt, so they are a price and not a
 * count. Cached tokens are part of the input, reasoning is part of the output.
 */
function readUsage(usage: JsonMember): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const { tokens } = usage;
  const counts: TokenUsage = {
    input: countIn(tokens, "input_tokens"),
    output: countIn(tokens, "output_tokens"),
    cacheRead: countIn(usage, "cached_tokens"),
    cacheWrite: null,
    reasoning: countIn(tokens, "reasoning_tokens"),
  };
  return Object.values(counts).every((count) => count === null) ? null : counts;
}

/** Log probabilities of a text, and whether some are of several tokens at once. */
interface ReadLogprobs {
  readonly logprobs: readonly TokenLogprob[];
  readonly joined: boolean;
}

/**
 * Entries of `logprobs`: each a piece of text with the numbers of the tokens that make it up. With
 * several tokens it is unknown which letters belong to which, so the sum of their logarithms is
 * reported for the piece.
 */
function readLogprobs(value: JsonMember): ReadLogprobs {
  const entries: readonly JsonValue[] = Array.isArray(value)
    ? value
    : isJsonObject(value)
      ? [value]
      : [];
  let joined = false;
  const logprobs = entries.flatMap((entry): readonly TokenLogprob[] => {
    const { text, logprobs: numbers } = isJsonObject(entry) ? entry : {};
    if (typeof text !== "string" || !Array.isArray(numbers)) return [];
    const known = numbers.filter((number) => typeof number === "number");
    if (known.length === 0 || known.length < numbers.length) return [];
    joined ||= known.length > 1;
    return [
      {
        token: text,
        logprob: known.reduce((sum, number) => sum + number, 0),
        bytes: null,
        top: [],
      },
    ];
  });
  return { logprobs, joined };
}

/**
 * The entries at the end of the list that make up the text: those of the reasoning may precede
 * them.
 */
function logprobsOf(text: string, { logprobs, joined }: ReadLogprobs): ReadLogprobs {
  let length = 0;
  let first = logprobs.length;
  while (first > 0 && length < text.length) {
    first -= 1;
    length += logprobs[first]?.token.length ?? 0;
  }
  const entries = logprobs.slice(first);
  return entries.map(({ token }) => token).join("") === text
    ? { logprobs: entries, joined }
    : { logprobs: [], joined: false };
}

interface Call {
  readonly key: string;
  /** Arguments that may still turn out to be the literal `null`. */
  pending: string;
  reported: boolean;
}

/** Puts tool calls together, which the protocol numbers. */
class CallReader {
  readonly #blocks: BlockSequencer;
  readonly #calls = new Map<number, Call>();
  readonly #open = new Set<number>();

  constructor(blocks: BlockSequencer) {
    this.#blocks = blocks;
  }

  /** @returns the failure of a malformed call; `null` for a sound one. */
  open(index: number, value: JsonMember): UpstreamFailure | null {
    const called = isJsonObject(value) ? value.function : null;
    if (!isJsonObject(value) || !isJsonObject(called))
      return answerFailure("malformed", "unexpected_output_item");
    const { id } = value;
    const { name, arguments: json } = called;
    if (
      typeof id !== "string" ||
      id === "" ||
      typeof name !== "string" ||
      name === "" ||
      this.#calls.has(index)
    ) {
      return answerFailure("malformed");
    }
    this.#calls.set(index, { key: String(index), pending: "", reported: false });
    this.#open.add(index);
    this.#blocks.openTool(String(index), id, name);
    if (typeof json === "string") this.add(index, json);
    return null;
  }

  /** @returns `false` where there is no such call. */
  add(index: number, json: string): boolean {
    const call = this.#calls.get(index);
    if (call === undefined) return false;
    if (call.reported) {
      this.#blocks.arguments(call.key, json);
      return true;
    }
    call.pending += json;
    // Some models write `null` for a call without arguments (recorded).
    if ("null".startsWith(call.pending.trim())) return true;
    call.reported = true;
    this.#blocks.arguments(call.key, call.pending);
    return true;
  }

  /** Calls usually come one after the other; otherwise the sequencer notices when each is whole. */
  close(index: number): void {
    if (this.#open.has(index) && this.#open.size === 1) this.#blocks.close();
    this.#open.delete(index);
  }
}

/**
 * Sources of one piece of text: one citation for each that has an address. Positions count code
 * points of one part's text, as canon's do (checked against recorded answers).
 *
 * `content` is the index of the part, `null` if the provider gives none; `incomplete`: some source
 * is a tool's result or a document without an address, or the citation is not of the answer's text.
 */
function readCitation(value: JsonMember) {
  const cited = isJsonObject(value) ? value : {};
  const { start, end, sources, type, content_index: content } = cited;
  const isText = type === undefined || type === "TEXT_CONTENT";
  const listed: readonly JsonValue[] = isText ? listOf(sources) : [];
  const addressed = listed.flatMap((source) => addressOf(source) ?? []);
  return {
    content: readCount(content),
    citations: addressed.map(({ url, title }) => ({
      url,
      title,
      start: readCount(start),
      end: readCount(end),
    })),
    incomplete: addressed.length === 0 || addressed.length < listed.length,
  };
}

/** Address and title of a source: a document, or a tool's output. */
function addressOf(source: JsonValue) {
  if (!isJsonObject(source)) return null;
  const cited: JsonObject | null = [source.document, source.tool_output].find(isJsonObject) ?? null;
  const url = cited?.url;
  const title = cited?.title;
  if (typeof url !== "string" || url === "") return null;
  return { url, title: typeof title === "string" && title !== "" ? title : null };
}

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readCohereError(status: number, bytes: Uint8Array): UpstreamFailure {
  return refusedAnswer(status, parseAnswerBytes(bytes), null);
}

/** An error object instead of an event, or in an answer with status 200. */
function readErrorObject(error: JsonValue): UpstreamFailure {
  return refusedFrame(error, null);
}

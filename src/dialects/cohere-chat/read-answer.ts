import { failureOf, type UpstreamFailure } from "../../canon/failure.ts";
import type { TokenLogprob, TokenUsage } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { finishFailure, finishReason } from "../answer-ends.ts";
import { AnswerEvents } from "../answer-events.ts";
import type { Upstream } from "../dialect.ts";
import {
  countIn,
  listOf,
  memberIn,
  numberOrNull,
  parseAnswerBytes,
  parseJsonText,
  readCount,
  textIn,
  textOf,
} from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";
import { SseEventParser } from "../sse.ts";

export const parseCohereStream: Upstream["parseStream"] = (request) =>
  new SseEventParser(new MessageReader(request));

/** A whole answer as the events of a stream of it. */
export const parseCohereAnswer: Upstream["parseAnswer"] = (bytes, request) => {
  const reader = new MessageReader(request);
  const answer = parseAnswerBytes(bytes);
  const message = isJsonObject(answer) ? answer.message : null;
  if (!isJsonObject(answer)) reader.fail("malformed");
  else if (!isJsonObject(message)) reader.fail(answerError(answer));
  else {
    reader.start();
    reader.takeMessage(message, answer.logprobs);
    reader.endMessage(answer);
  }
  return reader.drain();
};

/** An error object instead of an event, or in an answer with status 200. */
function answerError(object: JsonObject) {
  return typeof object.message === "string" ? refusedFrame(object, null) : failureOf("malformed");
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
  /**
   * Index of a call → its arguments while they may still turn out to be the literal `null`; `null`
   * once they are reported.
   */
  readonly #calls = new Map<number, string | null>();
  readonly #openCalls = new Set<number>();
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
    if (name === "error" || typeof type !== "string") return this.fail(answerError(event));
    const { delta, logprobs } = event;
    const index = numberOrNull(event.index) ?? 0;
    const message = memberIn(delta, "message");
    const content = memberIn(message, "content");
    const calls = memberIn(message, "tool_calls");
    // Events of other kinds, such as `debug`, are not part of the answer; unknown pieces are.
    switch (type) {
      case "message-start":
        return this.start();
      case "content-start":
        return this.#takePart(index, content, NO_LOGPROBS);
      case "content-delta":
        return this.#addContent(index, content, this.#readLogprobs(logprobs));
      case "tool-plan-delta":
        return this.#addPlan(memberIn(message, "tool_plan"));
      case "tool-call-start":
        return this.#openCall(index, calls);
      case "tool-call-delta":
        return this.#addArguments(index, memberIn(memberIn(calls, "function"), "arguments"));
      case "tool-call-end":
        return this.#closeCall(index);
      case "citation-start":
        return this.#cite(memberIn(message, "citations"));
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
    const parts = listOf(message.content);
    const citations = listOf(message.citations);
    const probabilities = this.#readLogprobs(logprobs);
    const first = parts.findIndex((part) => memberIn(part, "type") === "text");
    for (const [index, part] of parts.entries()) {
      this.#takePart(index, part, probabilities);
      for (const citation of citations)
        if ((readCitation(citation).content ?? first) === index) this.#cite(citation);
    }
    if (first === -1 && citations.length > 0) this.drop("citations_dropped");
    this.#addPlan(message.tool_plan);
    for (const [index, call] of listOf(message.tool_calls).entries()) {
      this.#openCall(index, call);
      this.#closeCall(index);
    }
  }

  #readLogprobs(value: JsonMember) {
    return this.#wantsLogprobs ? readLogprobs(value) : NO_LOGPROBS;
  }

  #addPlan(plan: JsonMember) {
    if (typeof plan !== "string" || plan === "" || !this.#accepts()) return;
    this.#text = null;
    this.blocks.text(plan, [], "plan");
  }

  #openCall(index: number, call: JsonMember): void {
    if (!this.#accepts()) return;
    this.#text = null;
    const toolFunction = memberIn(call, "function");
    if (!isJsonObject(toolFunction)) return this.fail("malformed", "unexpected_output_item");
    const id = textIn(call, "id");
    const name = textIn(toolFunction, "name");
    if (id === null || name === null || this.#calls.has(index)) return this.fail("malformed");
    this.#calls.set(index, "");
    this.#openCalls.add(index);
    this.blocks.openTool(String(index), id, name);
    this.#addArguments(index, toolFunction.arguments);
  }

  #addArguments(index: number, json: JsonMember): void {
    if (typeof json !== "string" || !this.#accepts()) return;
    const pending = this.#calls.get(index);
    if (pending === undefined) return this.fail("malformed");
    const text = (pending ?? "") + json;
    // Some models write `null` for a call without arguments (recorded).
    const mayBeNull = pending !== null && "null".startsWith(text.trim());
    this.#calls.set(index, mayBeNull ? text : null);
    if (!mayBeNull) this.blocks.arguments(String(index), text);
  }

  /** Calls usually come one after the other; otherwise the sequencer notices when each is whole. */
  #closeCall(index: number) {
    if (!this.#accepts()) return;
    if (this.#openCalls.has(index) && this.#openCalls.size === 1) this.blocks.close();
    this.#openCalls.delete(index);
  }

  #cite(value: JsonMember) {
    if (!this.#accepts()) return;
    const { content, citations, incomplete } = readCitation(value);
    const text = this.#text;
    const hasPosition = text !== null && (content === null || content === text);
    if (incomplete || !hasPosition) this.drop("citations_dropped");
    if (hasPosition) for (const citation of citations) this.blocks.citation(citation, String(text));
  }

  /** The end of the answer: why it ended, and its usage. */
  endMessage(end: JsonMember): void {
    if (!this.#accepts()) return;
    const value = memberIn(end, "finish_reason");
    const failure = finishFailure(value);
    const reason = finishReason(value);
    if (failure === null && reason !== null) this.blocks.closeAll();
    this.flush();
    const usage = readUsage(memberIn(end, "usage"));
    if (usage !== null) this.emit({ type: "usage", usage });
    if (failure !== null) {
      // Other types would reveal content, or help no caller.
      const isToolError = memberIn(end, "error_type") === "INVALID_TOOL_GENERATION";
      return this.fail(isToolError ? { ...failure, code: "tool_use_failed" } : failure);
    }
    if (reason === null) return this.fail("truncated");
    this.finish(reason);
  }

  #takePart(index: number, part: JsonMember, probabilities: ReadLogprobs): void {
    const type = memberIn(part, "type");
    if (type !== "text" && type !== "thinking")
      return this.fail("malformed", "unexpected_output_item");
    this.#addContent(index, part, logprobsOf(textOf(memberIn(part, "text")), probabilities));
  }

  #addContent(index: number, part: JsonMember, { logprobs, joined }: ReadLogprobs) {
    if (!this.#accepts()) return;
    const thinking = textIn(part, "thinking");
    if (thinking !== null) {
      this.#text = null;
      this.blocks.reasoning(thinking, false, String(index));
    }
    const text = memberIn(part, "text");
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
  const entries: readonly JsonMember[] = Array.isArray(value) ? value : [value];
  let joined = false;
  const logprobs = entries.flatMap((entry): readonly TokenLogprob[] => {
    const text = memberIn(entry, "text");
    const numbers = listOf(memberIn(entry, "logprobs"));
    const readable = numbers.filter((number) => typeof number === "number");
    if (typeof text !== "string" || readable.length === 0 || readable.length < numbers.length)
      return [];
    joined ||= readable.length > 1;
    return [
      {
        token: text,
        logprob: readable.reduce((sum, number) => sum + number, 0),
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

/**
 * Sources of one piece of text: one citation for each that has an address. Positions count code
 * points of one part's text, as canon's do (checked against recorded answers).
 *
 * `content` is the index of the part, `null` if the provider gives none; `incomplete`: some source
 * is a tool's result or a document without an address, or the citation is not of the answer's text.
 */
function readCitation(value: JsonMember) {
  const { start, end, sources, type, content_index: content } = isJsonObject(value) ? value : {};
  const isText = type === undefined || type === "TEXT_CONTENT";
  const sourceList = isText ? listOf(sources) : [];
  const addressed = sourceList.flatMap((source) => addressOf(source) ?? []);
  return {
    content: readCount(content),
    citations: addressed.map(({ url, title }) => ({
      url,
      title,
      start: readCount(start),
      end: readCount(end),
    })),
    incomplete: addressed.length === 0 || addressed.length < sourceList.length,
  };
}

/** Address and title of a source: a document, or a tool's output. */
function addressOf(source: JsonValue) {
  const cited = [memberIn(source, "document"), memberIn(source, "tool_output")].find(isJsonObject);
  const url = textIn(cited, "url");
  return url === null ? null : { url, title: textIn(cited, "title") };
}

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readCohereError(status: number, bytes: Uint8Array): UpstreamFailure {
  return refusedAnswer(status, parseAnswerBytes(bytes), null);
}

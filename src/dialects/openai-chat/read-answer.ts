import type { Capability } from "../../canon/capability.ts";
import { failureOf, type UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason, InferenceEvent, TokenUsage } from "../../canon/generate/event.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { finishFailure, finishReason } from "../answer-ends.ts";
import { AnswerEvents, readTokenLogprobs } from "../answer-events.ts";
import type { EventParser, Relay, Target } from "../dialect.ts";
import {
  countIn,
  listOf,
  memberIn,
  parseAnswerBytes,
  parseJsonText,
  textIn,
  textOf,
  wholeOutput,
} from "../json.ts";
import { REFUSAL_CODES, refusedAnswer, refusedFrame } from "../refusals.ts";
import { outputCharacters } from "../relay.ts";
import { hasUnknownMember } from "../request-reading.ts";
import { SseEventParser } from "../sse.ts";
import { ReasoningReader, TextCounter, ToolFragments, readCitations } from "./answer-parts.ts";
import { toolName } from "./parse-request.ts";

/** Settings of a request that decide how its answer is read. */
interface ChatQuestion {
  readonly logprobs: number | null;
  readonly tools: readonly { readonly name: string }[];
  /** The caller speaks this protocol too: report the members that no event carries. */
  readonly isSameProtocol?: true;
}

export function parseChatStream(request: ChatQuestion, target: Target, answerId = ""): EventParser {
  return new SseEventParser(new ChatAnswerReader(request, target, answerId));
}

/** A whole completion as the events of a stream. */
export function parseChatAnswer(
  bytes: Uint8Array,
  request: ChatQuestion,
  target: Target,
  answerId = "",
): readonly InferenceEvent[] {
  return readWhole(bytes, new ChatAnswerReader(request, target, answerId));
}

/** Capabilities whose answers events cannot hold: they are relayed whatever the flags. */
const RELAYED_NEEDS: readonly Capability[] = [
  "multiple_choices",
  "audio_output",
  "image_output",
  "custom_tools",
  "web_search",
  "file_search",
  "code_execution",
  "mcp",
];

/**
 * Reads answers for callers of this protocol, where the provider has the flag `rewritten_answers`.
 */
export const readingOfChat: NonNullable<Relay["reading"]> = (
  { request: { shape, body }, answerId },
  target,
) => {
  if (!target.provider.flags.includes("rewritten_answers")) return null;
  if (shape.needs.some((need) => RELAYED_NEEDS.includes(need)) || body.functions !== undefined)
    return null;
  const question: ChatQuestion = {
    logprobs: body.logprobs === true ? 0 : null,
    tools: listOf(body.tools).map((tool) => ({ name: toolName(tool) })),
    isSameProtocol: true,
  };
  return {
    parseStream: () => parseChatStream(question, target, answerId),
    parseAnswer: (bytes) => parseChatAnswer(bytes, question, target, answerId),
  };
};

/**
 * Reads answers that are lists of choices, of chat and of legacy completions: the chunks of a
 * stream, or one object.
 */
export abstract class ChoiceReader extends AnswerEvents {
  protected started = false;
  /** A choice with a part of the answer has been read. */
  begun = false;
  #finish: FinishReason | null = null;
  /** Output has followed the finish reason, and no other reason since. */
  #resumed = false;

  /** Reads an event of a stream (docs/protocols.md#chat-streams-of-providers). */
  readEvent(data: string, name: string | null): void {
    if (data === "[DONE]") return this.conclude(true);
    const chunk = parseJsonText(data);
    if (isJsonObject(chunk)) this.readObject(chunk, name, false);
    else this.fail("malformed");
  }

  override endBytes(): void {
    this.conclude(false);
  }

  /**
   * Reads one object.
   *
   * @param event name of its server-sent event.
   * @param isWhole it is the whole answer, not a chunk.
   */
  readObject(object: JsonObject, event: string | null, isWhole: boolean): void {
    const failure = failureIn(object, event);
    if (failure !== null) return this.fail(failure);
    const choices = listOf(object.choices);
    if (choices.length > 0) this.start(object);
    for (const choice of choices) if (isJsonObject(choice)) this.#readChoice(choice, isWhole);
    this.noteMembers(object);
    const usage = readUsage(object);
    if (usage === null || this.over) return;
    // Counts alone do not begin an answer, but an answer has to begin before its counts.
    this.start(object);
    this.flush();
    this.emit({ type: "usage", usage });
  }

  /**
   * The answer is over.
   *
   * @param isClosed the provider closed it: by `[DONE]`, or with the end of the body. Neither means
   *   that the answer is whole.
   */
  conclude(isClosed: boolean): void {
    if (this.over) return;
    const reason = this.#finish;
    if (reason === null || (this.#resumed && !isClosed))
      return this.fail(isClosed && this.begun ? MISSING_FINISH_REASON : failureOf("truncated"));
    this.complete(reason);
  }

  /** Emits the first event; without effect later. */
  protected start(object: JsonObject): void {
    if (this.started) return;
    this.started = true;
    this.emit({ type: "start", model: textIn(object, "model") });
  }

  /** @returns whether the choice has a part of the answer. */
  protected abstract readOutput(choice: JsonObject, isWhole: boolean): boolean;

  /** Ends the answer for the reason that the provider gave. */
  protected complete(reason: FinishReason): void {
    this.finish(reason);
  }

  /** Reports members beside the choices. */
  protected noteMembers(_object: JsonObject): void {}

  #readChoice(choice: JsonObject, isWhole: boolean): void {
    if (this.over) return;
    const { index, finish_reason: value } = choice;
    // A second answer was not requested.
    if (typeof index === "number" && index !== 0)
      return this.fail("malformed", "unexpected_output_item");
    this.#resumed ||= this.#finish !== null && holdsAnswer(choice);
    if (this.readOutput(choice, isWhole)) this.begun = true;
    const failure = choiceFailure(choice);
    if (failure !== null) return this.fail(failure);
    // No later piece of a whole answer could give the reason.
    const reason = isWhole && value === "" ? "other" : finishReason(value);
    if (reason === null) return;
    this.#finish = reason;
    this.#resumed = false;
  }
}

/** Reads a whole answer as the events of a stream. */
export function readWhole(bytes: Uint8Array, reader: ChoiceReader): readonly InferenceEvent[] {
  const answer = parseAnswerBytes(bytes);
  if (isJsonObject(answer)) reader.readObject(answer, null, true);
  if (reader.begun) reader.conclude(true);
  reader.fail("malformed");
  return reader.drain();
}

/** Members that events carry, or that do not describe the answer. */
const CARRIED = {
  answer: ["id", "object", "created", "model", "choices", "usage"],
  choice: ["index", "delta", "message", "logprobs", "finish_reason", "stop_reason"],
  message: [
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
  ],
} as const;

/**
 * Reads chat completions; the message of a whole one is a delta that holds everything. Unknown
 * members belong to other vendors and mean nothing to callers of other protocols.
 */
class ChatAnswerReader extends ChoiceReader {
  readonly #reasoning: ReasoningReader;
  readonly #tools: ToolFragments;
  readonly #text = new TextCounter();
  readonly #request: ChatQuestion;
  /** There were members that no event carries. */
  #hasForeignMembers = false;
  #hasRefusal = false;
  #stopSequence: string | null = null;

  /** @param answerId our id of the answer, for calls without an id in an answer without one. */
  constructor(request: ChatQuestion, target: Target, answerId: string) {
    super();
    this.#reasoning = new ReasoningReader(this.blocks, target.model.signatureFamily);
    const offered = request.tools.map(({ name }) => name);
    this.#tools = new ToolFragments(this.blocks, this.#reasoning, offered);
    this.#tools.answerId = answerId;
    this.#request = request;
  }

  override conclude(isClosed: boolean): void {
    if (!this.over) this.#tools.settle();
    super.conclude(isClosed);
  }

  protected override start(object: JsonObject): void {
    const id = this.started ? null : textIn(object, "id");
    if (id !== null) this.#tools.answerId = id;
    super.start(object);
  }

  protected override noteMembers(object: JsonObject): void {
    if (this.#reasoning.hasDroppedSignature) this.drop("signature_dropped");
    if (this.#request.isSameProtocol === true) this.#hasForeignMembers ||= hasForeignMember(object);
    if (this.#hasForeignMembers && this.started) this.drop("answer_members_dropped");
  }

  protected override complete(reason: FinishReason): void {
    if (this.#tools.isIncomplete) return this.fail("malformed");
    if (this.#hasRefusal && (reason === "stop" || reason === "content_filter"))
      return this.finish("refusal");
    const stopSequence = this.#stopSequence;
    this.finish(
      reason === "stop" && stopSequence !== null ? "stop_sequence" : reason,
      stopSequence,
    );
  }

  protected override blockEvents(): readonly InferenceEvent[] {
    const fromBlock = (position: number | null) =>
      position === null ? null : Math.max(position - this.#text.before, 0);
    return super.blockEvents().map((event) => {
      this.#text.note(event);
      if (event.type !== "citation") return event;
      const { start, end } = event.citation;
      const positions = { start: fromBlock(start), end: fromBlock(end) };
      return { ...event, citation: { ...event.citation, ...positions } };
    });
  }

  protected override readOutput(choice: JsonObject, isWhole: boolean): boolean {
    const { delta, message, stop_reason: stopped } = choice;
    // Perplexity sends the message so far beside every delta, and an empty delta beside the whole
    // message.
    if (!isWhole && isJsonObject(delta)) this.#readDelta(delta, choice, false);
    else if (isJsonObject(message) && !this.begun) this.#readDelta(message, choice, true);
    // vLLM names the stop sequence
    // (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html); others repeat the
    // finish reason.
    const sequence = textOf(stopped);
    if (finishReason(stopped) === "other" || /[A-Z]/.test(sequence)) this.#stopSequence = sequence;
    return !isWhole || isJsonObject(message);
  }

  /** @param isWhole the delta is a whole message, whose calls are numbered by their order. */
  #readDelta(delta: JsonObject, choice: JsonObject, isWhole: boolean) {
    const { tool_calls: calls, function_call: legacy } = delta;
    if (!Array.isArray(calls)) this.#tools.settle();
    this.#reasoning.read(delta);
    this.#readContent(delta.content, this.#request.logprobs === null ? null : choice.logprobs);
    this.#addRefusal(delta.refusal);
    for (const citation of readCitations(delta.annotations)) this.blocks.citation(citation);
    for (const [position, call] of listOf(calls).entries()) {
      if (this.#tools.add(call, isWhole ? position : null)) continue;
      this.fail("malformed", "unexpected_output_item");
      break;
    }
    // The older form has a single call, without an id; no list has its index.
    if (isJsonObject(legacy)) this.#tools.add({ index: -1, function: legacy }, null);
    if (textIn(delta.audio, "data") !== null || listOf(delta.images).length > 0)
      this.fail("malformed", "unexpected_output_item");
  }

  #addRefusal(refusal: JsonMember) {
    const text = textOf(refusal);
    this.#hasRefusal ||= text !== "";
    this.blocks.refusal(text);
  }

  #readContent(content: JsonMember, logprobs: JsonMember) {
    if (typeof content === "string")
      this.blocks.text(content, readTokenLogprobs(memberIn(logprobs, "content")));
    for (const part of listOf(content))
      this.#readPart(isJsonObject(part) ? part : { type: "text", text: part });
  }

  /**
   * Some providers send parts instead of text: Mistral (`thinking`, `reference`), Databricks
   * (`reasoning`).
   */
  #readPart(part: JsonObject): void {
    const type = textOf(part.type);
    switch (type) {
      case "text":
      case "output_text":
        return this.blocks.text(textOf(part.text));
      case "refusal":
        return this.#addRefusal(part.refusal);
      case "thinking":
        return this.#readTexts(part.thinking, false);
      case "reasoning":
        return this.#readTexts(part.summary, true);
      case "reference":
        return this.drop("citations_dropped");
    }
    if (MEDIA.test(type)) return this.fail("malformed", "unexpected_output_item");
    this.drop("unknown_content_dropped");
  }

  #readTexts(pieces: JsonMember, summary: boolean) {
    for (const piece of Array.isArray(pieces) ? pieces : [pieces]) {
      this.#reasoning.text(textOf(isJsonObject(piece) ? piece.text : piece), summary);
    }
  }
}

/** Parts that no request of another protocol can have required. */
const MEDIA = /image|audio|video|file/;

/** Whether a chunk or completion has a member with a value that no event carries. */
function hasForeignMember(object: JsonObject): boolean {
  const choices = listOf(object.choices).filter(isJsonObject);
  return (
    hasUnknownMember(object, CARRIED.answer) ||
    choices.some((choice) => {
      const message = choice.delta ?? choice.message;
      return (
        hasUnknownMember(choice, CARRIED.choice) ||
        (isJsonObject(message) && hasUnknownMember(message, CARRIED.message))
      );
    })
  );
}

/**
 * Failure of an answer that was closed, by `[DONE]` or the end of its body, without a finish
 * reason: its end would have to be invented.
 */
export const MISSING_FINISH_REASON: UpstreamFailure = Object.freeze(
  failureOf("malformed", "missing_finish_reason"),
);

/**
 * Members of a delta that hold the answer itself. Annotations, filters' results and counts may
 * follow a finish reason; these may not.
 */
const ANSWER_MEMBERS = [
  "content",
  "refusal",
  "reasoning_content",
  "reasoning",
  "tool_calls",
  "function_call",
];

/** Where legacy completions have their text. */
export const TEXT = ["text"];

/** Whether a chunk's choice holds a part of the answer. */
export function holdsAnswer(choice: JsonObject): boolean {
  return outputCharacters(choice.delta, ANSWER_MEMBERS) + outputCharacters(choice, TEXT) > 0;
}

/**
 * Token counts are in the answer, in an extension of it (Groq), or in its choice
 * (https://platform.moonshot.ai/docs/api/chat).
 */
function usageIn({ usage, x_groq: extension, choices }: JsonObject): JsonObject | null {
  const inChoice = memberIn(listOf(choices)[0], "usage");
  return [usage, memberIn(extension, "usage"), inChoice].find(isJsonObject) ?? null;
}

/**
 * Reads the counts of an answer or a chunk; `null` where there are none. Members beside the
 * protocol's are those of DeepSeek (https://api-docs.deepseek.com/api/create-chat-completion),
 * Moonshot (`cached_tokens`) and of servers that count reasoning beside the totals of the rest.
 */
export function readUsage(answer: JsonObject): TokenUsage | null {
  const usage = usageIn(answer);
  if (usage === null) return null;
  const { prompt_tokens_details: inputs, completion_tokens_details: outputs } = usage;
  const cacheRead =
    countIn(inputs, "cached_tokens") ??
    countIn(usage, "prompt_cache_hit_tokens") ??
    countIn(usage, "cached_tokens");
  const cacheWrite = countIn(inputs, "cache_write_tokens");
  const reasoning = countIn(outputs, "reasoning_tokens") ?? countIn(usage, "reasoning_tokens");
  const completion = countIn(usage, "completion_tokens");
  const total = countIn(usage, "total_tokens");
  const prompt = countIn(usage, "prompt_tokens");
  // Recorded: Mistral's audio models count sound beside the prompt, some servers cached tokens. The
  // total shows it.
  const parts = [countIn(inputs, "audio_tokens") ?? 0, (cacheRead ?? 0) + (cacheWrite ?? 0)];
  const beside = parts.find((part) => total === (prompt ?? 0) + (completion ?? 0) + part) ?? 0;
  const input = prompt === null ? null : prompt + beside;
  const output = wholeOutput(completion, reasoning, input, total);
  return { input, output, cacheRead, cacheWrite, reasoning };
}

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readChatError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  return refusedAnswer(status, body, safeCode(body));
}

/** An error object inside a stream, or in an answer with status 200. */
export function readErrorFrame(error: JsonValue): UpstreamFailure {
  return refusedFrame(error, safeCode(error));
}

/**
 * The failure that an object of an answer reports; `null` where it reports none. Servers disagree
 * on the member: `error`, the object itself beside `object: "error"` (older vLLM, Mistral), or the
 * object itself under the event name `error`.
 */
export function failureIn(object: JsonObject, event: string | null = null): UpstreamFailure | null {
  const { error } = object;
  if (error != null) return readErrorFrame(error);
  return event === "error" || object.object === "error" ? readErrorFrame(object) : null;
}

/**
 * The failure that a choice reports: by its finish reason, by that of the server behind a gateway,
 * which may have been made a `stop` (https://openrouter.ai/docs/api-reference/overview), or by an
 * error of its own; `null` where it reports none.
 */
export function choiceFailure(choice: JsonObject): UpstreamFailure | null {
  const { error, finish_reason: reason, native_finish_reason: native } = choice;
  return error == null ? (finishFailure(reason) ?? finishFailure(native)) : readErrorFrame(error);
}

/** The code or the type of an error, at the top of a body or below `error`. */
function safeCode(body: JsonMember): string | null {
  if (!isJsonObject(body)) return null;
  const error = isJsonObject(body.error) ? body.error : body;
  const { code, type } = error;
  return REFUSAL_CODES.get(textOf(code)) ?? REFUSAL_CODES.get(textOf(type)) ?? null;
}

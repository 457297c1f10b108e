import type { Capability } from "../../canon/capability.ts";
import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { answerFailure, finishReason } from "../answer-ends.ts";
import { AnswerEvents, readTokenLogprobs } from "../answer-events.ts";
import type { AnswerReading, EventParser, Relay, Target } from "../dialect.ts";
import { listOf, memberIn, parseAnswerBytes, parseJsonText, textOf } from "../json.ts";
import {
  CitationPositions,
  ReasoningReader,
  ToolFragments,
  readCitations,
} from "./answer-parts.ts";
import {
  MISSING_FINISH_REASON,
  choiceFailure,
  failureIn,
  holdsAnswer,
  readUsage,
} from "./ending.ts";
import { toolName } from "./read-tools.ts";
import { hasUnknownMember } from "../request-reading.ts";
import { SseEventParser } from "../sse.ts";

/** Reads a provider's stream as events (docs/protocols.md#chat-streams-of-providers). */
class ChatEventParser extends SseEventParser<ChatAnswerReader> {
  protected override take(data: string, event: string | null): void {
    if (data === "[DONE]") return this.reader.conclude(true);
    const object = parseJsonText(data);
    if (!isJsonObject(object)) this.reader.fail("malformed");
    else this.reader.take(object, event, false);
  }

  protected override close(): void {
    this.reader.conclude(false);
  }
}

export function parseChatStream(request: ChatQuestion, target: Target, answerId = ""): EventParser {
  return new ChatEventParser(new ChatAnswerReader(request, target, answerId));
}

/** A whole completion as the events of a stream. */
export function parseChatAnswer(
  bytes: Uint8Array,
  request: ChatQuestion,
  target: Target,
  answerId = "",
): readonly InferenceEvent[] {
  const reader = new ChatAnswerReader(request, target, answerId);
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) reader.fail("malformed");
  else {
    reader.take(answer, null, true);
    const choice = Array.isArray(answer.choices) ? answer.choices[0] : null;
    if (isJsonObject(choice) && isJsonObject(choice.message)) reader.conclude(true);
    else reader.fail("malformed");
  }
  return reader.drain();
}

/** What events do not carry: such answers are relayed whatever the flags. */
const RELAYED_NEEDS: ReadonlySet<Capability> = new Set<Capability>([
  "multiple_choices",
  "audio_output",
  "image_output",
  "custom_tools",
  "web_search",
  "file_search",
  "code_execution",
  "mcp",
]);

/**
 * Reads answers for callers of this protocol, where the provider has the flag `rewritten_answers`.
 */
export const readingOfChat: NonNullable<Relay["reading"]> = (
  { request, answerId },
  target,
): AnswerReading | null => {
  const { shape, body } = request;
  if (!target.provider.flags.includes("rewritten_answers")) return null;
  if (shape.needs.some((need) => RELAYED_NEEDS.has(need)) || body.functions !== undefined)
    return null;
  const tools = listOf(body.tools);
  const question: ChatQuestion = {
    logprobs: body.logprobs === true ? 0 : null,
    tools: tools.map((tool: JsonValue) => ({ name: toolName(tool) })),
    ownProtocol: true,
  };
  return {
    parseStream: () => parseChatStream(question, target, answerId),
    parseAnswer: (bytes) => parseChatAnswer(bytes, question, target, answerId),
  };
};

/**
 * Makes events of an answer's JSON objects: the chunks of a stream, or a whole completion, whose
 * message is one delta that holds everything. Members that it does not know are other vendors' and
 * say nothing to other protocols' callers.
 */
/** Request settings that the answer reader needs. */
interface ChatQuestion {
  readonly logprobs: number | null;
  readonly tools: readonly { readonly name: string }[];
  /**
   * Members that no event carries are reported, because the answer goes to a caller of this
   * protocol.
   */
  readonly ownProtocol?: true;
}

/** Members that events carry, or that say nothing about the answer. */
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
} as const satisfies Record<string, readonly string[]>;

class ChatAnswerReader extends AnswerEvents {
  readonly #reasoning: ReasoningReader;
  readonly #tools: ToolFragments;
  readonly #citations = new CitationPositions();
  readonly #wantsLogprobs: boolean;
  readonly #notesMembers: boolean;
  /** Members that no event carries have come. */
  #hasOwnMembers = false;
  #started = false;
  /** Some choice has been seen: there is an answer. */
  #begun = false;
  #refused = false;
  #finish: FinishReason | null = null;
  #stopSequence: string | null = null;
  /** Output has followed the finish reason, and no other one has come since. */
  #resumed = false;

  /** @param answerId our id of the answer, for calls without one in an answer without one. */
  constructor(request: ChatQuestion, target: Target, answerId: string) {
    super();
    this.#reasoning = new ReasoningReader(this.blocks, target.model.signatureFamily);
    const offered = request.tools.map(({ name }) => name);
    this.#tools = new ToolFragments(this.blocks, this.#reasoning, offered);
    this.#tools.answerId = answerId;
    this.#wantsLogprobs = request.logprobs !== null;
    this.#notesMembers = request.ownProtocol === true;
  }

  /**
   * Takes one object.
   *
   * @param event name of the event that it came as.
   * @param whole it is a completion, not a chunk.
   */
  take(object: JsonObject, event: string | null, whole: boolean): void {
    const failure = failureIn(object, event);
    if (failure !== null) return this.fail(failure);
    const { choices } = object;
    if (Array.isArray(choices) && choices.length > 0) {
      this.#start(object);
      for (const choice of choices) if (isJsonObject(choice)) this.#readChoice(choice, whole);
    }
    if (this.#reasoning.hasDropped) this.drop("signature_dropped");
    if (this.#notesMembers) this.#hasOwnMembers ||= hasOwnMember(object);
    if (this.#hasOwnMembers && this.#started) this.drop("answer_members_dropped");
    const usage = readUsage(object);
    if (usage === null || this.over) return;
    // Counts alone are no beginning of an answer, but they come before its end.
    this.#start(object);
    // Blocks made so far were reported before the counts.
    this.flush();
    this.emit({ type: "usage", usage });
  }

  /**
   * The answer is over.
   *
   * @param closed the provider closed it: by `[DONE]`, or with the end of the body. Neither says
   * that the answer is whole.
   */
  conclude(closed: boolean): void {
    if (this.over) return;
    this.#tools.settle();
    const reason = this.#finish;
    if (reason === null || (this.#resumed && !closed))
      return this.fail(closed && this.#begun ? MISSING_FINISH_REASON : answerFailure("truncated"));
    if (this.#tools.isIncomplete) return this.fail("malformed");
    if (this.#refused && (reason === "stop" || reason === "content_filter"))
      return this.finish("refusal");
    this.finish(
      reason === "stop" && this.#stopSequence !== null ? "stop_sequence" : reason,
      this.#stopSequence,
    );
  }

  protected override blockEvents(): readonly InferenceEvent[] {
    return this.#citations.shift(super.blockEvents());
  }

  #start(object: JsonObject): void {
    if (this.#started) return;
    this.#started = true;
    const { id, model } = object;
    if (typeof id === "string" && id !== "") this.#tools.answerId = id;
    this.emit({ type: "start", model: typeof model === "string" && model !== "" ? model : null });
  }

  #readChoice(choice: JsonObject, whole: boolean): void {
    if (this.over) return;
    const { index, delta, message, finish_reason: finishValue, stop_reason: stopped } = choice;
    // A second answer was not requested.
    if (typeof index === "number" && index !== 0) {
      this.fail("malformed", "unexpected_output_item");
      return;
    }
    this.#resumed ||= this.#finish !== null && holdsAnswer(choice);
    // Perplexity sends both: the message so far beside every delta, and an empty delta beside the
    // whole message.
    if (!whole && isJsonObject(delta)) this.#readDelta(delta, choice, false);
    else if (isJsonObject(message) && !this.#begun) this.#readDelta(message, choice, true);
    this.#begun = true;
    const failure = choiceFailure(choice);
    if (failure !== null) return this.fail(failure);
    // vLLM names the stop sequence
    // (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html); others repeat the
    // reason there.
    const sequence = textOf(stopped);
    if (finishReason(stopped) === "other" || /[A-Z]/.test(sequence)) this.#stopSequence = sequence;
    // A whole answer has no later piece that could give the reason.
    const reason = whole && finishValue === "" ? "other" : finishReason(finishValue);
    if (reason === null) return;
    this.#finish = reason;
    this.#resumed = false;
  }

  /** @param whole the delta is a whole message, whose list of calls numbers them by its order. */
  #readDelta(delta: JsonObject, choice: JsonObject, whole: boolean): void {
    const { refusal, tool_calls: calls, function_call: legacy } = delta;
    if (!Array.isArray(calls)) this.#tools.settle();
    this.#reasoning.read(delta);
    this.#readContent(delta.content, this.#wantsLogprobs ? choice.logprobs : undefined);
    this.#refuse(refusal);
    for (const citation of readCitations(delta.annotations)) this.blocks.citation(citation);
    if (Array.isArray(calls)) this.#readCalls(calls, whole);
    if (isJsonObject(legacy)) this.#tools.addLegacy(legacy);
    if (isSaid(delta.audio, "data") || (Array.isArray(delta.images) && delta.images.length > 0)) {
      this.fail("malformed", "unexpected_output_item");
    }
  }

  #refuse(refusal: JsonValue | undefined): void {
    if (typeof refusal !== "string" || refusal === "") return;
    this.#refused = true;
    this.blocks.refusal(refusal);
  }

  #readCalls(calls: readonly JsonValue[], whole: boolean): void {
    for (const [position, call] of calls.entries()) {
      if (this.#tools.add(call, whole ? position : null)) continue;
      this.fail("malformed", "unexpected_output_item");
      return;
    }
  }

  #readContent(content: JsonValue | undefined, logprobs: JsonValue | undefined): void {
    if (typeof content === "string") {
      this.blocks.text(content, readTokenLogprobs(memberIn(logprobs, "content")));
    } else if (Array.isArray(content)) {
      for (const part of content)
        this.#readPart(isJsonObject(part) ? part : { type: "text", text: part });
    }
  }

  /**
   * Some providers send parts where the protocol has text: Mistral (`thinking`, `reference`),
   * Databricks (`reasoning`).
   */
  #readPart(part: JsonObject): void {
    const type = textOf(part.type);
    switch (type) {
      case "text":
      case "output_text":
        return this.blocks.text(textOf(part.text));
      case "refusal":
        return this.#refuse(part.refusal);
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

  #readTexts(pieces: JsonValue | undefined, summary: boolean): void {
    for (const piece of Array.isArray(pieces) ? pieces : [pieces]) {
      this.#reasoning.text(textOf(isJsonObject(piece) ? piece.text : piece), summary);
    }
  }
}

/** Parts that no request of another protocol can have required. */
const MEDIA = /image|audio|video|file/;

function isSaid(value: JsonValue | undefined, member: string): boolean {
  return isJsonObject(value) && typeof value[member] === "string" && value[member] !== "";
}

/** Whether a chunk or completion says something in a member that no event carries. */
function hasOwnMember(object: JsonObject): boolean {
  const { choices } = object;
  if (hasUnknownMember(object, CARRIED.answer)) return true;
  return (
    Array.isArray(choices) &&
    choices.some((choice: JsonValue) => {
      if (!isJsonObject(choice)) return false;
      const said = choice.delta ?? choice.message;
      return (
        hasUnknownMember(choice, CARRIED.choice) ||
        (isJsonObject(said) && hasUnknownMember(said, CARRIED.message))
      );
    })
  );
}

import type { UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason, InferenceEvent, TokenLogprob } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { BlockSequencer } from "../answer-events.ts";
import type { Target } from "../dialect.ts";
import { finishReason, holdsAnswer, MISSING_FINISH_REASON, readUsage } from "./finish.ts";
import { choiceFailure, failureIn } from "./read-error.ts";
import { answerFailure } from "../answer-failure.ts";
import { CitationPositions, readCitations, ToolFragments, ReasoningReader } from "./answer-parts.ts";

/**
 * Makes events of an answer's JSON objects: the chunks of a stream, or a whole completion, whose message is one delta that holds
 * everything. Members that it does not know are other vendors' and say nothing to other protocols' callers.
 */
export class ChatAnswerReader {
  readonly #sequencer = new BlockSequencer();
  readonly #tools = new ToolFragments(this.#sequencer);
  readonly #citations = new CitationPositions();
  readonly #reasoning: ReasoningReader;
  readonly #wantsLogprobs: boolean;
  #events: InferenceEvent[] = [];
  #started = false;
  /** Some choice has been seen: there is an answer. */
  #begun = false;
  #refused = false;
  #droppedSignature = false;
  #finish: FinishReason | null = null;
  #failure: UpstreamFailure | null = null;

  /** @param answerId our id of the answer, for calls without one in an answer without one. */
  constructor(request: GenerateRequest, target: Target, answerId: string) {
    this.#tools.answerId = answerId;
    this.#reasoning = new ReasoningReader(this.#sequencer, target.model.signatureFamily);
    this.#wantsLogprobs = request.logprobs !== null;
  }

  get failure(): UpstreamFailure | null {
    return this.#failure;
  }

  /** The events made since the last call. */
  drain(): readonly InferenceEvent[] {
    // What a failing delta held besides is not part of the answer: a failure is last.
    const blocks = this.#failure === null ? this.#blocks() : [];
    if (this.#events.length === 0) return blocks;
    const events = [...this.#events, ...blocks];
    this.#events = [];
    return events;
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
    this.#reportSignature();
    const usage = readUsage(object);
    if (usage === null || this.#failure !== null) return;
    // Counts alone are no beginning of an answer, but they come before its end.
    this.#start(object);
    // Blocks made so far were reported before the counts.
    this.#flush();
    this.#events.push({ type: "usage", usage });
  }

  fail(failure: UpstreamFailure): void {
    if (this.#failure !== null) return;
    this.#failure = failure;
    this.#flush();
    this.#events.push({ type: "failure", failure });
  }

  /**
   * The answer is over.
   *
   * @param closed the provider closed it: by `[DONE]`, or with the end of the body. Neither says that the answer is whole.
   */
  finish(closed: boolean): void {
    if (this.#failure !== null) return;
    if (this.#finish === null) {
      this.fail(closed && this.#begun ? MISSING_FINISH_REASON : answerFailure("truncated"));
      return;
    }
    if (this.#sequencer.torn || this.#tools.isIncomplete) {
      this.fail(answerFailure("malformed"));
      return;
    }
    if (this.#finish === "other") {
      this.fail(answerFailure("malformed", "unknown_finish_reason"));
      return;
    }
    this.#sequencer.closeAll();
    this.#flush();
    this.#events.push({ type: "finish", reason: this.#reason(this.#finish), stopSequence: null });
  }

  /** A named tool choice ends with `stop` in this protocol (docs/protocols.md#chat-completions), and so does an explicit refusal. */
  #reason(reason: FinishReason): FinishReason {
    if (this.#refused && (reason === "stop" || reason === "content_filter")) return "refusal";
    return reason === "stop" && !this.#tools.isEmpty ? "tool_calls" : reason;
  }

  #start(object: JsonObject): void {
    if (this.#started) return;
    this.#started = true;
    const { id, model } = object;
    if (typeof id === "string" && id !== "") this.#tools.answerId = id;
    this.#events.push({ type: "start", model: typeof model === "string" && model !== "" ? model : null });
  }

  #blocks(): readonly InferenceEvent[] {
    return this.#citations.shift(this.#sequencer.drain());
  }

  #flush(): void {
    for (const event of this.#blocks()) this.#events.push(event);
  }

  /** Reports once that a signature was left out. */
  #reportSignature(): void {
    if (!this.#reasoning.hasDropped || this.#droppedSignature || this.#failure !== null) return;
    this.#droppedSignature = true;
    this.#flush();
    this.#events.push({ type: "dropped", field: "signature_dropped" });
  }

  #readChoice(choice: JsonObject, whole: boolean): void {
    if (this.#failure !== null) return;
    const { index, delta, message, finish_reason: finishValue } = choice;
    // A second answer was not requested.
    if (typeof index === "number" && index !== 0) {
      this.fail(answerFailure("malformed", "unexpected_output_item"));
      return;
    }
    if (this.#finish !== null && holdsAnswer(choice)) {
      this.fail(answerFailure("malformed"));
      return;
    }
    // Perplexity sends both: the message so far beside every delta, and an empty delta beside the whole message.
    if (!whole && isJsonObject(delta)) this.#readDelta(delta, choice, false);
    else if (isJsonObject(message) && !this.#begun) this.#readDelta(message, choice, true);
    this.#begun = true;
    const failure = choiceFailure(choice);
    if (failure !== null) this.fail(failure);
    this.#finish = finishReason(finishValue) ?? this.#finish;
  }

  /** @param whole the delta is a whole message, whose list of calls numbers them by its order. */
  #readDelta(delta: JsonObject, choice: JsonObject, whole: boolean): void {
    this.#reasoning.read(delta);
    this.#readContent(delta["content"], this.#wantsLogprobs ? choice["logprobs"] : undefined);
    const { refusal, tool_calls: calls, function_call: legacy } = delta;
    if (typeof refusal === "string" && refusal !== "") {
      this.#refused = true;
      this.#sequencer.refusal(refusal);
    }
    for (const citation of readCitations(delta["annotations"])) this.#sequencer.citation(citation);
    if (Array.isArray(calls)) this.#readCalls(calls, whole);
    if (isJsonObject(legacy)) this.#tools.addLegacy(legacy);
    if (isSaid(delta["audio"], "data") || (Array.isArray(delta["images"]) && delta["images"].length > 0)) {
      this.fail(answerFailure("malformed", "unexpected_output_item"));
    }
  }

  #readCalls(calls: readonly JsonValue[], whole: boolean): void {
    for (const [position, call] of calls.entries()) {
      if (this.#tools.add(call, whole ? position : null)) continue;
      this.fail(answerFailure("malformed", "unexpected_output_item"));
      return;
    }
  }

  #readContent(content: JsonValue | undefined, logprobs: JsonValue | undefined): void {
    if (typeof content === "string") {
      this.#sequencer.text(content, logprobs === undefined ? undefined : readLogprobs(logprobs));
      return;
    }
    if (!Array.isArray(content)) return;
    for (const part of content) this.#readPart(part);
  }

  /** Some providers send parts where the protocol has text. */
  #readPart(part: JsonValue): void {
    const type = isJsonObject(part) ? part["type"] : undefined;
    if (isJsonObject(part) && type === "text" && typeof part["text"] === "string") this.#sequencer.text(part["text"]);
    else if (isJsonObject(part) && type === "thinking") this.#readThinking(part["thinking"]);
    else this.fail(answerFailure("malformed", "unexpected_output_item"));
  }

  #readThinking(thinking: JsonValue | undefined): void {
    const pieces: readonly JsonValue[] = Array.isArray(thinking) ? thinking : [thinking ?? ""];
    for (const piece of pieces) {
      const text = isJsonObject(piece) ? piece["text"] : piece;
      if (typeof text === "string") this.#reasoning.text(text, false);
    }
  }
}

function isSaid(value: JsonValue | undefined, member: string): boolean {
  return isJsonObject(value) && typeof value[member] === "string" && value[member] !== "";
}

/** `logprobs.content` of a choice; entries without a token or a number are no log probabilities. */
function readLogprobs(logprobs: JsonValue | undefined): readonly TokenLogprob[] {
  const content = isJsonObject(logprobs) ? logprobs["content"] : null;
  if (!Array.isArray(content)) return NONE;
  return content.flatMap((entry) => readLogprob(entry) ?? []);
}

const NONE: readonly TokenLogprob[] = Object.freeze([]);

function readLogprob(entry: JsonValue): TokenLogprob | null {
  if (!isJsonObject(entry)) return null;
  const { token, logprob, bytes, top_logprobs: top } = entry;
  if (typeof token !== "string" || typeof logprob !== "number") return null;
  return {
    token,
    logprob,
    bytes: Array.isArray(bytes) ? bytes.filter((byte) => typeof byte === "number") : null,
    top: Array.isArray(top) ? top.filter((other) => isJsonObject(other)) : [],
  };
}

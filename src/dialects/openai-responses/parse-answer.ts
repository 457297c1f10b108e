import type { UpstreamFailure } from "../../canon/failure.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { AnswerEvents, countedTokens } from "../answer-events.ts";
import { answerFailure } from "../answer-failure.ts";
import type { EventParser } from "../dialect.ts";
import {
  countIn,
  memberIn,
  numberOrNull,
  parseAnswerBytes,
  parseJsonText,
  textOf,
  textOrNull,
} from "../json.ts";
import { readErrorFrame } from "../openai-chat/read-error.ts";
import { SseEventParser } from "../sse.ts";
import {
  readUsage,
  type Said,
  type Terminal,
  terminalOf,
  terminalStatus,
  wholeTerminal,
} from "./ending.ts";
import { readTokenLogprobs } from "../token-logprobs.ts";
import { ItemEmitter } from "./item-emitter.ts";

/**
 * Reads the items of an answer. It ignores kinds of events that have no meaning in other protocols.
 */
class ResponseReader extends AnswerEvents {
  readonly #emitter: ItemEmitter;
  #started = false;

  /** @param family who can read the signatures of the endpoint's model. */
  constructor(family: string | null) {
    super();
    this.#emitter = new ItemEmitter(this.blocks, family);
  }

  /** The resource of the first event, or none. */
  start(response: JsonValue | undefined): void {
    if (this.#started || this.over) return;
    this.#started = true;
    this.emit({ type: "start", model: textOrNull(memberIn(response, "model")) });
  }

  override fail(failure: UpstreamFailure): void {
    this.start(null);
    super.fail(failure);
  }

  takeItemEvent(type: string, event: JsonObject): void {
    this.start(null);
    const emitter = this.#emitter;
    const index = numberOrNull(event["output_index"]) ?? 0;
    const content = numberOrNull(event["content_index"]) ?? 0;
    const summary = numberOrNull(event["summary_index"]) ?? 0;
    const { delta, item, part, text } = event;
    switch (type) {
      case "response.output_item.added":
        return isJsonObject(item) ? emitter.added(index, item) : undefined;
      case "response.output_item.done":
        return isJsonObject(item) ? emitter.done(index, item) : undefined;
      case "response.output_text.delta":
        return emitter.text(index, content, textOf(delta), readTokenLogprobs(event["logprobs"]));
      case "response.output_text.done":
        if (!emitter.hasText(index, content))
          emitter.text(index, content, textOf(text), readTokenLogprobs(event["logprobs"]));
        return;
      case "response.output_text.annotation.added":
        return emitter.annotation(index, content, event["annotation"]);
      case "response.refusal.delta":
        return emitter.refused(index, content, textOf(delta));
      case "response.refusal.done":
        if (!emitter.hasText(index, content))
          emitter.refused(index, content, textOf(event["refusal"]));
        return;
      case "response.content_part.done":
      case "response.reasoning_part.done":
        return isJsonObject(part) ? emitter.part(index, content, part) : undefined;
      case "response.reasoning_text.delta":
      case "response.reasoning.delta":
        return emitter.reasoning(index, content, textOf(delta), false);
      case "response.reasoning_text.done":
      case "response.reasoning.done":
        if (!emitter.hasReasoning(index)) emitter.reasoning(index, content, textOf(text), false);
        return;
      case "response.reasoning_summary_text.delta":
        return emitter.reasoning(index, summary, textOf(delta), true);
      case "response.reasoning_summary_text.done":
        if (!emitter.hasReasoning(index)) emitter.reasoning(index, summary, textOf(text), true);
        return;
      case "response.function_call_arguments.delta":
        return emitter.arguments(index, textOf(delta));
      case "response.function_call_arguments.done":
        if (!emitter.hasArguments(index)) emitter.arguments(index, textOf(event["arguments"]));
        return;
      default:
        // Without its `done`, or an item that repeats it, a piece of a new kind is lost.
        if (type.endsWith(".delta")) this.drop("unknown_content_dropped");
    }
  }

  /** Ends the answer where an impossible event was reported. */
  settle(): void {
    this.flush();
    const { unexpected } = this.#emitter;
    if (unexpected !== null) this.fail(answerFailure("malformed", unexpected));
  }

  /**
   * The resource at the end of the answer. Items that no event reported stand in the whole output
   * only. Neither positions nor ids alone identify them: some providers leave positions out, some
   * change ids.
   */
  conclude({ output, usage: counts }: JsonObject, judge: (said: Said) => Terminal): void {
    for (const [index, item] of (Array.isArray(output) ? output : []).entries()) {
      if (isJsonObject(item) && !this.#emitter.has(index, item)) this.#emitter.done(index, item);
    }
    this.flush();
    const usage = readUsage(counts);
    if (usage !== null) this.emit({ type: "usage", usage });
    const terminal = judge(this.#emitter);
    if (terminal.kind === "failure") return this.fail(terminal.failure);
    this.settle();
    for (const field of this.#emitter.dropped) this.drop(field);
    this.finish(terminal.reason);
  }
}

/** Reads a responses stream as events (docs/protocols.md#responses). */
class ResponsesStreamParser extends SseEventParser<ResponseReader> {
  protected override take(data: string, event: string | null): void {
    const { reader } = this;
    // The end of the transport before the end of the answer.
    if (data === "[DONE]") return reader.fail(answerFailure("truncated"));
    const value = parseJsonText(data);
    if (!isJsonObject(value)) return reader.fail(answerFailure("malformed"));
    const type = typeof value["type"] === "string" ? value["type"] : event;
    if (type === "error" || (type === null && isJsonObject(value["error"]))) {
      return reader.fail(readErrorFrame(value["error"] ?? value));
    }
    switch (type) {
      case null:
        return reader.fail(answerFailure("malformed"));
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return reader.start(value["response"]);
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.#terminal(type, value["response"]);
      default:
        reader.takeItemEvent(type, value);
        reader.settle();
    }
  }

  #terminal(type: string, response: JsonValue | undefined): void {
    this.reader.start(response);
    if (!isJsonObject(response)) return this.reader.fail(answerFailure("malformed"));
    this.reader.conclude(response, (said) =>
      terminalOf(terminalStatus(type, response), response, said),
    );
  }
}

/** @param family who can read the signatures of the endpoint's model. */
export function parseResponsesStream(family: string | null): EventParser {
  return new ResponsesStreamParser(new ResponseReader(family));
}

/**
 * A whole response resource as the events that a stream of it would be.
 *
 * @param family who can read the signatures of the endpoint's model.
 */
export function parseResponsesAnswer(
  bytes: Uint8Array,
  family: string | null,
): readonly InferenceEvent[] {
  const reader = new ResponseReader(family);
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) reader.fail(answerFailure("malformed"));
  else {
    const { error, status } = response;
    reader.start(response);
    if (isJsonObject(error) && status === undefined) reader.fail(readErrorFrame(error));
    else reader.conclude(response, (said) => wholeTerminal(response, said));
  }
  return reader.drain();
}

/** The answer to a token count: nothing was generated. */
export function parseTokenCount(bytes: Uint8Array): readonly InferenceEvent[] {
  const answer = parseAnswerBytes(bytes);
  return countedTokens(countIn(answer, "input_tokens"));
}

import type { UpstreamFailure, FailureKind } from "../../canon/failure.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { BlockSequencer } from "../answer-events.ts";
import { parseAnswerBytes, textOf, parseJsonText, textOrNull, numberOrNull } from "../json.ts";
import { readErrorFrame } from "../openai-chat/read-error.ts";
import { answerFailure } from "../answer-failure.ts";
import { wholeTerminal, readUsage, terminalOf, terminalStatus } from "./ending.ts";
import { ItemEmitter, readLogprobs } from "./item-emitter.ts";
import type { EventParser } from "../dialect.ts";
import { MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../sse.ts";

/**
 * A whole response resource as the events that a stream of it would be.
 *
 * @param family who can read the signatures of the endpoint's model.
 */
export function parseResponsesAnswer(bytes: Uint8Array, family: string | null): readonly InferenceEvent[] {
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) return failed(null, [], answerFailure("malformed"));
  const { error, status, output, model } = response;
  const start = textOrNull(model);
  if (isJsonObject(error) && status === undefined) return failed(start, [], readErrorFrame(error));
  const sequencer = new BlockSequencer();
  const emitter = new ItemEmitter(sequencer, family);
  tellOutput(output, emitter);
  sequencer.closeAll();
  const usage = readUsage(response["usage"]);
  const events: InferenceEvent[] = [...sequencer.drain()];
  if (usage !== null) events.push({ type: "usage", usage });
  const terminal = wholeTerminal(response, emitter);
  if (terminal.kind === "failure") return failed(start, events, terminal.failure);
  if (emitter.unexpected !== null) return failed(start, events, answerFailure("malformed", emitter.unexpected));
  if (!Array.isArray(output)) return failed(start, events, answerFailure("malformed"));
  if (terminal.reason === "other") return failed(start, events, answerFailure("malformed", "unknown_finish_reason"));
  const dropped = [...emitter.dropped].map((field) => ({ type: "dropped", field }) as const);
  const finish = { type: "finish", reason: terminal.reason, stopSequence: null } as const;
  return [{ type: "start", model: start }, ...events, ...dropped, finish];
}

/** The answer to a token count: nothing was generated. */
export function parseTokenCount(bytes: Uint8Array): readonly InferenceEvent[] {
  const answer = parseAnswerBytes(bytes);
  const count = isJsonObject(answer) ? readUsage({ input_tokens: answer["input_tokens"] ?? null }) : null;
  if (count === null || count.input === null) return failed(null, [], answerFailure("malformed"));
  return [
    { type: "start", model: null },
    { type: "usage", usage: count },
    { type: "finish", reason: "stop", stopSequence: null },
  ];
}

function tellOutput(output: JsonValue | undefined, emitter: ItemEmitter): void {
  const items: readonly JsonObject[] = Array.isArray(output) ? output.filter(isJsonObject) : [];
  for (const [index, item] of items.entries()) emitter.done(index, item);
}

function failed(
  model: string | null,
  events: readonly InferenceEvent[],
  failure: UpstreamFailure,
): readonly InferenceEvent[] {
  return [{ type: "start", model }, ...events, { type: "failure", failure }];
}

/** Reads a responses stream as events (docs/protocols.md#responses). It ignores kinds of events that have no meaning in other protocols. */
class ResponsesStreamParser implements EventParser {
  readonly #framer = new SseFramer();
  readonly #sequencer = new BlockSequencer();
  readonly #emitter: ItemEmitter;
  #events: InferenceEvent[] = [];
  #started = false;
  #ended = false;

  constructor(family: string | null) {
    this.#emitter = new ItemEmitter(this.#sequencer, family);
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    for (const event of this.#framer.push(chunk)) this.#takeBytes(event);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.#fail("too_large");
    return this.#drained();
  }

  end(): readonly InferenceEvent[] {
    this.#takeBytes(this.#framer.end());
    this.#fail("truncated");
    return this.#drained();
  }

  #drained(): readonly InferenceEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #takeBytes(bytes: Uint8Array): void {
    if (this.#ended) return;
    const { event, data } = parseSseEvent(bytes);
    if (data === null) return;
    // The end of the transport before the end of the answer.
    if (data === "[DONE]") return this.#fail("truncated");
    const value = parseJsonText(data);
    if (!isJsonObject(value)) return this.#fail("malformed");
    const type = typeof value["type"] === "string" ? value["type"] : event;
    if (type === "error" || (type === null && isJsonObject(value["error"]))) {
      return this.#close(readErrorFrame(value["error"] ?? value));
    }
    if (type === null) return this.#fail("malformed");
    this.#take(type, value);
  }

  #take(type: string, event: JsonObject): void {
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return this.#start(event["response"]);
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.#terminal(type, event["response"]);
      default:
        this.#start(null);
        this.#takeItemEvent(type, event);
        return this.#settle();
    }
  }

  #takeItemEvent(type: string, event: JsonObject): void {
    const emitter = this.#emitter;
    const index = numberOrNull(event["output_index"]) ?? 0;
    const content = numberOrNull(event["content_index"]) ?? 0;
    const { delta, item, part, text } = event;
    switch (type) {
      case "response.output_item.added":
        return isJsonObject(item) ? emitter.added(index, item) : undefined;
      case "response.output_item.done":
        return isJsonObject(item) ? emitter.done(index, item) : undefined;
      case "response.output_text.delta":
        return emitter.text(index, content, textOf(delta), readLogprobs(event["logprobs"]));
      case "response.output_text.done":
        if (!emitter.hasText(index, content))
          emitter.text(index, content, textOf(text), readLogprobs(event["logprobs"]));
        return;
      case "response.output_text.annotation.added":
        return emitter.annotation(index, content, event["annotation"]);
      case "response.refusal.delta":
        return emitter.refused(index, content, textOf(delta));
      case "response.refusal.done":
        if (!emitter.hasText(index, content)) emitter.refused(index, content, textOf(event["refusal"]));
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
        return emitter.reasoning(index, numberOrNull(event["summary_index"]) ?? 0, textOf(delta), true);
      case "response.reasoning_summary_text.done":
        if (!emitter.hasReasoning(index))
          emitter.reasoning(index, numberOrNull(event["summary_index"]) ?? 0, textOf(text), true);
        return;
      case "response.function_call_arguments.delta":
        return emitter.arguments(index, textOf(delta));
      case "response.function_call_arguments.done":
        if (!emitter.hasArguments(index)) emitter.arguments(index, textOf(event["arguments"]));
    }
  }

  /** Gives what the sequencer has made, and ends the stream where it reported an impossible event. */
  #settle(): void {
    this.#flush();
    const { unexpected } = this.#emitter;
    if (unexpected !== null) this.#fail("malformed", unexpected);
    else if (this.#sequencer.torn) this.#fail("malformed", "torn_tool_call");
  }

  #flush(): void {
    for (const event of this.#sequencer.drain()) this.#events.push(event);
  }

  #start(response: JsonValue | undefined): void {
    if (this.#started) return;
    this.#started = true;
    const model = isJsonObject(response) ? response["model"] : null;
    this.#events.push({ type: "start", model: textOrNull(model) });
  }

  #terminal(type: string, response: JsonValue | undefined): void {
    this.#start(response);
    if (!isJsonObject(response)) return this.#fail("malformed");
    const status = terminalStatus(type, response);
    if (status === "completed" || status === "incomplete") this.#tellRest(response["output"]);
    if (this.#ended) return;
    const usage = readUsage(response["usage"]);
    if (usage !== null) this.#events.push({ type: "usage", usage });
    const terminal = terminalOf(status, response, this.#emitter);
    if (terminal.kind === "failure") return this.#close(terminal.failure);
    if (terminal.reason === "other") return this.#fail("malformed", "unknown_finish_reason");
    this.#sequencer.closeAll();
    this.#flush();
    for (const field of this.#emitter.dropped) this.#events.push({ type: "dropped", field });
    this.#events.push({ type: "finish", reason: terminal.reason, stopSequence: null });
    this.#ended = true;
  }

  /** Items that no event reported stand in the whole output only. Neither positions nor ids alone identify them: some providers leave positions out, some change ids. */
  #tellRest(output: JsonValue | undefined): void {
    for (const [index, item] of (Array.isArray(output) ? output : []).entries()) {
      if (isJsonObject(item) && !this.#emitter.has(index, item)) this.#emitter.done(index, item);
    }
    this.#settle();
  }

  #fail(kind: FailureKind, code: string | null = null): void {
    this.#close(answerFailure(kind, code));
  }

  #close(failure: UpstreamFailure): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#start(null);
    this.#events.push({ type: "failure", failure });
  }
}

/** @param family who can read the signatures of the endpoint's model. */
export function parseResponsesStream(family: string | null): EventParser {
  return new ResponsesStreamParser(family);
}

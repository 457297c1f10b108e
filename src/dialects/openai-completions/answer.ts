import type { ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  Answer,
  FinishReason,
  InferenceEvent,
  TokenUsage,
} from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { answerFailure, finishReason } from "../answer-ends.ts";
import { AnswerEvents } from "../answer-events.ts";
import type { AnswerContext, EventParser, EventRenderer } from "../dialect.ts";
import { listOf, mergeUsage, parseAnswerBytes, parseJsonText } from "../json.ts";
import {
  MISSING_FINISH_REASON,
  choiceFailure,
  failureIn,
  holdsAnswer,
  readUsage,
} from "../openai-chat/ending.ts";
import { renderOpenAiStreamFailure } from "../openai-chat/family.ts";
import { formatFinishReason, printUsage } from "../openai-chat/render.ts";
import { SseEventParser, formatSseEvent } from "../sse.ts";

/** Reads completion objects, whole ones and chunks alike: one text block, then the reason. */
class CompletionReader extends AnswerEvents {
  readonly #whole: boolean;
  #started = false;
  #finish: FinishReason | null = null;
  /** Text has followed the finish reason, and no other one has come since. */
  #resumed = false;
  /** A choice has been read: there is an answer. */
  begun = false;

  /** @param whole whether the one object read is the whole answer. */
  constructor(whole: boolean) {
    super();
    this.#whole = whole;
  }

  take(completion: JsonObject, named: string | null): void {
    const failure = failureIn(completion, named);
    if (failure !== null) return this.fail(failure);
    if (!this.#started) {
      this.#started = true;
      const { model } = completion;
      this.emit({ type: "start", model: typeof model === "string" && model !== "" ? model : null });
    }
    const choices = completion.choices;
    for (const choice of listOf(choices)) {
      if (!isJsonObject(choice) || (choice.index ?? 0) !== 0) return this.fail("malformed");
      this.#takeChoice(choice);
      if (this.over) return;
    }
    const usage = readUsage(completion);
    if (usage !== null) this.emit({ type: "usage", usage });
  }

  /** The answer is over. @param closed as for `ChatAnswerReader.conclude`. */
  conclude(closed: boolean): void {
    if (this.#finish === null || (this.#resumed && !closed))
      return this.fail(closed && this.begun ? MISSING_FINISH_REASON : answerFailure("truncated"));
    this.finish(this.#finish);
  }

  #takeChoice(choice: JsonObject): void {
    this.begun = true;
    const { text, finish_reason: finishValue } = choice;
    this.#resumed ||= this.#finish !== null && holdsAnswer(choice);
    // What has neither text nor an end is no chunk of this protocol; chat chunks on this path are
    // such.
    if (typeof text === "string") this.blocks.text(text);
    else if (typeof finishValue !== "string" || this.#whole) return this.fail("malformed");
    this.flush();
    const broken = choiceFailure(choice);
    if (broken !== null) return this.fail(broken);
    const reason = this.#whole && finishValue === "" ? "other" : finishReason(finishValue);
    if (reason === null) return;
    // A text cannot end in tool calls: an answer that does is of another protocol, and its meaning
    // is unknown.
    if (reason === "tool_calls") return this.fail("malformed", "unknown_finish_reason");
    this.#finish = reason;
    this.#resumed = false;
  }
}

class CompletionsStreamParser extends SseEventParser<CompletionReader> {
  protected override take(data: string, event: string | null): void {
    if (data === "[DONE]") return this.reader.conclude(true);
    const chunk = parseJsonText(data);
    if (isJsonObject(chunk)) this.reader.take(chunk, event);
    else this.reader.fail("malformed");
  }

  protected override close(): void {
    this.reader.conclude(false);
  }
}

/**
 * A stream of text chunks as events: complete when the provider gave a reason
 * (docs/protocols.md#chat-streams-of-providers).
 */
export function parseCompletionsStream(): EventParser {
  return new CompletionsStreamParser(new CompletionReader(false));
}

/**
 * A whole `text_completion` as the events that a stream of it would be. One without a finish reason
 * does not say that it is whole.
 */
export function parseCompletionsAnswer(bytes: Uint8Array): readonly InferenceEvent[] {
  const reader = new CompletionReader(true);
  const answer: JsonValue | undefined = parseAnswerBytes(bytes);
  if (isJsonObject(answer)) reader.take(answer, null);
  if (!reader.over && reader.begun) reader.conclude(true);
  if (!reader.over) reader.fail("malformed");
  return reader.drain();
}

/**
 * What an answer says in this protocol, and what it cannot say. Streams and whole answers share it,
 * so that both say the same.
 */
class TextRenderer {
  readonly dropped = new Set<DroppedField>();
  #refused = false;

  /** The text that goes into the completion because of one event. */
  text(event: InferenceEvent): string {
    switch (event.type) {
      case "text":
        if (event.logprobs.length > 0) this.dropped.add("logprobs_dropped");
        return event.text;
      case "refusal":
        this.#refused = true;
        this.dropped.add("refusal_as_text");
        return event.text;
      case "reasoning":
        this.dropped.add("reasoning_dropped");
        return "";
      case "signature":
        this.dropped.add("signature_dropped");
        return "";
      case "citation":
        this.dropped.add("citations_dropped");
        return "";
      case "dropped":
        this.dropped.add(event.field);
        return "";
      case "open":
        if (event.block.kind === "tool_call") this.dropped.add("tool_call_dropped");
        return "";
      case "start":
      case "arguments":
      case "close":
      case "usage":
      case "finish":
      case "failure":
        return "";
    }
  }

  /** A refusal must not look like a completion, whatever the provider called its end. */
  finishReason(reason: FinishReason, stopSequence: string | null): string {
    if (stopSequence !== null) this.dropped.add("stop_sequence_unnamed");
    const printed = formatFinishReason(reason);
    return this.#refused && printed === "stop" ? "content_filter" : printed;
  }
}

class CompletionsRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  readonly #renderer = new TextRenderer();
  #created = 0;
  #model: string;
  #usage: TokenUsage | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#model = context.model;
  }

  get dropped(): readonly DroppedField[] {
    return [...this.#renderer.dropped];
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    if (event.type === "start") {
      this.#created = this.#context.now();
      this.#model = event.model ?? this.#model;
    } else if (event.type === "usage") {
      this.#usage = mergeUsage(this.#usage, event.usage);
    } else if (event.type === "finish") {
      return this.#finish(this.#renderer.finishReason(event.reason, event.stopSequence));
    } else {
      const text = this.#renderer.text(event);
      if (text !== "") return [this.#chunk([printChoice(text, null)], null)];
    }
    return [];
  }

  fail(error: ServiceError): Uint8Array {
    return renderOpenAiStreamFailure(error, this.#context.requestId);
  }

  #finish(reason: string): readonly Uint8Array[] {
    const events = [this.#chunk([printChoice("", reason)], null)];
    const usage = this.#context.request.includeUsage ? printUsage(this.#usage) : null;
    if (usage !== null) events.push(this.#chunk([], usage));
    events.push(formatSseEvent("[DONE]"));
    return events;
  }

  #chunk(choices: readonly JsonObject[], usage: JsonObject | null): Uint8Array {
    const body = printCompletion(this.#context, this.#created, this.#model, choices);
    return formatSseEvent(
      JSON.stringify(this.#context.request.includeUsage ? { ...body, usage } : body),
    );
  }
}

/**
 * Prints an answer as legacy completions chunks (docs/protocols.md#completions): one finish chunk,
 * usage where it was requested, `[DONE]`.
 */
export function renderCompletionsStream(context: AnswerContext): EventRenderer {
  return new CompletionsRenderer(context);
}

/** Prints a whole answer as one `text_completion`. */
export function renderCompletionsAnswer(
  { model, blocks, usage, finish }: Answer,
  context: AnswerContext,
): { readonly body: JsonObject; readonly dropped: readonly DroppedField[] } {
  const renderer = new TextRenderer();
  let text = "";
  for (const [index, block] of blocks.entries()) {
    if (block.kind === "tool_call") renderer.dropped.add("tool_call_dropped");
    else if (block.kind === "reasoning") {
      if (block.text !== "") renderer.dropped.add("reasoning_dropped");
      if (block.signature !== null) renderer.dropped.add("signature_dropped");
    } else if (block.kind === "refusal")
      text += renderer.text({ type: "refusal", index, text: block.text });
    else {
      text += renderer.text({ type: "text", index, text: block.text, logprobs: block.logprobs });
      if (block.citations.length > 0) renderer.dropped.add("citations_dropped");
    }
  }
  const reason = finish === null ? null : renderer.finishReason(finish.reason, finish.stopSequence);
  const body = printCompletion(context, context.now(), model ?? context.model, [
    printChoice(text, reason),
  ]);
  const said = printUsage(usage);
  return { body: said === null ? body : { ...body, usage: said }, dropped: [...renderer.dropped] };
}

function printCompletion(
  { answerId }: AnswerContext,
  created: number,
  model: string,
  choices: readonly JsonObject[],
): JsonObject {
  return { id: `cmpl-${answerId}`, object: "text_completion", created, model, choices };
}

function printChoice(text: string, finish: string | null): JsonObject {
  return { text, index: 0, logprobs: null, finish_reason: finish };
}

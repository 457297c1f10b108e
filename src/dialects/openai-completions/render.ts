import type { ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import { mergeUsage } from "../json.ts";
import type {
  Answer,
  FinishReason,
  InferenceEvent,
  TokenUsage,
} from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext, EventRenderer } from "../dialect.ts";
import { renderOpenAiStreamFailure } from "../openai-chat/family.ts";
import { formatSseEvent } from "../sse.ts";
import { formatFinishReason, printUsage } from "../openai-chat/render-stream.ts";

/**
 * What an answer says in this protocol, and what it cannot say. Streams and whole answers share it,
 * so that both say the same.
 */
class Narrator {
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

const NOTHING: readonly Uint8Array[] = Object.freeze([]);

class CompletionsRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  readonly #narrator = new Narrator();
  #created = 0;
  #model: string;
  #usage: TokenUsage | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#model = context.model;
  }

  get dropped(): readonly DroppedField[] {
    return [...this.#narrator.dropped];
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    if (event.type === "start") {
      this.#created = this.#context.now();
      this.#model = event.model ?? this.#model;
    } else if (event.type === "usage") {
      this.#usage = mergeUsage(this.#usage, event.usage);
    } else if (event.type === "finish") {
      return this.#finish(this.#narrator.finishReason(event.reason, event.stopSequence));
    } else {
      const text = this.#narrator.text(event);
      if (text !== "") return [this.#chunk([choice(text, null)], null)];
    }
    return NOTHING;
  }

  fail(error: ServiceError): Uint8Array {
    return renderOpenAiStreamFailure(error, this.#context.requestId);
  }

  #finish(reason: string): readonly Uint8Array[] {
    const events = [this.#chunk([choice("", reason)], null)];
    const usage = this.#context.request.includeUsage ? printUsage(this.#usage) : null;
    if (usage !== null) events.push(this.#chunk([], usage));
    events.push(formatSseEvent("[DONE]"));
    return events;
  }

  #chunk(choices: readonly JsonObject[], usage: JsonObject | null): Uint8Array {
    const body = completion(this.#context, this.#created, this.#model, choices);
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
  const narrator = new Narrator();
  let text = "";
  for (const [index, block] of blocks.entries()) {
    if (block.kind === "tool_call") narrator.dropped.add("tool_call_dropped");
    else if (block.kind === "reasoning") {
      if (block.text !== "") narrator.dropped.add("reasoning_dropped");
      if (block.signature !== null) narrator.dropped.add("signature_dropped");
    } else if (block.kind === "refusal")
      text += narrator.text({ type: "refusal", index, text: block.text });
    else {
      text += narrator.text({ type: "text", index, text: block.text, logprobs: block.logprobs });
      if (block.citations.length > 0) narrator.dropped.add("citations_dropped");
    }
  }
  const reason = finish === null ? null : narrator.finishReason(finish.reason, finish.stopSequence);
  const body = completion(context, context.now(), model ?? context.model, [choice(text, reason)]);
  const said = printUsage(usage);
  return { body: said === null ? body : { ...body, usage: said }, dropped: [...narrator.dropped] };
}

function completion(
  { answerId }: AnswerContext,
  created: number,
  model: string,
  choices: readonly JsonObject[],
): JsonObject {
  return { id: `cmpl-${answerId}`, object: "text_completion", created, model, choices };
}

function choice(text: string, finish: string | null): JsonObject {
  return { text, index: 0, logprobs: null, finish_reason: finish };
}

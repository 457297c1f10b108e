import type { ServiceError } from "../../canon/error.ts";
import type { Citation, FinishReason, InferenceEvent, OpenBlock } from "../../canon/generate/event.ts";
import type { DroppedField } from "../../canon/generate/dropped-field.ts";
import { tagSignature } from "../../canon/generate/signature.ts";
import { mergeUsage } from "../answer-members.ts";
import type { TokenUsage } from "../../canon/generate/usage.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext, EventRenderer } from "../dialect.ts";
import { renderOpenAiStreamFailure } from "./family.ts";
import { formatSseEvent } from "../sse.ts";
import { codePoints, formatFinishReason, printUsage } from "./finish.ts";
import { pieceName, reasoningDetails } from "./reasoning-details.ts";
import { printCitation, printLogprobs } from "./print-parts.ts";

const NONE: readonly Uint8Array[] = Object.freeze([]);

/**
 * Prints events as chunks (docs/protocols.md#chat-completions): the role first, calls with their id and name on the first fragment only, one chunk with the
 * finish reason, the counts where the caller requested them, `[DONE]`.
 */
class ChatStreamRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  readonly #wantsLogprobs: boolean;
  readonly #dropped = new Set<DroppedField>();
  /** Every chunk's text up to its choices, and after them. */
  #head = "";
  readonly #tail: string;
  #usage: TokenUsage | null = null;
  #open: OpenBlock | null = null;
  #calls = -1;
  /** The open reasoning block's text: its signature goes out beside all that it signs. */
  #reasoning = "";
  #details = 0;
  #pieces = 0;
  #annotations = 0;
  /** Code points of text in closed blocks, and in the open one. */
  #before = 0;
  #length = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#wantsLogprobs = context.request.body["logprobs"] === true;
    this.#tail = context.request.includeUsage ? `,"usage":null}` : "}";
  }

  get dropped(): readonly DroppedField[] {
    return [...this.#dropped];
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    switch (event.type) {
      case "start":
        this.#begin(event.model);
        return [this.#delta({ role: "assistant", content: "" })];
      case "open":
        return this.#openBlock(event.block);
      case "text":
        this.#length += codePoints(event.text);
        return [this.#delta({ content: event.text }, this.#wantsLogprobs ? printLogprobs(event.logprobs) : null)];
      case "refusal":
        return [this.#delta({ refusal: event.text })];
      case "reasoning":
        this.#reasoning += event.text;
        return [this.#delta({ reasoning_content: event.text })];
      case "signature":
        return [this.#signed(tagSignature(event.family, event.signature))];
      case "arguments":
        return [this.#delta({ tool_calls: [{ index: this.#calls, function: { arguments: event.json } }] })];
      case "citation":
        return this.#cite(event.citation);
      case "close":
        this.#before += this.#length;
        this.#length = 0;
        return NONE;
      case "usage":
        this.#usage = mergeUsage(this.#usage, event.usage);
        return NONE;
      case "finish":
        if (event.stopSequence !== null) this.#dropped.add("stop_sequence_unnamed");
        return this.#finish(event.reason);
      case "dropped":
      case "failure":
        return NONE;
    }
  }

  fail(error: ServiceError): Uint8Array {
    return renderOpenAiStreamFailure(error, this.#context.requestId);
  }

  #begin(model: string | null): void {
    const { answerId, now } = this.#context;
    const common = JSON.stringify({
      id: `chatcmpl-${answerId}`,
      object: "chat.completion.chunk",
      created: now(),
      model: model ?? this.#context.model,
    });
    this.#head = `${common.slice(0, -1)},"choices":`;
  }

  #openBlock(block: OpenBlock): readonly Uint8Array[] {
    this.#open = block;
    this.#reasoning = "";
    if (block.kind !== "tool_call") return NONE;
    this.#calls += 1;
    const { id, name } = block;
    const call = { index: this.#calls, id, type: "function", function: { name, arguments: "" } };
    return [this.#delta({ tool_calls: [call] })];
  }

  #signed(signature: string): Uint8Array {
    const summary = this.#open?.kind === "reasoning" && this.#open.summary;
    const details = reasoningDetails({ text: this.#reasoning, summary }, signature, pieceName(this.#pieces));
    this.#pieces += 1;
    // Clients that join lists of deltas do so by their index, so two details of one piece may not share it.
    const numbered = details.map((detail, offset) => ({ ...detail, index: this.#details + offset }));
    this.#details += details.length;
    return this.#delta({ reasoning_details: numbered });
  }

  #cite(citation: Citation): readonly Uint8Array[] {
    const printed = printCitation(citation, this.#before, this.#length);
    if (printed === null) {
      this.#dropped.add("citations_dropped");
      return NONE;
    }
    const annotation = { index: this.#annotations, ...printed };
    this.#annotations += 1;
    return [this.#delta({ annotations: [annotation] })];
  }

  #finish(reason: FinishReason): readonly Uint8Array[] {
    const printed = JSON.stringify(formatFinishReason(reason));
    const last = `[{"index":0,"delta":{},"logprobs":null,"finish_reason":${printed}}]`;
    const events = [formatSseEvent(this.#head + last + this.#tail)];
    const usage = this.#context.request.includeUsage ? printUsage(this.#usage) : null;
    if (usage !== null) events.push(formatSseEvent(`${this.#head}[],"usage":${JSON.stringify(usage)}}`));
    events.push(formatSseEvent("[DONE]"));
    return events;
  }

  #delta(delta: JsonObject, logprobs: JsonObject | null = null): Uint8Array {
    const beside = logprobs === null ? "null" : JSON.stringify(logprobs);
    const choice = `[{"index":0,"delta":${JSON.stringify(delta)},"logprobs":${beside},"finish_reason":null}]`;
    return formatSseEvent(this.#head + choice + this.#tail);
  }
}

export function renderChatStream(context: AnswerContext): EventRenderer {
  return new ChatStreamRenderer(context);
}

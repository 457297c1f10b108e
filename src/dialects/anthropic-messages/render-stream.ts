import type { ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import { tagSignature } from "../../canon/generate/signature.ts";
import { mergeUsage } from "../json.ts";
import type { InferenceEvent, OpenBlock, TokenUsage } from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";
import { renderAnthropicError } from "./family.ts";
import type { AnswerContext, EventRenderer } from "../dialect.ts";
import { formatSseEvent } from "../sse.ts";
import { redactedData, tagThinking, UNSIGNED, UNSIGNED_SUMMARY } from "./reasoning.ts";
import { emptyMessage, stopOf, formatUsage, hasUnknownCounts } from "./render-answer.ts";

/**
 * Prints events as a messages stream (docs/protocols.md#messages): `message_start`, blocks one
 * after the other, `message_delta`, `message_stop`. The beginning waits for the next event, because
 * that may be usage, and clients require counts in the beginning.
 */
class MessagesRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  readonly #dropped = new Set<DroppedField>();
  #model: string | null = null;
  #begun = false;
  #usage: TokenUsage | null = null;
  /**
   * The open reasoning block: whether it has been printed decides what kind it may still become.
   */
  #reasoning: { printed: boolean; signed: boolean; readonly summary: boolean } | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  get dropped(): readonly DroppedField[] {
    return [...this.#dropped];
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    switch (event.type) {
      case "start":
        this.#model = event.model;
        return NONE;
      case "usage":
        this.#usage = mergeUsage(this.#usage, event.usage);
        return NONE;
      case "dropped":
        this.#dropped.add(event.field);
        return NONE;
      case "citation":
        this.#dropped.add("citations_dropped");
        return NONE;
      case "failure":
        throw new Error("MessagesRenderer: a failure is not pushed");
      case "open":
      case "text":
      case "refusal":
      case "reasoning":
      case "signature":
      case "arguments":
      case "close":
      case "finish":
        return this.#begun ? this.#print(event) : [this.#begin(), ...this.#print(event)];
    }
  }

  fail(error: ServiceError): Uint8Array {
    return formatSseEvent(renderAnthropicError(error, this.#context.requestId), "error");
  }

  #begin(): Uint8Array {
    this.#begun = true;
    const message = emptyMessage(this.#context, this.#model);
    return named("message_start", { message: { ...message, usage: formatUsage(this.#usage) } });
  }

  #print(event: Printed): readonly Uint8Array[] {
    switch (event.type) {
      case "open":
        return this.#open(event.index, event.block);
      case "text":
      case "refusal":
        return event.text === ""
          ? NONE
          : [delta(event.index, { type: "text_delta", text: event.text })];
      case "arguments":
        return [delta(event.index, { type: "input_json_delta", partial_json: event.json })];
      case "reasoning":
        return [
          ...this.#openThinking(event.index),
          delta(event.index, { type: "thinking_delta", thinking: event.text }),
        ];
      case "signature":
        return this.#sign(event.index, event.family, event.signature);
      case "close":
        return this.#close(event.index);
      case "finish": {
        const stop = stopOf(event, this.#context, this.#dropped);
        if (hasUnknownCounts(this.#usage)) this.#dropped.add("usage_unknown");
        return [
          named("message_delta", { delta: stop, usage: formatUsage(this.#usage) }),
          named("message_stop", {}),
        ];
      }
    }
  }

  #open(index: number, block: OpenBlock): readonly Uint8Array[] {
    if (block.kind === "reasoning") {
      this.#reasoning = { printed: false, signed: false, summary: block.summary };
      return NONE;
    }
    const content =
      block.kind === "tool_call"
        ? {
            type: "tool_use",
            id: block.id,
            name: block.name,
            input: {},
            caller: { type: "direct" },
          }
        : { type: "text", text: "" };
    return [opened(index, content)];
  }

  #openThinking(index: number): readonly Uint8Array[] {
    if (this.#reasoning?.printed !== false) return NONE;
    this.#reasoning.printed = true;
    return [opened(index, { type: "thinking", thinking: "", signature: "" })];
  }

  #sign(index: number, family: string, signature: string): readonly Uint8Array[] {
    const { printed, summary } = this.#reasoning ?? { printed: true, summary: false };
    const data = printed ? null : redactedData(signature);
    const signed = {
      type: "signature_delta",
      signature: tagThinking(family, signature, summary && printed),
    };
    const events =
      data === null
        ? [...this.#openThinking(index), delta(index, signed)]
        : [opened(index, { type: "redacted_thinking", data: tagSignature(family, data) })];
    this.#reasoning = { printed: true, signed: true, summary };
    return events;
  }

  #close(index: number): readonly Uint8Array[] {
    const events: Uint8Array[] = [];
    if (this.#reasoning !== null) {
      events.push(...this.#openThinking(index));
      if (!this.#reasoning.signed)
        events.push(
          delta(index, {
            type: "signature_delta",
            signature: this.#reasoning.summary ? UNSIGNED_SUMMARY : UNSIGNED,
          }),
        );
      this.#reasoning = null;
    }
    events.push(named("content_block_stop", { index }));
    return events;
  }
}

export function renderMessagesStream(context: AnswerContext): EventRenderer {
  return new MessagesRenderer(context);
}

type Printed = Extract<
  InferenceEvent,
  {
    type:
      | "open"
      | "text"
      | "refusal"
      | "reasoning"
      | "signature"
      | "arguments"
      | "close"
      | "finish";
  }
>;

const NONE: readonly Uint8Array[] = Object.freeze([]);

function named(type: string, members: JsonObject): Uint8Array {
  return formatSseEvent(JSON.stringify({ type, ...members }), type);
}

function opened(index: number, block: JsonObject): Uint8Array {
  return named("content_block_start", { index, content_block: block });
}

function delta(index: number, change: JsonObject): Uint8Array {
  return named("content_block_delta", { index, delta: change });
}

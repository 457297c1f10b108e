import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import type { DroppedField } from "../../canon/generate/dropped-field.ts";
import { mergeUsage, type TokenUsage } from "../../canon/generate/usage.ts";
import type { AnswerStream, Ending, EventParser, EventRenderer } from "../dialect.ts";

/** One dialect's parser and another's printer, back to back. */
export class TranslatedStream implements AnswerStream {
  readonly #parser: EventParser;
  readonly #renderer: EventRenderer;
  readonly #dropped = new Set<DroppedField>();
  #finish: FinishReason | null = null;
  usage: TokenUsage | null = null;
  failure: UpstreamFailure | null = null;
  hasOutput = false;
  outputCharacters = 0;
  done = false;

  constructor(parser: EventParser, renderer: EventRenderer) {
    this.#parser = parser;
    this.#renderer = renderer;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.done) return NONE;
    return this.#render(this.#parser.push(chunk));
  }

  end(): { readonly ending: Ending; readonly events: readonly Uint8Array[] } {
    const events = this.done || this.failure !== null ? NONE : this.#render(this.#parser.end());
    if (!this.done) this.failure ??= { kind: "truncated", status: null, retryAfter: null, code: null };
    for (const field of this.#renderer.dropped) this.#dropped.add(field);
    const ending = { failure: this.failure, finish: this.#finish, usage: this.usage, dropped: [...this.#dropped] };
    return { ending, events };
  }

  fail(error: ServiceError): Uint8Array {
    return this.#renderer.fail(error);
  }

  #render(events: readonly InferenceEvent[]): readonly Uint8Array[] {
    const printed: Uint8Array[] = [];
    for (const event of events) {
      if (event.type === "failure") {
        this.failure = event.failure;
        break;
      }
      if (event.type === "dropped") this.#dropped.add(event.field);
      if (event.type === "usage") this.usage = mergeUsage(this.usage, event.usage);
      for (const bytes of this.#renderer.push(event)) printed.push(bytes);
      this.hasOutput ||= isOutput(event);
      this.outputCharacters += charactersOf(event);
      if (event.type === "finish") {
        this.#finish = event.reason;
        this.done = true;
        break;
      }
    }
    return printed;
  }
}

/** A block that opens says nothing, but for a call, which has its name from the beginning. */
function isOutput(event: InferenceEvent): boolean {
  switch (event.type) {
    case "open":
      return event.block.kind === "tool_call";
    case "text":
    case "refusal":
    case "reasoning":
      return event.text !== "";
    case "arguments":
      return event.json !== "";
    case "signature":
    case "citation":
    case "finish":
      return true;
    case "start":
    case "close":
    case "usage":
    case "dropped":
    case "failure":
      return false;
  }
}

function charactersOf(event: InferenceEvent): number {
  if (event.type === "text" || event.type === "refusal" || event.type === "reasoning") return event.text.length;
  return event.type === "arguments" ? event.json.length : 0;
}

const NONE: readonly Uint8Array[] = Object.freeze([]);

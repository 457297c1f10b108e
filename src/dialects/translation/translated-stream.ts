import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import { mergeUsage, type TokenUsage } from "../../canon/generate/usage.ts";
import type { AnswerStream, Ending, EventParser, EventRenderer } from "../dialect.ts";

/** One dialect's parser and another's printer, back to back. */
export class TranslatedStream implements AnswerStream {
  readonly #parser: EventParser;
  readonly #renderer: EventRenderer;
  /** What was printed before the answer has said anything. It is not sent yet: a provider that fails now can still be replaced. */
  #held: Uint8Array[] | null = [];
  readonly #losses = new Set<Loss>();
  #finish: FinishReason | null = null;
  usage: TokenUsage | null = null;
  failure: UpstreamFailure | null = null;
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
    for (const loss of this.#renderer.losses) this.#losses.add(loss);
    const ending = { failure: this.failure, finish: this.#finish, usage: this.usage, losses: [...this.#losses] };
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
      if (event.type === "loss") this.#losses.add(event.loss);
      if (event.type === "usage") this.usage = mergeUsage(this.usage, event.usage);
      const bytes = this.#renderer.push(event);
      if (this.#held === null) {
        for (const one of bytes) printed.push(one);
      } else if (saysNothing(event)) {
        for (const one of bytes) this.#held.push(one);
      } else {
        for (const one of this.#held) printed.push(one);
        for (const one of bytes) printed.push(one);
        this.#held = null;
      }
      if (event.type === "finish") {
        this.#finish = event.reason;
        this.done = true;
        break;
      }
    }
    return printed;
  }
}

function saysNothing({ type }: InferenceEvent): boolean {
  return type === "start" || type === "usage" || type === "loss";
}

const NONE: readonly Uint8Array[] = Object.freeze([]);

import type { ServiceError } from "../../canon/error.ts";
import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import { NO_EDITS, type EditSet } from "../../canon/generate/edit.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import type { TokenUsage } from "../../canon/generate/usage.ts";
import type { AnswerStream, Ending } from "../dialect.ts";
import { MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../sse.ts";
import { answerFailure } from "../translation/answer-failure.ts";

/** Ends an event whose provider left the blank line out. */
const BLANK_LINE = new TextEncoder().encode("\n\n");

/** Observes a stream of server-sent events on its way to a caller of the same protocol, one whole event at a time. */
export abstract class RelayedStream implements AnswerStream {
  readonly #framer = new SseFramer();
  protected finish: FinishReason | null = null;
  failure: UpstreamFailure | null = null;
  hasOutput = false;
  outputCharacters = 0;
  done = false;
  edits: EditSet = NO_EDITS;

  abstract get usage(): TokenUsage | null;

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.done) return NONE;
    const events: Uint8Array[] = [];
    for (const event of this.#framer.push(chunk)) this.#relay(event, events);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.refuse("too_large");
    return events;
  }

  end(): { readonly ending: Ending; readonly events: readonly Uint8Array[] } {
    const rest = this.#framer.end();
    const events: Uint8Array[] = [];
    if (parseSseEvent(rest).data !== null) {
      this.#relay(rest, events);
      if (events.at(-1) === rest) events.push(BLANK_LINE);
    }
    this.close(events);
    const { failure, finish, usage, edits } = this;
    return { ending: { failure, finish, usage, dropped: [], edits }, events };
  }

  abstract fail(error: ServiceError): Uint8Array;

  /** Reads one event that has data, and adds to `events` what goes to the client because of it. */
  protected abstract relay(bytes: Uint8Array, data: string, name: string | null, events: Uint8Array[]): void;

  /** The provider's bytes have ended: judges whether the answer is whole, and adds what closes it. */
  protected abstract close(events: Uint8Array[]): void;

  protected refuse(kind: FailureKind): void {
    this.failure ??= answerFailure(kind);
  }

  #relay(bytes: Uint8Array, events: Uint8Array[]): void {
    if (this.failure !== null || this.done) return;
    const { event, data } = parseSseEvent(bytes);
    if (data === null) events.push(bytes);
    else this.relay(bytes, data, event, events);
  }
}

const NONE: readonly Uint8Array[] = Object.freeze([]);

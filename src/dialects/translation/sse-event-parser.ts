import type { UpstreamFailure } from "../../canon/failure.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { EventParser } from "../dialect.ts";
import { MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer, type SseEvent } from "../sse.ts";
import { answerFailure } from "./answer-failure.ts";

/** What makes events of one dialect's answer; it gives its terminal event once. */
export interface AnswerReader {
  /** The terminal event has been made; nothing more is read. */
  readonly over: boolean;
  /** Ends the answer as failed; without effect where it is over. */
  fail(failure: UpstreamFailure): void;
  /** The events made since the last call. */
  drain(): readonly InferenceEvent[];
}

/** Reads server-sent events of dialects whose own words end an answer: bytes that end before them were cut off. */
export abstract class SseEventParser<Reader extends AnswerReader> implements EventParser {
  readonly #framer = new SseFramer();
  protected readonly reader: Reader;

  constructor(reader: Reader) {
    this.reader = reader;
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    if (this.reader.over) return NONE;
    for (const event of this.#framer.push(chunk)) this.#read(event);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.reader.fail(answerFailure("too_large"));
    return this.reader.drain();
  }

  end(): readonly InferenceEvent[] {
    if (this.reader.over) return NONE;
    // A provider may leave the last blank line out.
    this.#read(this.#framer.end());
    this.reader.fail(answerFailure("truncated"));
    return this.reader.drain();
  }

  /** Reads one event that has data. */
  protected abstract take(data: string, name: SseEvent["event"]): void;

  #read(bytes: Uint8Array): void {
    if (this.reader.over) return;
    const { event, data } = parseSseEvent(bytes);
    if (data !== null) this.take(data, event);
  }
}

const NONE: readonly InferenceEvent[] = Object.freeze([]);

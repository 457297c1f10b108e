import type { UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField } from "../canon/generate/dropped-field.ts";
import type { FinishReason, InferenceEvent } from "../canon/generate/event.ts";
import { BlockSequencer } from "./block-sequencer.ts";
import { answerFailure } from "./answer-failure.ts";

/** Gathers the events of one answer of a provider, those of its blocks in between. Its terminal event is made once, and is the last. */
export abstract class AnswerEvents {
  protected readonly blocks = new BlockSequencer();
  readonly #dropped = new Set<DroppedField>();
  #events: InferenceEvent[] = [];
  #over = false;

  /** A `finish` or a `failure` has been made: nothing follows. */
  get over(): boolean {
    return this.#over;
  }

  /** The events made since the last call. */
  drain(): readonly InferenceEvent[] {
    this.flush();
    if (this.#events.length === 0) return NONE;
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Ends the answer as failed; without effect where it is over. */
  fail(failure: UpstreamFailure): void {
    if (this.#over) return;
    this.flush();
    this.#events.push({ type: "failure", failure });
    this.#over = true;
  }

  /** Ends the answer, after its open blocks. */
  protected finish(reason: FinishReason, stopSequence: string | null = null): void {
    this.blocks.closeAll();
    this.flush();
    this.#events.push({ type: "finish", reason, stopSequence });
    this.#over = true;
  }

  protected emit(event: InferenceEvent): void {
    this.#events.push(event);
  }

  /** Reports a dropped field once, after the pieces that came before it. */
  protected drop(field: DroppedField): void {
    if (this.#over || this.#dropped.has(field)) return;
    this.#dropped.add(field);
    this.flush();
    this.#events.push({ type: "dropped", field });
  }

  /** Adds what the blocks have made. What a failing answer held besides is not part of it. */
  protected flush(): void {
    if (this.#over) return;
    for (const event of this.blocks.drain()) this.#events.push(event);
  }
}

const NONE: readonly InferenceEvent[] = Object.freeze([]);

/** An answer that failed before anything of it was read. */
export function failedAnswer(failure: UpstreamFailure): readonly InferenceEvent[] {
  return [{ type: "failure", failure }];
}

/** The answer to a count of tokens: nothing was generated. @param input `null`: it has no count, so it is none. */
export function countedTokens(input: number | null, cacheRead: number | null = null): readonly InferenceEvent[] {
  if (input === null) return failedAnswer(answerFailure("malformed"));
  return [
    { type: "start", model: null },
    { type: "usage", usage: { input, output: null, cacheRead, cacheWrite: null, reasoning: null } },
    { type: "finish", reason: "stop", stopSequence: null },
  ];
}

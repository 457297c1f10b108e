import type { UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField } from "../canon/generate/dropped-field.ts";
import type { FinishReason, InferenceEvent, OpenBlock } from "../canon/generate/event.ts";
import { BlockSequencer } from "./block-sequencer.ts";
import { answerFailure } from "./answer-failure.ts";
import { mergeUsage } from "./answer-members.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { AnswerBlock, Answer } from "../canon/generate/answer.ts";

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

/** Joins events to the answer that they describe: a stream and a whole answer give the same result. */
class AnswerCollector {
  readonly #blocks: AnswerBlock[] = [];
  #model: string | null = null;
  #usage: TokenUsage | null = null;
  #finish: Answer["finish"] = null;
  #failure: UpstreamFailure | null = null;

  /** The answer so far; its blocks go on growing. */
  get answer(): Answer {
    return {
      model: this.#model,
      blocks: this.#blocks,
      usage: this.#usage,
      finish: this.#finish,
      failure: this.#failure,
    };
  }

  push(event: InferenceEvent): void {
    switch (event.type) {
      case "start":
        this.#model = event.model;
        break;
      case "open":
        this.#blocks.push(emptyBlock(event.block));
        break;
      case "usage":
        this.#usage = mergeUsage(this.#usage, event.usage);
        break;
      case "finish":
        this.#finish = { reason: event.reason, stopSequence: event.stopSequence };
        break;
      case "failure":
        this.#failure = event.failure;
        break;
      case "dropped":
      case "close":
        break;
      case "text":
      case "refusal":
      case "reasoning":
      case "signature":
      case "arguments":
      case "citation": {
        const block = this.#blocks[event.index];
        if (block !== undefined) extend(block, event);
      }
    }
  }
}

/** Joins all events of an answer. */
export function collectAnswer(events: Iterable<InferenceEvent>): Answer {
  const collector = new AnswerCollector();
  for (const event of events) collector.push(event);
  return collector.answer;
}

type Delta = Extract<
  InferenceEvent,
  { type: "text" | "refusal" | "reasoning" | "signature" | "arguments" | "citation" }
>;

function emptyBlock(block: OpenBlock): AnswerBlock {
  switch (block.kind) {
    case "text":
      return { kind: "text", text: "", logprobs: [], citations: [] };
    case "refusal":
      return { kind: "refusal", text: "" };
    case "reasoning":
      return { kind: "reasoning", text: "", summary: block.summary, signature: null, family: null };
    case "tool_call":
      return { kind: "tool_call", id: block.id, name: block.name, arguments: "" };
  }
}

/** A delta of another kind than its block breaks a law; it changes nothing here, and the laws' tests find it. */
function extend(block: AnswerBlock, delta: Delta): void {
  if (block.kind === "text" && delta.type === "text") {
    block.text += delta.text;
    for (const logprob of delta.logprobs) block.logprobs.push(logprob);
  } else if (block.kind === "text" && delta.type === "citation") {
    block.citations.push(delta.citation);
  } else if (block.kind === "refusal" && delta.type === "refusal") {
    block.text += delta.text;
  } else if (block.kind === "reasoning" && delta.type === "reasoning") {
    block.text += delta.text;
  } else if (block.kind === "reasoning" && delta.type === "signature") {
    block.signature = delta.signature;
    block.family = delta.family;
  } else if (block.kind === "tool_call" && delta.type === "arguments") {
    block.arguments += delta.json;
  }
}

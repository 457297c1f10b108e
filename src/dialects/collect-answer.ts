import type { UpstreamFailure } from "../canon/failure.ts";
import type {
  Answer,
  AnswerBlock,
  InferenceEvent,
  OpenBlock,
  TokenUsage,
} from "../canon/generate/event.ts";
import { mergeUsage } from "./json.ts";

/**
 * Joins events to the answer that they describe: a stream and a whole answer give the same result.
 */
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

/**
 * A delta of another kind than its block breaks a law; it changes nothing here, and the laws' tests
 * find it.
 */
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

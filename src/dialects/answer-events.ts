import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type {
  Answer,
  AnswerBlock,
  Citation,
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenLogprob,
} from "../canon/generate/event.ts";
import { isJsonObject, type JsonMember } from "../canon/json.ts";
import { failureOfAnswer } from "./answer-ends.ts";
import { mergeUsage, textOrNull } from "./json.ts";

/**
 * Collects the events of one answer of a provider, with those of its blocks in order. It emits one
 * terminal event, which is the last.
 */
export abstract class AnswerEvents {
  protected readonly blocks = new BlockSequencer();
  readonly #dropped = new Set<DroppedField>();
  readonly #family: string | null;
  #events: InferenceEvent[] = [];
  /** A `finish` or a `failure` has been emitted: nothing follows. */
  over = false;

  /** @param family who can read the signatures of the endpoint's model; `null`: unknown. */
  constructor(family: string | null = null) {
    this.#family = family;
  }

  /** The events since the last call. */
  drain(): readonly InferenceEvent[] {
    this.flush();
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Ends the answer as failed; without effect where it is over. */
  fail(failure: UpstreamFailure | FailureKind, code?: string | null): void {
    if (this.over) return;
    this.flush();
    for (const event of failedAnswer(failure, code)) this.#events.push(event);
    this.over = true;
  }

  /**
   * Closes the open blocks and ends the answer. It fails where the pieces of a call do not belong
   * together, and where an answer without output has no proper end. With output, an unknown reason
   * is an end too: the answer is paid for, and may be whole.
   */
  protected finish(reason: FinishReason, stopSequence: string | null = null): void {
    if (this.over) return;
    const isUnknown = reason === "other" || reason === "pause";
    const { blocks } = this;
    if (blocks.torn) return this.fail("malformed", "torn_tool_call");
    if (blocks.empty && isUnknown) return this.fail("malformed", "unknown_finish_reason");
    if (blocks.empty && this.#dropped.has("unknown_content_dropped"))
      return this.fail("malformed", "unexpected_output_item");
    blocks.closeAll();
    this.flush();
    if (isUnknown) this.drop("finish_reason_unknown");
    // Some protocols have one reason for answers with and without calls; others keep `stop` under a
    // named tool choice.
    const ended = isUnknown
      ? "other"
      : reason === "stop" && blocks.hasCalls
        ? "tool_calls"
        : reason;
    this.#events.push({
      type: "finish",
      reason: ended,
      stopSequence: ended === "stop_sequence" ? stopSequence : null,
    });
    this.over = true;
  }

  /** The bytes of a stream have ended before the events that end the answer: it was cut off. */
  endBytes(): void {
    this.fail("truncated");
  }

  /** Signs the reasoning block of the key. A signature that no family can read is dropped. */
  protected sign(signature: string, key?: string): void {
    if (signature === "") return;
    if (this.#family === null) this.drop("signature_dropped");
    else this.blocks.signature(signature, this.#family, key);
  }

  /** Without effect where the answer is over. */
  protected emit(event: InferenceEvent): void {
    if (!this.over) this.#events.push(event);
  }

  /** Reports a dropped field once, after the pieces before it. */
  protected drop(field: DroppedField): void {
    if (this.over || this.#dropped.has(field)) return;
    this.#dropped.add(field);
    this.flush();
    this.#events.push({ type: "dropped", field });
  }

  /** Adds the events of the blocks; none after the end of the answer. */
  protected flush(): void {
    if (this.over) return;
    for (const event of this.blockEvents()) this.#events.push(event);
  }

  /** Block events since the last call. */
  protected blockEvents(): readonly InferenceEvent[] {
    return this.blocks.drain();
  }
}

/** An answer that failed before any of it was read. */
export function failedAnswer(
  failure: UpstreamFailure | FailureKind,
  code?: string | null,
): readonly InferenceEvent[] {
  return [{ type: "failure", failure: failureOfAnswer(failure, code) }];
}

/**
 * A citation of an address, without a position in the text; `null` for one of the request's own
 * documents.
 */
export function urlCitation(url: JsonMember, title: JsonMember): Citation | null {
  return typeof url === "string" ? { url, title: textOrNull(title), start: null, end: null } : null;
}

/** The answer to a token count. @param input `null` makes it a failure. */
export function countedTokens(
  input: number | null,
  cacheRead: number | null = null,
): readonly InferenceEvent[] {
  if (input === null) return failedAnswer("malformed");
  return [
    { type: "start", model: null },
    { type: "usage", usage: { input, output: null, cacheRead, cacheWrite: null, reasoning: null } },
    { type: "finish", reason: "stop", stopSequence: null },
  ];
}

type DeltaEvent = Extract<
  InferenceEvent,
  { type: "text" | "refusal" | "reasoning" | "signature" | "arguments" | "citation" }
>;

/** One piece of a block. */
type Delta = WithoutIndex<DeltaEvent>;
type WithoutIndex<Event> = Event extends unknown ? Omit<Event, "index"> : never;

interface WaitingBlock {
  readonly key: string;
  readonly block: OpenBlock;
  readonly deltas: Delta[];
}

/**
 * Arranges the pieces of an answer in blocks that do not overlap, as the laws of `InferenceEvent`
 * require, whatever the order in which a provider sends them. A tool call is closed only when its
 * arguments are whole JSON or the answer ends; pieces of other blocks wait until then, so that
 * interleaved calls stay whole (docs/protocols.md#blocks-of-a-stream).
 */
export class BlockSequencer {
  #events: InferenceEvent[] = [];
  #index = -1;
  #live: WaitingBlock | null = null;
  /** Whether the arguments of the live tool call are whole. */
  #document = new JsonDocument();
  #waiting: WaitingBlock[] = [];
  readonly #closedTools = new Set<string>();
  /** A piece arrived for a closed tool call: the answer cannot be written as blocks. */
  torn = false;
  hasCalls = false;

  /** Whether any block was ever opened. */
  get empty(): boolean {
    return this.#index === -1 && this.#live === null;
  }

  /** The events made since the last call. */
  drain(): readonly InferenceEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  text(text: string, logprobs: readonly TokenLogprob[] = [], key = ""): void {
    if (text === "" && logprobs.length === 0) return;
    this.#add(`text ${key}`, { kind: "text" }, { type: "text", text, logprobs });
  }

  refusal(text: string, key = ""): void {
    if (text !== "") this.#add(`refusal ${key}`, { kind: "refusal" }, { type: "refusal", text });
  }

  reasoning(text: string, summary: boolean, key = ""): void {
    if (text !== "")
      this.#add(`reasoning ${key}`, { kind: "reasoning", summary }, { type: "reasoning", text });
  }

  /**
   * Signs the reasoning block of the key; opens an empty one where there is none (redacted
   * reasoning).
   */
  signature(signature: string, family: string, key = ""): void {
    this.#add(
      `reasoning ${key}`,
      { kind: "reasoning", summary: false },
      { type: "signature", signature, family },
    );
  }

  citation(citation: Citation, key = ""): void {
    this.#add(`text ${key}`, { kind: "text" }, { type: "citation", citation });
  }

  openTool(key: string, id: string, name: string): void {
    this.hasCalls = true;
    this.#add(`tool ${key}`, { kind: "tool_call", id, name });
  }

  arguments(key: string, json: string): void {
    const name = `tool ${key}`;
    if (this.#closedTools.has(name)) {
      if (json.trim() !== "") this.torn = true;
      return;
    }
    if (json === "") return;
    const delta: Delta = { type: "arguments", json };
    if (this.#live?.key === name) this.#emit(delta);
    else this.#waiting.find((block) => block.key === name)?.deltas.push(delta);
    this.#advance();
  }

  /**
   * Ends the live block, so that the next piece of its kind begins another; waiting pieces may
   * follow.
   */
  close(): void {
    if (this.#live === null) return;
    this.#closeLive();
    this.#advance();
  }

  /** Closes all blocks: the answer is whole. */
  closeAll(): void {
    for (;;) {
      if (this.#live !== null) this.#closeLive();
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#open(next);
    }
  }

  #add(key: string, block: OpenBlock, ...deltas: Delta[]) {
    const last = this.#waiting.at(-1);
    if (this.#live?.key === key) for (const delta of deltas) this.#emit(delta);
    else if (last?.key === key) last.deltas.push(...deltas);
    else {
      this.#waiting.push({ key, block, deltas });
      this.#advance();
    }
  }

  /** Opens waiting blocks while the live one may be closed. */
  #advance() {
    while (this.#waiting.length > 0) {
      const live = this.#live;
      if (live !== null) {
        if (live.block.kind === "tool_call" && !this.#document.isWhole) return;
        this.#closeLive();
      }
      const next = this.#waiting.shift();
      if (next !== undefined) this.#open(next);
    }
  }

  #open(block: WaitingBlock) {
    this.#index += 1;
    this.#live = block;
    this.#document = new JsonDocument();
    this.#events.push({ type: "open", index: this.#index, block: block.block });
    for (const delta of block.deltas) this.#emit(delta);
  }

  #emit(delta: Delta) {
    if (delta.type === "arguments") this.#document.push(delta.json);
    this.#events.push({ ...delta, index: this.#index });
  }

  #closeLive() {
    const live = this.#live;
    if (live === null) return;
    if (live.block.kind === "tool_call") {
      // Every surface writes a call without arguments with an empty object.
      if (this.#document.isEmpty)
        this.#events.push({ type: "arguments", index: this.#index, json: "{}" });
      this.#closedTools.add(live.key);
    }
    this.#events.push({ type: "close", index: this.#index });
    this.#live = null;
  }
}

/**
 * Detects by its brackets when an object or list that arrives in pieces is whole. Each character is
 * read once, however many pieces there are; text that is not JSON follows the same rule and fails
 * in its reader.
 */
class JsonDocument {
  #depth = 0;
  #begun = false;
  #inString = false;
  #escaped = false;

  /** Only white space has arrived. */
  isEmpty = true;

  get isWhole(): boolean {
    return this.#begun && this.#depth <= 0;
  }

  push(text: string): void {
    this.isEmpty &&= text.trim() === "";
    for (const character of text) {
      if (this.#escaped) this.#escaped = false;
      else if (character === '"') this.#inString = !this.#inString;
      else if (this.#inString) this.#escaped = character === "\\";
      else if (character === "{" || character === "[") {
        this.#begun = true;
        this.#depth += 1;
      } else if (character === "}" || character === "]") this.#depth -= 1;
    }
  }
}

/** Joins the events of an answer; a stream and a whole answer give the same result. */
export function collectAnswer(events: Iterable<InferenceEvent>): Answer {
  const blocks: AnswerBlock[] = [];
  let model: Answer["model"] = null;
  let usage: Answer["usage"] = null;
  let finish: Answer["finish"] = null;
  let failure: Answer["failure"] = null;
  for (const event of events) {
    const { type } = event;
    if (type === "start") ({ model } = event);
    else if (type === "usage") usage = mergeUsage(usage, event.usage);
    else if (type === "failure") ({ failure } = event);
    else if (type === "finish") {
      const { reason, stopSequence } = event;
      finish = { reason, stopSequence };
    } else if (type === "open") blocks.push(emptyBlock(event.block));
    else if (type !== "close" && type !== "dropped") {
      const block = blocks[event.index];
      if (block !== undefined) extend(block, event);
    }
  }
  return { model, blocks, usage, finish, failure };
}

/** The events that a stream has for one block. */
export function blockEvents(block: AnswerBlock, index: number): readonly InferenceEvent[] {
  const deltas: InferenceEvent[] = [];
  switch (block.kind) {
    case "text":
      deltas.push({ type: "text", index, text: block.text, logprobs: block.logprobs });
      for (const citation of block.citations) deltas.push({ type: "citation", index, citation });
      break;
    case "refusal":
      deltas.push({ type: "refusal", index, text: block.text });
      break;
    case "reasoning": {
      const { text, signature, family } = block;
      if (text !== "") deltas.push({ type: "reasoning", index, text });
      if (signature !== null && family !== null)
        deltas.push({ type: "signature", index, signature, family });
      break;
    }
    case "tool_call":
      deltas.push({ type: "arguments", index, json: block.arguments });
  }
  return [{ type: "open", index, block }, ...deltas, { type: "close", index }];
}

function emptyBlock(block: OpenBlock): AnswerBlock {
  switch (block.kind) {
    case "text":
      return { ...block, text: "", logprobs: [], citations: [] };
    case "refusal":
      return { ...block, text: "" };
    case "reasoning":
      return { ...block, text: "", signature: null, family: null };
    case "tool_call":
      return { ...block, arguments: "" };
  }
}

/**
 * A delta of another kind than its block breaks a law: it is ignored here, and the tests of the
 * laws find it.
 */
function extend(block: AnswerBlock, delta: DeltaEvent) {
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

const NO_LOGPROBS: readonly TokenLogprob[] = Object.freeze([]);

/**
 * Log probabilities in the form of chat completions and responses; entries without a token or a
 * number are omitted. `bytes` is `null` where there are none.
 */
export function readTokenLogprobs(value: JsonMember): readonly TokenLogprob[] {
  if (!Array.isArray(value)) return NO_LOGPROBS;
  return value.flatMap((entry) => {
    if (!isJsonObject(entry)) return [];
    const { token, logprob, bytes, top_logprobs: top } = entry;
    if (typeof token !== "string" || typeof logprob !== "number") return [];
    return [
      {
        token,
        logprob,
        bytes:
          Array.isArray(bytes) && bytes.length > 0
            ? bytes.filter((byte) => typeof byte === "number")
            : null,
        top: Array.isArray(top) ? top.filter(isJsonObject) : [],
      },
    ];
  });
}

import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  Citation,
  FinishReason,
  InferenceEvent,
  TokenLogprob,
  TokenUsage,
} from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { answerFailure } from "../answer-ends.ts";
import {
  AnswerEvents,
  countedTokens,
  readTokenLogprobs,
  type BlockSequencer,
} from "../answer-events.ts";
import type { EventParser } from "../dialect.ts";
import {
  countIn,
  listOf,
  memberIn,
  numberOrNull,
  parseAnswerBytes,
  parseJsonText,
  readCount,
  textOf,
  textOrNull,
  wholeOutput,
} from "../json.ts";
import { readErrorFrame } from "../openai-chat/ending.ts";
import { REQUEST_FAILURES } from "../refusals.ts";
import { SseEventParser } from "../sse.ts";

/**
 * Reads the items of an answer. It ignores kinds of events that have no meaning in other protocols.
 */
class ResponseReader extends AnswerEvents {
  readonly #emitter: ItemEmitter;
  #started = false;

  /** @param family who can read the signatures of the endpoint's model. */
  constructor(family: string | null) {
    super();
    this.#emitter = new ItemEmitter(this.blocks, family);
  }

  /** The resource of the first event, or none. */
  start(response: JsonValue | undefined): void {
    if (this.#started || this.over) return;
    this.#started = true;
    this.emit({ type: "start", model: textOrNull(memberIn(response, "model")) });
  }

  override fail(failure: UpstreamFailure | FailureKind, code?: string): void {
    this.start(null);
    super.fail(failure, code);
  }

  takeItemEvent(type: string, event: JsonObject): void {
    this.start(null);
    const emitter = this.#emitter;
    const index = numberOrNull(event.output_index) ?? 0;
    const content = numberOrNull(event.content_index) ?? 0;
    const summary = numberOrNull(event.summary_index) ?? 0;
    const { delta, item, part, text } = event;
    switch (type) {
      case "response.output_item.added":
        return isJsonObject(item) ? emitter.added(index, item) : undefined;
      case "response.output_item.done":
        return isJsonObject(item) ? emitter.done(index, item) : undefined;
      case "response.output_text.delta":
        return emitter.text(index, content, textOf(delta), readTokenLogprobs(event.logprobs));
      case "response.output_text.done":
        if (!emitter.hasText(index, content))
          emitter.text(index, content, textOf(text), readTokenLogprobs(event.logprobs));
        return;
      case "response.output_text.annotation.added":
        return emitter.annotation(index, content, event.annotation);
      case "response.refusal.delta":
        return emitter.refused(index, content, textOf(delta));
      case "response.refusal.done":
        if (!emitter.hasText(index, content))
          emitter.refused(index, content, textOf(event.refusal));
        return;
      case "response.content_part.done":
      case "response.reasoning_part.done":
        return isJsonObject(part) ? emitter.part(index, content, part) : undefined;
      case "response.reasoning_text.delta":
      case "response.reasoning.delta":
        return emitter.reasoning(index, content, textOf(delta), false);
      case "response.reasoning_text.done":
      case "response.reasoning.done":
        if (!emitter.hasReasoning(index)) emitter.reasoning(index, content, textOf(text), false);
        return;
      case "response.reasoning_summary_text.delta":
        return emitter.reasoning(index, summary, textOf(delta), true);
      case "response.reasoning_summary_text.done":
        if (!emitter.hasReasoning(index)) emitter.reasoning(index, summary, textOf(text), true);
        return;
      case "response.function_call_arguments.delta":
        return emitter.arguments(index, textOf(delta));
      case "response.function_call_arguments.done":
        if (!emitter.hasArguments(index)) emitter.arguments(index, textOf(event.arguments));
        return;
      default:
        // Without its `done`, or an item that repeats it, a piece of a new kind is lost.
        if (type.endsWith(".delta")) this.drop("unknown_content_dropped");
    }
  }

  /** Ends the answer where an impossible event was reported. */
  settle(): void {
    this.flush();
    const { unexpected } = this.#emitter;
    if (unexpected !== null) this.fail("malformed", unexpected);
  }

  /**
   * The resource at the end of the answer. Items that no event reported stand in the whole output
   * only. Neither positions nor ids alone identify them: some providers leave positions out, some
   * change ids.
   */
  conclude({ output, usage: counts }: JsonObject, judge: (said: OutputSummary) => Terminal): void {
    for (const [index, item] of listOf(output).entries()) {
      if (isJsonObject(item) && !this.#emitter.has(index, item)) this.#emitter.done(index, item);
    }
    this.flush();
    const usage = readUsage(counts);
    if (usage !== null) this.emit({ type: "usage", usage });
    const terminal = judge(this.#emitter);
    if (terminal.kind === "failure") return this.fail(terminal.failure);
    this.settle();
    for (const field of this.#emitter.dropped) this.drop(field);
    this.finish(terminal.reason);
  }
}

/** Reads a responses stream as events (docs/protocols.md#responses). */
class ResponsesStreamParser extends SseEventParser<ResponseReader> {
  protected override take(data: string, event: string | null): void {
    const { reader } = this;
    // The end of the transport before the end of the answer.
    if (data === "[DONE]") return reader.fail("truncated");
    const value = parseJsonText(data);
    if (!isJsonObject(value)) return reader.fail("malformed");
    const type = typeof value.type === "string" ? value.type : event;
    if (type === "error" || (type === null && isJsonObject(value.error))) {
      return reader.fail(readErrorFrame(value.error ?? value));
    }
    switch (type) {
      case null:
        return reader.fail("malformed");
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return reader.start(value.response);
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.#terminal(type, value.response);
      default:
        reader.takeItemEvent(type, value);
        reader.settle();
    }
  }

  #terminal(type: string, response: JsonValue | undefined): void {
    this.reader.start(response);
    if (!isJsonObject(response)) return this.reader.fail("malformed");
    this.reader.conclude(response, (said) =>
      terminalOf(terminalStatus(type, response), response, said),
    );
  }
}

/** @param family who can read the signatures of the endpoint's model. */
export function parseResponsesStream(family: string | null): EventParser {
  return new ResponsesStreamParser(new ResponseReader(family));
}

/**
 * A whole response resource as the events that a stream of it would be.
 *
 * @param family who can read the signatures of the endpoint's model.
 */
export function parseResponsesAnswer(
  bytes: Uint8Array,
  family: string | null,
): readonly InferenceEvent[] {
  const reader = new ResponseReader(family);
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) reader.fail("malformed");
  else {
    const { error, status } = response;
    reader.start(response);
    if (isJsonObject(error) && status === undefined) reader.fail(readErrorFrame(error));
    else reader.conclude(response, (said) => wholeTerminal(response, said));
  }
  return reader.drain();
}

/** The answer to a token count: nothing was generated. */
export function parseTokenCount(bytes: Uint8Array): readonly InferenceEvent[] {
  const answer = parseAnswerBytes(bytes);
  return countedTokens(countIn(answer, "input_tokens"));
}

/** State of one output item. */
interface Reported {
  /**
   * Content indices whose text has been reported; by kind, because providers count reasoning and
   * messages alike.
   */
  readonly texts: Set<number>;
  /** Content index → how many annotations. */
  readonly annotations: Map<number, number>;
  /** Summary or reasoning text: the index that was reported last. */
  lastReasoning: { readonly key: string; readonly index: number } | null;
  opened: boolean;
  arguments: boolean;
  done: boolean;
}

/**
 * Emits output items to a sequencer, once, whether they come in deltas, whole when they are done,
 * or whole in a JSON answer. Keys are output indices: providers change the ids of items on the way.
 */
class ItemEmitter implements OutputSummary {
  readonly #sequencer: BlockSequencer;
  readonly #family: string | null;
  readonly #reported = new Map<number, Reported>();
  readonly #ids = new Set<string>();
  readonly dropped = new Set<DroppedField>();
  calls = false;
  refusal = false;
  /** An item of a kind that no translated request can have requested, or a call without a name. */
  unexpected: "unexpected_output_item" | "unnamed_call" | null = null;

  /**
   * @param family who can read the signatures of this endpoint's model; `null` where none is known.
   */
  constructor(sequencer: BlockSequencer, family: string | null) {
    this.#sequencer = sequencer;
    this.#family = family;
  }

  /** An item begins. A call is opened where its name is known. */
  added(index: number, item: JsonObject): void {
    const { type, id } = item;
    if (typeof id === "string") this.#ids.add(id);
    if (type === "function_call") this.#openCall(index, item);
    else if (type !== "message" && type !== "reasoning")
      this.unexpected ??= "unexpected_output_item";
    this.#of(index);
  }

  text(index: number, content: number, text: string, logprobs: readonly TokenLogprob[]): void {
    this.#of(index).texts.add(content);
    this.#sequencer.text(text, logprobs, `${index} ${content}`);
  }

  refused(index: number, content: number, text: string): void {
    this.refusal = true;
    this.#of(index).texts.add(content);
    this.#sequencer.refusal(text, `${index} ${content}`);
  }

  /** Several texts of one item are paragraphs of one block, so that the item has one signature. */
  reasoning(index: number, part: number, text: string, summary: boolean): void {
    if (text === "") return;
    const reported = this.#of(index);
    const key = `${index} ${summary ? "summary" : "text"}`;
    const last = reported.lastReasoning;
    const isNext = last !== null && last.key === key && last.index !== part;
    reported.lastReasoning = { key, index: part };
    this.#sequencer.reasoning(isNext ? `\n\n${text}` : text, summary, key);
  }

  arguments(index: number, json: string): void {
    this.#of(index).arguments = true;
    this.#sequencer.arguments(String(index), json);
  }

  annotation(index: number, content: number, annotation: JsonValue | undefined): void {
    const { annotations } = this.#of(index);
    annotations.set(content, (annotations.get(content) ?? 0) + 1);
    const citation = readCitation(annotation);
    if (citation === null) this.dropped.add("citations_dropped");
    else this.#sequencer.citation(citation, `${index} ${content}`);
  }

  /** Whether the text of a content index has been reported in deltas. */
  hasText(index: number, content: number): boolean {
    return this.#reported.get(index)?.texts.has(content) ?? false;
  }

  hasArguments(index: number): boolean {
    return this.#reported.get(index)?.arguments ?? false;
  }

  /** Whether anything of an item's reasoning has been reported. */
  hasReasoning(index: number): boolean {
    return (this.#reported.get(index)?.lastReasoning ?? null) !== null;
  }

  /** Whether an event has reported the item at the index, or of an item of the same id. */
  has(index: number, { id }: JsonObject): boolean {
    return this.#reported.has(index) || (typeof id === "string" && this.#ids.has(id));
  }

  /** An item is whole: reports the rest. */
  done(index: number, item: JsonObject): void {
    const reported = this.#of(index);
    if (reported.done) return;
    reported.done = true;
    if (typeof item.id === "string") this.#ids.add(item.id);
    switch (textOf(item.type)) {
      case "message":
        return this.#message(index, item, reported);
      case "reasoning":
        return this.#reasoningItem(index, item, reported);
      case "function_call":
        this.#openCall(index, item);
        if (!reported.arguments && typeof item.arguments === "string")
          this.arguments(index, item.arguments);
        return;
      default:
        this.unexpected ??= "unexpected_output_item";
    }
  }

  /**
   * A content part is whole: its text, where no delta had it, and its annotations, where no event
   * did.
   */
  part(index: number, content: number, part: JsonObject): void {
    const { type, text, refusal } = part;
    if (!this.hasText(index, content)) {
      if (type === "output_text" && typeof text === "string")
        this.text(index, content, text, readTokenLogprobs(part.logprobs));
      else if (type === "refusal" && typeof refusal === "string")
        this.refused(index, content, refusal);
    }
    if (type === "reasoning_text" && typeof text === "string" && !this.hasReasoning(index)) {
      this.reasoning(index, content, text, false);
    }
    const { annotations } = part;
    if (!Array.isArray(annotations)) return;
    const reported = this.#of(index).annotations.get(content) ?? 0;
    for (const annotation of annotations.slice(reported))
      this.annotation(index, content, annotation);
  }

  #message(index: number, item: JsonObject, reported: Reported): void {
    const { content } = item;
    if (!Array.isArray(content)) return;
    // Some providers count content from 1 in their deltas: as many texts as parts means that all
    // have been reported.
    if (reported.texts.size >= content.length) return;
    for (const [position, part] of content.entries())
      if (isJsonObject(part)) this.part(index, position, part);
  }

  #reasoningItem(index: number, item: JsonObject, reported: Reported): void {
    const { content, summary, encrypted_content: sealed } = item;
    if (reported.lastReasoning === null) {
      this.#texts(index, summary, true);
      this.#texts(index, content, false);
    }
    if (typeof sealed !== "string" || sealed === "") return;
    if (this.#family === null) this.dropped.add("signature_dropped");
    else
      this.#sequencer.signature(
        sealed,
        this.#family,
        reported.lastReasoning?.key ?? `${index} text`,
      );
  }

  #texts(index: number, parts: JsonValue | undefined, summary: boolean): void {
    if (!Array.isArray(parts)) return;
    for (const [position, part] of parts.entries()) {
      if (isJsonObject(part) && typeof part.text === "string")
        this.reasoning(index, position, part.text, summary);
    }
  }

  #openCall(index: number, item: JsonObject): void {
    const reported = this.#of(index);
    if (reported.opened) return;
    const { name, call_id: callId, id } = item;
    const known = typeof callId === "string" && callId !== "" ? callId : id;
    if (typeof name !== "string" || name === "" || typeof known !== "string") {
      this.unexpected ??= "unnamed_call";
      return;
    }
    reported.opened = true;
    this.calls = true;
    this.#sequencer.openTool(String(index), known, name);
  }

  #of(index: number): Reported {
    const known = this.#reported.get(index);
    if (known !== undefined) return known;
    const reported: Reported = {
      texts: new Set(),
      annotations: new Map(),
      lastReasoning: null,
      opened: false,
      arguments: false,
      done: false,
    };
    this.#reported.set(index, reported);
    return reported;
  }
}

/** Citations of URLs; positions of an empty span say nothing. */
function readCitation(annotation: JsonValue | undefined): Citation | null {
  if (!isJsonObject(annotation) || annotation.type !== "url_citation") return null;
  const { url, title, start_index: start, end_index: end } = annotation;
  if (typeof url !== "string") return null;
  const hasPosition = typeof start === "number" && typeof end === "number" && start !== end;
  return {
    url,
    title: typeof title === "string" && title !== "" ? title : null,
    start: hasPosition ? start : null,
    end: hasPosition ? end : null,
  };
}

/** How an answer ended, as its resource says. */
type Terminal =
  | { readonly kind: "finish"; readonly reason: FinishReason }
  | { readonly kind: "failure"; readonly failure: UpstreamFailure };

/**
 * What an answer held, as far as it decides the finish reason: this protocol has one value for most
 * of them.
 */
export interface OutputSummary {
  readonly calls: boolean;
  readonly refusal: boolean;
}

/**
 * Why an answer is incomplete (docs/protocols.md#responses); another value is `other`, which ends
 * native relays only.
 */
const INCOMPLETE_REASONS: ReadonlyMap<JsonValue | undefined, FinishReason> = new Map<
  JsonValue,
  FinishReason
>([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
]);

/**
 * Reads the resource that ends an answer. A status of an answer that still goes on, or an unknown
 * one, makes the answer malformed. One with an error has failed, whatever its status says.
 *
 * @param status the resource's, or what the event that carries it says.
 */
export function terminalOf(
  status: JsonValue | undefined,
  response: JsonObject,
  said: OutputSummary,
): Terminal {
  const { error } = response;
  if (error != null) return { kind: "failure", failure: readErrorFrame(error) };
  switch (textOf(status)) {
    case "completed":
      return {
        kind: "finish",
        reason: said.calls ? "tool_calls" : said.refusal ? "refusal" : "stop",
      };
    case "incomplete": {
      const details = response.incomplete_details;
      const reason = isJsonObject(details) ? INCOMPLETE_REASONS.get(details.reason) : undefined;
      return { kind: "finish", reason: reason ?? "other" };
    }
    case "failed":
    case "cancelled":
      return { kind: "failure", failure: readErrorFrame(null) };
    default:
      return { kind: "failure", failure: answerFailure("malformed") };
  }
}

/**
 * The status that a terminal event reports. A failure is one wherever it stands; `null` where the
 * event and its resource report different ends, so it is unknown which is true.
 */
export function terminalStatus(type: string, response: JsonObject): JsonValue {
  const named = type.slice("response.".length);
  const status = response.status ?? named;
  if (status === named || status === "failed" || status === "cancelled") return status;
  return named === "failed" ? named : null;
}

/**
 * How a whole answer ended. One with `failed` is an answer too: no other endpoint is tried. One
 * that failed because of the request is an error instead, as in streams before their first output.
 */
export function wholeTerminal(response: JsonObject, said: OutputSummary): Terminal {
  const { status } = response;
  const terminal = terminalOf(status, response, said);
  // A provider that failed before it had any output may leave it out.
  if (terminal.kind === "finish" && !Array.isArray(response.output))
    return { kind: "failure", failure: answerFailure("malformed") };
  if (
    terminal.kind === "finish" ||
    status !== "failed" ||
    REQUEST_FAILURES.has(terminal.failure.code ?? "")
  )
    return terminal;
  return { kind: "failure", failure: { ...terminal.failure, final: true } };
}

/** Summary of an output list. */
export function summarizeOutput(output: JsonValue | undefined): OutputSummary {
  const items = Array.isArray(output) ? output.filter(isJsonObject) : [];
  return {
    calls: items.some(({ type }) => type === "function_call" || type === "custom_tool_call"),
    refusal: items.some(({ content }) => Array.isArray(content) && content.some(isRefusal)),
  };
}

function isRefusal(part: JsonValue): boolean {
  return isJsonObject(part) && part.type === "refusal";
}

/** Reads the `usage` of a response resource; `null` where it has none. */
export function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const { input_tokens_details: inputs, output_tokens_details: outputs } = usage;
  const cacheRead = countIn(inputs, "cached_tokens");
  const cacheWrite = countIn(inputs, "cache_write_tokens");
  const reasoning = countIn(outputs, "reasoning_tokens");
  const input = readCount(usage.input_tokens);
  const output = wholeOutput(
    readCount(usage.output_tokens),
    reasoning,
    input,
    readCount(usage.total_tokens),
  );
  return { input, output, cacheRead, cacheWrite, reasoning };
}

/**
 * `usage` as the protocol demands it; `null` where a total is unknown. The details have no value
 * for unknown: a provider that does not report cached or reasoning tokens is reported as 0, which
 * is what the protocol's own providers without a cache say.
 */
export function printUsage(usage: TokenUsage | null): JsonObject | null {
  if (usage === null || usage.input === null || usage.output === null) return null;
  const written = usage.cacheWrite === null ? {} : { cache_write_tokens: usage.cacheWrite };
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, ...written },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}

import type { ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  Answer,
  AnswerBlock,
  Citation,
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenLogprob,
  TokenUsage,
} from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext, EventRenderer } from "../dialect.ts";
import { mergeUsage } from "../json.ts";
import {
  ID_PREFIXES,
  OpenItem,
  callItem,
  messageItem,
  openPart,
  outputTextPart,
  printCitation,
  printLogprob,
  printOpenPart,
  reasoningItem,
  refusalPart,
  type ItemStatus,
  type OpenPart,
} from "./items.ts";
import { printUsage } from "./read-answer.ts";
import {
  DONE,
  conclusionOf,
  failureObject,
  printErrorEvent,
  printFailed,
  requestEcho,
} from "./resource.ts";
import { formatSseEvent } from "../sse.ts";

/**
 * Prints an answer as a responses stream (docs/protocols.md#order-of-responses-events):
 * `response.created` first, items and parts opened before their deltas and done in reverse,
 * sequence numbers from 0 without gaps, the whole resource in every lifecycle event, `[DONE]` last.
 * An item is done only when the next one begins or the answer ends, because only then is it known
 * whether it was cut off.
 */
class ResponsesRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  readonly #echo: JsonObject;
  readonly #createdAt: number;
  readonly #dropped = new Set<DroppedField>();
  readonly #output: JsonObject[] = [];
  #printed: Uint8Array[] = [];
  #sequence = 0;
  #model: string;
  #started = false;
  #item: OpenItem | null = null;
  #refused = false;
  #usage: TokenUsage | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#echo = requestEcho(context.request.body);
    this.#createdAt = context.now();
    this.#model = context.model;
  }

  get dropped(): readonly DroppedField[] {
    return [...this.#dropped];
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    this.#take(event);
    const printed = this.#printed;
    this.#printed = [];
    return printed;
  }

  fail(error: ServiceError): Uint8Array {
    const { requestId } = this.#context;
    if (!this.#started) return printErrorEvent(error, requestId);
    const output =
      this.#item === null ? this.#output : [...this.#output, this.#item.print("incomplete")];
    const response = this.#resource({
      status: "failed",
      error: failureObject(error, requestId),
      output,
    });
    return printFailed(response, this.#sequence);
  }

  #take(event: InferenceEvent): void {
    switch (event.type) {
      case "start":
        return this.#start(event.model);
      case "open":
        return this.#open(event.block);
      case "text":
        return this.#text(event.text, event.logprobs);
      case "refusal":
        return this.#plainDelta("response.refusal.delta", event.text);
      case "reasoning":
        return this.#reasoning(event.text);
      case "signature":
        if (this.#item !== null) this.#item.signature = event;
        return;
      case "arguments":
        return this.#arguments(event.json);
      case "citation":
        return this.#citation(event.citation);
      case "close":
        return this.#closeBlock();
      case "usage":
        this.#usage = mergeUsage(this.#usage, event.usage);
        return;
      case "finish":
        return this.#finish(event.reason, event.stopSequence);
      case "dropped":
      case "failure":
    }
  }

  #start(model: string | null): void {
    this.#model = model ?? this.#context.model;
    this.#started = true;
    this.#emit("response.created", { response: this.#resource({}) });
    this.#emit("response.in_progress", { response: this.#resource({}) });
  }

  #open(block: OpenBlock): void {
    const isPart = block.kind === "text" || block.kind === "refusal";
    if (!isPart || this.#item?.kind !== "message") {
      this.#closeItem("completed");
      const item = new OpenItem(block, this.#output.length, this.#context.answerId);
      this.#item = item;
      this.#emit("response.output_item.added", {
        output_index: item.index,
        item: item.print("in_progress"),
      });
    }
    if (block.kind === "refusal") this.#refused = true;
    if (isPart) this.#openPart(block.kind === "text" ? "output_text" : "refusal");
  }

  #openPart(kind: OpenPart["kind"]): void {
    const item = this.#item;
    if (item === null) return;
    const part = openPart(kind);
    item.part = part;
    const isSummary = kind === "summary_text";
    this.#emitPartEvent(
      isSummary ? "response.reasoning_summary_part.added" : "response.content_part.added",
      item,
      {
        part: printOpenPart(part),
      },
    );
  }

  #text(text: string, logprobs: readonly TokenLogprob[]): void {
    const item = this.#item;
    const part = item?.part;
    if (item === null || part == null) return;
    const printed = logprobs.map(printLogprob);
    part.text += text;
    for (const logprob of printed) part.logprobs.push(logprob);
    this.#emitPartEvent("response.output_text.delta", item, { delta: text, logprobs: printed });
  }

  #plainDelta(type: string, delta: string): void {
    const item = this.#item;
    if (item === null || item.part === null) return;
    item.part.text += delta;
    this.#emitPartEvent(type, item, { delta });
  }

  /** A part begins with its first text: reasoning that is only signed has none. */
  #reasoning(text: string): void {
    const item = this.#item;
    if (item === null) return;
    if (item.part === null) this.#openPart(item.isSummary ? "summary_text" : "reasoning_text");
    item.reasoning += text;
    this.#plainDelta(
      item.isSummary ? "response.reasoning_summary_text.delta" : "response.reasoning_text.delta",
      text,
    );
  }

  #arguments(json: string): void {
    const item = this.#item;
    if (item === null) return;
    item.arguments += json;
    this.#emitItemEvent("response.function_call_arguments.delta", item, { delta: json });
  }

  #citation(citation: Citation): void {
    const item = this.#item;
    const part = item?.part;
    if (item === null || part == null) return;
    const annotation = printCitation(citation, part.text);
    if (annotation === null) {
      this.#dropped.add("citations_dropped");
      return;
    }
    const index = part.annotations.length;
    part.annotations.push(annotation);
    this.#emitPartEvent("response.output_text.annotation.added", item, {
      annotation_index: index,
      annotation,
    });
  }

  #closeBlock(): void {
    const item = this.#item;
    if (item === null) return;
    if (item.kind === "function_call") {
      return this.#emitItemEvent("response.function_call_arguments.done", item, {
        arguments: item.arguments,
      });
    }
    const { part } = item;
    if (part === null) return;
    const { kind, text, logprobs } = part;
    if (kind === "output_text")
      this.#emitPartEvent("response.output_text.done", item, { text, logprobs });
    else if (kind === "refusal")
      this.#emitPartEvent("response.refusal.done", item, { refusal: text });
    else if (kind === "reasoning_text")
      this.#emitPartEvent("response.reasoning_text.done", item, { text });
    else this.#emitPartEvent("response.reasoning_summary_text.done", item, { text });
    const done =
      kind === "summary_text"
        ? "response.reasoning_summary_part.done"
        : "response.content_part.done";
    this.#emitPartEvent(done, item, { part: printOpenPart(part) });
    item.endPart(part);
  }

  #closeItem(status: ItemStatus): void {
    const item = this.#item;
    if (item === null) return;
    const printed = item.print(status);
    this.#emit("response.output_item.done", { output_index: item.index, item: printed });
    this.#output.push(printed);
    this.#item = null;
  }

  #finish(reason: FinishReason, stopSequence: string | null): void {
    if (stopSequence !== null) this.#dropped.add("stop_sequence_unnamed");
    const conclusion = conclusionOf(reason, this.#refused);
    this.#closeItem(conclusion.status);
    const usage = printUsage(this.#usage);
    if (usage === null && this.#usage !== null) this.#dropped.add("usage_hidden");
    const completed = conclusion.status === "completed" ? this.#context.now() : null;
    const response = this.#resource({ ...conclusion, completed_at: completed });
    this.#emit(`response.${conclusion.status}`, { response });
    this.#printed.push(DONE);
  }

  #resource(more: JsonObject): JsonObject {
    return {
      id: `resp_${this.#context.answerId}`,
      object: "response",
      created_at: this.#createdAt,
      completed_at: null,
      status: "in_progress",
      incomplete_details: null,
      error: null,
      model: this.#model,
      output: [...this.#output],
      usage: printUsage(this.#usage),
      ...this.#echo,
      request_id: this.#context.requestId,
      ...more,
    };
  }

  #emitPartEvent(type: string, item: OpenItem, more: JsonObject): void {
    const position = item.isSummary
      ? { summary_index: item.partIndex }
      : { content_index: item.partIndex };
    this.#emitItemEvent(type, item, { ...position, ...more });
  }

  #emitItemEvent(type: string, item: OpenItem, more: JsonObject): void {
    this.#emit(type, { item_id: item.id, output_index: item.index, ...more });
  }

  #emit(type: string, more: JsonObject): void {
    const event = { type, sequence_number: this.#sequence, ...more };
    this.#sequence += 1;
    this.#printed.push(formatSseEvent(JSON.stringify(event), type));
  }
}

export function renderResponsesStream(context: AnswerContext): EventRenderer {
  return new ResponsesRenderer(context);
}

/** A whole answer as a response resource with every member that the protocol's clients demand. */
export function renderResponsesAnswer(
  answer: Answer,
  context: AnswerContext,
): { readonly body: JsonObject; readonly dropped: readonly DroppedField[] } {
  const dropped = new Set<DroppedField>();
  const reason = answer.finish?.reason ?? "other";
  if (answer.finish?.stopSequence !== null) dropped.add("stop_sequence_unnamed");
  const conclusion = conclusionOf(
    reason,
    answer.blocks.some(({ kind }) => kind === "refusal"),
  );
  const groups = groupedBlocks(answer.blocks);
  const output = groups.map((group, index) => {
    // Only the last item can be cut off.
    const status = index === groups.length - 1 ? conclusion.status : "completed";
    return printItem(group, index, status, context, dropped);
  });
  const usage = printUsage(answer.usage);
  if (usage === null && answer.usage !== null) dropped.add("usage_hidden");
  const now = context.now();
  const body = {
    id: `resp_${context.answerId}`,
    object: "response",
    created_at: now,
    completed_at: conclusion.status === "completed" ? now : null,
    ...conclusion,
    error: null,
    model: answer.model ?? context.model,
    output,
    usage,
    ...requestEcho(context.request.body),
    request_id: context.requestId,
  };
  return { body, dropped: [...dropped] };
}

/**
 * Texts and refusals that follow one another are parts of one message; every other block is an
 * item.
 */
function groupedBlocks(blocks: readonly AnswerBlock[]): readonly (readonly AnswerBlock[])[] {
  const groups: AnswerBlock[][] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    if (last !== undefined && isMessagePart(block) && last.every(isMessagePart)) last.push(block);
    else groups.push([block]);
  }
  return groups;
}

function isMessagePart({ kind }: AnswerBlock): boolean {
  return kind === "text" || kind === "refusal";
}

function printItem(
  blocks: readonly AnswerBlock[],
  index: number,
  status: ItemStatus,
  { answerId }: AnswerContext,
  dropped: Set<DroppedField>,
): JsonObject {
  const position = `${answerId}_${index}`;
  const [first] = blocks;
  if (first?.kind === "tool_call") {
    return callItem(
      `${ID_PREFIXES.function_call}_${position}`,
      status,
      first.id,
      first.name,
      first.arguments,
    );
  }
  if (first?.kind === "reasoning")
    return reasoningItem(`${ID_PREFIXES.reasoning}_${position}`, status, first);
  const parts = blocks.flatMap((block) => printPart(block, dropped));
  return messageItem(`${ID_PREFIXES.message}_${position}`, status, parts);
}

function printPart(block: AnswerBlock, dropped: Set<DroppedField>): readonly JsonObject[] {
  if (block.kind === "refusal") return [refusalPart(block.text)];
  if (block.kind !== "text") return [];
  const annotations = block.citations.flatMap((citation) => {
    const printed = printCitation(citation, block.text);
    if (printed === null) dropped.add("citations_dropped");
    return printed === null ? [] : [printed];
  });
  return [outputTextPart(block.text, annotations, block.logprobs.map(printLogprob))];
}

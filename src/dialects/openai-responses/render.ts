import type { ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  Answer,
  Citation,
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenLogprob,
  TokenUsage,
} from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";
import { blockEvents } from "../answer-events.ts";
import type { AnswerContext, EventRenderer, Translation } from "../dialect.ts";
import { mergeUsage, textOf } from "../json.ts";
import { codePoints } from "../openai-chat/family.ts";
import { DONE_EVENT, formatSseEvent } from "../sse.ts";
import { printUsage } from "./read-answer.ts";
import {
  conclusionOf,
  failureObject,
  printErrorEvent,
  printFailed,
  requestEcho,
  sealReasoning,
} from "./resource.ts";

/** A whole answer as a response resource with every member that the protocol's clients require. */
export const renderResponsesAnswer: Translation["renderAnswer"] = (answer, context) =>
  new ResponsesRenderer(context, false).whole(answer);

/**
 * Renders an answer as a responses stream (docs/protocols.md#order-of-responses-events):
 * `response.created` first, items and parts opened before their deltas and done in reverse,
 * sequence numbers from 0 without gaps, the whole resource in every lifecycle event, `[DONE]` last.
 * An item is done only when the next one begins or the answer ends, because only then is it known
 * whether it was cut off.
 */
export class ResponsesRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  /** Whole answers need no events. */
  readonly #isStream: boolean;
  readonly #echo: JsonObject;
  readonly #createdAt: number;
  readonly dropped = new Set<DroppedField>();
  readonly #output: JsonObject[] = [];
  #printed: Uint8Array[] = [];
  #sequence = 0;
  #model: string;
  #started = false;
  #item: OpenItem | null = null;
  #hasRefusal = false;
  #usage: TokenUsage | null = null;

  constructor(context: AnswerContext, isStream: boolean) {
    this.#context = context;
    this.#isStream = isStream;
    this.#echo = requestEcho(context.request.body);
    this.#createdAt = context.now();
    this.#model = context.model;
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    this.#render(event);
    const printed = this.#printed;
    this.#printed = [];
    return printed;
  }

  whole({ model, blocks, usage, finish }: Answer): ReturnType<Translation["renderAnswer"]> {
    this.#start(model);
    for (const event of blocks.flatMap(blockEvents)) this.#render(event);
    this.#usage = usage;
    const body = this.#conclude(finish?.reason ?? "other", finish?.stopSequence ?? null);
    return { body, dropped: [...this.dropped] };
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

  #render(event: InferenceEvent): void {
    if (event.type === "start") return this.#start(event.model);
    if (event.type === "open") return this.#open(event.block);
    if (event.type === "finish") {
      const response = this.#conclude(event.reason, event.stopSequence);
      this.#emit(`response.${textOf(response.status)}`, { response });
      this.#printed.push(DONE_EVENT);
      return;
    }
    if (event.type === "usage") this.#usage = mergeUsage(this.#usage, event.usage);
    const item = this.#item;
    if (item === null || event.type === "usage") return;
    if (event.type === "dropped" || event.type === "failure") return;
    switch (event.type) {
      case "text":
        return this.#delta(item, event.text, event.logprobs.map(printLogprob));
      case "refusal":
        return this.#delta(item, event.text);
      case "reasoning":
        // The first text opens the part: reasoning that is only signed has none.
        if (item.part === null)
          this.#openPart(item, item.isSummary ? "summary_text" : "reasoning_text");
        item.text += event.text;
        return this.#delta(item, event.text);
      case "signature":
        item.signature = event;
        return;
      case "arguments":
        item.text += event.json;
        return this.#emitItemEvent("response.function_call_arguments.delta", item, {
          delta: event.json,
        });
      case "citation":
        return this.#cite(item, event.citation);
      case "close":
        return this.#closeBlock(item);
    }
  }

  #start(model: string | null) {
    this.#model = model ?? this.#context.model;
    this.#started = true;
    this.#emit("response.created", { response: this.#resource({}) });
    this.#emit("response.in_progress", { response: this.#resource({}) });
  }

  #open(block: OpenBlock) {
    const isPart = block.kind === "text" || block.kind === "refusal";
    if (!isPart || this.#item?.kind !== "message") {
      this.#closeItem("completed");
      const item = new OpenItem(block, this.#output.length, this.#context.answerId);
      this.#item = item;
      const added = { output_index: item.index, item: item.print("in_progress") };
      this.#emit("response.output_item.added", added);
    }
    if (block.kind === "refusal") this.#hasRefusal = true;
    if (isPart && this.#item !== null)
      this.#openPart(this.#item, block.kind === "text" ? "output_text" : "refusal");
  }

  #openPart(item: OpenItem, kind: OpenPart["kind"]) {
    item.part = { kind, text: "", annotations: [], logprobs: [] };
    this.#emitPartEvent(`${partEvents(kind)}.added`, item, { part: printPart(item.part) });
  }

  /** Text of the open part. */
  #delta(item: OpenItem, delta: string, logprobs?: readonly JsonObject[]) {
    const { part } = item;
    if (part === null) return;
    part.text += delta;
    for (const logprob of logprobs ?? []) part.logprobs.push(logprob);
    this.#emitPartEvent(`${textEvents(part.kind)}.delta`, item, { delta, logprobs });
  }

  #cite(item: OpenItem, citation: Citation) {
    const { part } = item;
    if (part === null) return;
    const annotation = printCitation(citation, part.text);
    if (annotation === null) {
      this.dropped.add("citations_dropped");
      return;
    }
    const added = { annotation_index: part.annotations.length, annotation };
    part.annotations.push(annotation);
    this.#emitPartEvent("response.output_text.annotation.added", item, added);
  }

  #closeBlock(item: OpenItem): void {
    const { part } = item;
    if (item.kind === "function_call") {
      const members = { arguments: item.text };
      return this.#emitItemEvent("response.function_call_arguments.done", item, members);
    }
    if (part === null) return;
    const { kind } = part;
    const printed = printPart(part);
    const { text, refusal, logprobs } = printed;
    this.#emitPartEvent(`${textEvents(kind)}.done`, item, { text, refusal, logprobs });
    this.#emitPartEvent(`${partEvents(kind)}.done`, item, { part: printed });
    item.parts.push(printed);
    item.part = null;
  }

  #closeItem(status: ItemStatus) {
    const item = this.#item;
    if (item === null) return;
    const printed = item.print(status);
    this.#emit("response.output_item.done", { output_index: item.index, item: printed });
    this.#output.push(printed);
    this.#item = null;
  }

  /** Ends the answer, and gives its resource. */
  #conclude(reason: FinishReason, stopSequence: string | null): JsonObject {
    if (stopSequence !== null) this.dropped.add("stop_sequence_unnamed");
    const conclusion = conclusionOf(reason, this.#hasRefusal);
    this.#closeItem(conclusion.status);
    if (this.#usage !== null && printUsage(this.#usage) === null) this.dropped.add("usage_hidden");
    const completed = conclusion.status === "completed" ? this.#context.now() : null;
    return this.#resource({ ...conclusion, completed_at: completed });
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

  #emitPartEvent(type: string, item: OpenItem, more: JsonObject) {
    const index = item.isSummary ? "summary_index" : "content_index";
    this.#emitItemEvent(type, item, { [index]: item.parts.length, ...more });
  }

  #emitItemEvent(type: string, item: OpenItem, more: JsonObject) {
    this.#emit(type, { item_id: item.id, output_index: item.index, ...more });
  }

  #emit(type: string, more: JsonObject) {
    if (!this.#isStream) return;
    const event = { type, sequence_number: this.#sequence, ...more };
    this.#sequence += 1;
    this.#printed.push(formatSseEvent(JSON.stringify(event), type));
  }
}

type ItemStatus = "in_progress" | "completed" | "incomplete";

/**
 * Item types with the prefixes of their ids; providers check them when a client sends items back.
 */
const ID_PREFIXES = { message: "msg", reasoning: "rs", function_call: "fc" } as const;

/** An output item whose `output_item.done` has not been sent. A message may get further parts. */
class OpenItem {
  readonly id: string;
  readonly index: number;
  readonly kind: keyof typeof ID_PREFIXES;
  readonly #block: OpenBlock;
  /** Finished parts, printed. */
  readonly parts: JsonObject[] = [];
  part: OpenPart | null = null;
  /** Arguments of a call, or text of reasoning, so far. */
  text = "";
  signature: { readonly signature: string; readonly family: string } | null = null;

  constructor(block: OpenBlock, index: number, answerId: string) {
    this.#block = block;
    this.index = index;
    this.kind =
      block.kind === "tool_call"
        ? "function_call"
        : block.kind === "reasoning"
          ? "reasoning"
          : "message";
    this.id = `${ID_PREFIXES[this.kind]}_${answerId}_${index}`;
  }

  /** Whether reasoning is reported as a summary. */
  get isSummary(): boolean {
    return this.#block.kind === "reasoning" && this.#block.summary;
  }

  /** The item so far, the open part included. */
  print(status: ItemStatus): JsonObject {
    const { id, kind, text, part } = this;
    const block = this.#block;
    const head = { type: kind, id, status };
    if (block.kind === "tool_call")
      return { ...head, call_id: block.id, name: block.name, arguments: text };
    if (block.kind === "reasoning") return { ...head, ...this.#reasoning(text, block.summary) };
    const content = part === null ? [...this.parts] : [...this.parts, printPart(part)];
    return { ...head, role: "assistant", content };
  }

  /**
   * A summary goes into `summary`, full text into `content` and again beside the signature, which
   * names the family that can read it.
   */
  #reasoning(text: string, isSummary: boolean): JsonObject {
    const parts =
      text === "" ? [] : [{ type: isSummary ? "summary_text" : "reasoning_text", text }];
    const { signature } = this;
    return {
      summary: isSummary ? parts : [],
      content: isSummary || text === "" ? undefined : parts,
      encrypted_content:
        signature === null
          ? undefined
          : sealReasoning(signature.family, signature.signature, isSummary ? "" : text),
    };
  }
}

/** A content part that may get more text. */
export interface OpenPart {
  readonly kind: "output_text" | "refusal" | "summary_text" | "reasoning_text";
  text: string;
  readonly annotations: JsonObject[];
  readonly logprobs: JsonObject[];
}

/** Name of the events about the text of a part. */
function textEvents(kind: OpenPart["kind"]) {
  return `response.${kind === "summary_text" ? "reasoning_summary_text" : kind}`;
}

/** Name of the events about a part. */
function partEvents(kind: OpenPart["kind"]) {
  return `response.${kind === "summary_text" ? "reasoning_summary_part" : "content_part"}`;
}

export function printPart({ kind: type, text, ...lists }: OpenPart): JsonObject {
  if (type === "refusal") return { type, refusal: text };
  return type === "output_text" ? { type, text, ...lists } : { type, text };
}

/** The protocol requires bytes; without any from the provider the list is empty. */
function printLogprob({ top, bytes, ...logprob }: TokenLogprob): JsonObject {
  return {
    ...logprob,
    bytes: bytes ?? [],
    top_logprobs: top.map((alternative) => ({ ...alternative, bytes: alternative.bytes ?? [] })),
  };
}

/**
 * A citation of a URL; `null` for other citations. The protocol requires positions: a citation
 * without them is an empty span at the end of the block's text so far.
 */
function printCitation({ url, title, start, end }: Citation, text: string): JsonObject | null {
  if (url === null) return null;
  const hasPosition = start !== null && end !== null;
  const last = hasPosition ? 0 : codePoints(text);
  return {
    type: "url_citation",
    url,
    title: title ?? "",
    start_index: hasPosition ? start : last,
    end_index: hasPosition ? end : last,
  };
}

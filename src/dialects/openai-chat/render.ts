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
import { tagSignature } from "../../canon/generate/signature.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext, EventRenderer, Translation } from "../dialect.ts";
import { mergeUsage } from "../json.ts";
import { membersWithValue } from "../request-draft.ts";
import { DONE_EVENT, formatSseEvent } from "../sse.ts";
import { TextCounter } from "./answer-parts.ts";
import { codePoints, renderOpenAiStreamFailure } from "./family.ts";
import { printCall } from "./format.ts";
import { pieceName, reasoningDetails } from "./reasoning.ts";

/** A whole answer as one completion with one choice. */
export const renderChatAnswer: Translation["renderAnswer"] = (answer, context) => {
  const dropped = new Set<DroppedField>();
  const { message, logprobs } = printMessage(answer, dropped);
  const choice = {
    index: 0,
    message,
    logprobs: context.request.body.logprobs === true ? printLogprobs(logprobs) : null,
    finish_reason: answer.finish === null ? null : formatFinishReason(answer.finish.reason),
  };
  if (answer.finish !== null && answer.finish.stopSequence !== null)
    dropped.add("stop_sequence_unnamed");
  const body = printCompletion(answer, context, "chatcmpl", "chat.completion", choice);
  return { body, dropped: [...dropped] };
};

/**
 * Renders events in the envelope of the chunks of chat and legacy completions: the last chunk with
 * the finish reason, the token counts where the caller requested them, then `[DONE]`.
 */
export abstract class ChunkRenderer implements EventRenderer {
  readonly dropped = new Set<DroppedField>();
  readonly #context: AnswerContext;
  readonly #idPrefix: string;
  readonly #object: string;
  /** Text of every chunk before its choices, and after them. */
  #head = "";
  readonly #tail: string;
  #usage: TokenUsage | null = null;

  constructor(context: AnswerContext, idPrefix: string, object: string) {
    this.#context = context;
    this.#idPrefix = idPrefix;
    this.#object = object;
    this.#tail = context.request.includeUsage ? `,"usage":null}` : "}";
  }

  abstract push(event: InferenceEvent): readonly Uint8Array[];

  fail(error: ServiceError): Uint8Array {
    return renderOpenAiStreamFailure(error, this.#context.requestId);
  }

  protected begin(model: string | null): void {
    const { answerId, now } = this.#context;
    const common = JSON.stringify({
      id: `${this.#idPrefix}-${answerId}`,
      object: this.#object,
      created: now(),
      model: model ?? this.#context.model,
    });
    this.#head = `${common.slice(0, -1)},"choices":`;
  }

  protected count(usage: TokenUsage): void {
    this.#usage = mergeUsage(this.#usage, usage);
  }

  /** @param choice JSON text. */
  protected chunk(choice: string): Uint8Array {
    return formatSseEvent(`${this.#head}[${choice}]${this.#tail}`);
  }

  /** @param last JSON text of the choice with the finish reason. */
  protected finalEvents(last: string): readonly Uint8Array[] {
    const usage = this.#context.request.includeUsage ? printUsage(this.#usage) : undefined;
    const counts =
      usage === undefined
        ? []
        : [formatSseEvent(`${this.#head}[],"usage":${JSON.stringify(usage)}}`)];
    return [this.chunk(last), ...counts, DONE_EVENT];
  }
}

/**
 * Renders events as chunks (docs/protocols.md#chat-completions): the role first; calls with their
 * id and name on the first fragment only.
 */
export class ChatStreamRenderer extends ChunkRenderer {
  readonly #wantsLogprobs: boolean;
  #open: OpenBlock | null = null;
  #calls = -1;
  /** Text of the open reasoning block: its signature is sent beside the text that it signs. */
  #reasoning = "";
  #details = 0;
  #pieces = 0;
  #annotations = 0;
  readonly #text = new TextCounter();

  constructor(context: AnswerContext) {
    super(context, "chatcmpl", "chat.completion.chunk");
    this.#wantsLogprobs = context.request.body.logprobs === true;
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    this.#text.note(event);
    switch (event.type) {
      case "start":
        this.begin(event.model);
        return [this.#delta({ role: "assistant", content: "" })];
      case "open":
        return this.#openBlock(event.block);
      case "text": {
        const logprobs = this.#wantsLogprobs ? printLogprobs(event.logprobs) : null;
        return [this.#delta({ content: event.text }, logprobs)];
      }
      case "refusal":
        return [this.#delta({ refusal: event.text })];
      case "reasoning":
        this.#reasoning += event.text;
        return [this.#delta({ reasoning_content: event.text })];
      case "signature":
        return [this.#signed(tagSignature(event.family, event.signature))];
      case "arguments": {
        const call = { index: this.#calls, function: { arguments: event.json } };
        return [this.#delta({ tool_calls: [call] })];
      }
      case "citation":
        return this.#cite(event.citation);
      case "usage":
        this.count(event.usage);
        return [];
      case "finish":
        if (event.stopSequence !== null) this.dropped.add("stop_sequence_unnamed");
        return this.finalEvents(printChoice({}, null, formatFinishReason(event.reason)));
      case "close":
      case "dropped":
      case "failure":
        return [];
    }
  }

  #openBlock(block: OpenBlock): readonly Uint8Array[] {
    this.#open = block;
    this.#reasoning = "";
    if (block.kind !== "tool_call") return [];
    this.#calls += 1;
    const call = printCall({ ...block, arguments: "" });
    return [this.#delta({ tool_calls: [{ index: this.#calls, ...call }] })];
  }

  #signed(signature: string): Uint8Array {
    const summary = this.#open?.kind === "reasoning" && this.#open.summary;
    const piece = { text: this.#reasoning, summary };
    // Clients join lists of deltas by index, so two details of one piece need different ones.
    const details = reasoningDetails(piece, signature, pieceName(this.#pieces)).map(
      (detail, offset) => ({ ...detail, index: this.#details + offset }),
    );
    this.#pieces += 1;
    this.#details += details.length;
    return this.#delta({ reasoning_details: details });
  }

  #cite(citation: Citation): readonly Uint8Array[] {
    const printed = printCitation(citation, this.#text);
    if (printed === null) {
      this.dropped.add("citations_dropped");
      return [];
    }
    const annotation = { index: this.#annotations, ...printed };
    this.#annotations += 1;
    return [this.#delta({ annotations: [annotation] })];
  }

  #delta(delta: JsonObject, logprobs: JsonObject | null = null) {
    return this.chunk(printChoice(delta, logprobs, null));
  }
}

function printChoice(delta: JsonObject, logprobs: JsonObject | null, reason: string | null) {
  return `{"index":0,"delta":${JSON.stringify(delta)},"logprobs":${JSON.stringify(logprobs)},"finish_reason":${JSON.stringify(reason)}}`;
}

/** A whole answer of chat or legacy completions. */
export function printCompletion(
  { model, usage }: Answer,
  context: AnswerContext,
  idPrefix: string,
  object: string,
  choice: JsonObject,
): JsonObject {
  const counts = printUsage(usage);
  return {
    id: `${idPrefix}-${context.answerId}`,
    object,
    created: context.now(),
    model: model ?? context.model,
    choices: [choice],
    ...(counts !== undefined && { usage: counts }),
  };
}

/** Joins an answer's blocks to the one message that this protocol has. */
function printMessage({ blocks }: Answer, dropped: Set<DroppedField>) {
  const logprobs: TokenLogprob[] = [];
  const details: JsonObject[] = [];
  const annotations: JsonObject[] = [];
  const calls: JsonObject[] = [];
  let content: string | null = null;
  let refusal: string | null = null;
  let reasoning = "";
  let isSigned = false;
  let pieces = 0;
  for (const block of blocks) {
    if (block.kind !== "tool_call" && calls.length > 0) dropped.add("parts_reordered");
    switch (block.kind) {
      case "text": {
        const counts = { before: codePoints(content ?? ""), length: codePoints(block.text) };
        for (const citation of block.citations) {
          const printed = printCitation(citation, counts);
          if (printed === null) dropped.add("citations_dropped");
          else annotations.push(printed);
        }
        for (const logprob of block.logprobs) logprobs.push(logprob);
        content = (content ?? "") + block.text;
        break;
      }
      case "refusal":
        refusal = (refusal ?? "") + block.text;
        break;
      case "reasoning": {
        const { signature, family } = block;
        reasoning += block.text;
        isSigned ||= signature !== null;
        const tagged =
          signature === null || family === null ? null : tagSignature(family, signature);
        for (const detail of reasoningDetails(block, tagged, pieceName(pieces)))
          details.push(detail);
        pieces += 1;
        break;
      }
      case "tool_call":
        calls.push(printCall(block));
    }
  }
  const message = {
    role: "assistant",
    content: content ?? (refusal === null && calls.length === 0 ? "" : null),
    refusal,
    reasoning_content: reasoning === "" ? undefined : reasoning,
    reasoning_details: isSigned ? details : undefined,
    annotations: annotations.length === 0 ? undefined : annotations,
    tool_calls: calls.length === 0 ? undefined : calls,
  };
  return { message, logprobs };
}

/**
 * The `finish_reason` of a reason. `pause` and `other` end relayed answers only; neither may look
 * like a proper end.
 */
export function formatFinishReason(reason: FinishReason): string {
  switch (reason) {
    case "stop":
    case "stop_sequence":
      return "stop";
    case "tool_calls":
      return "tool_calls";
    case "refusal":
    case "content_filter":
      return "content_filter";
    case "length":
    case "context_window":
    case "pause":
    case "other":
      return "length";
  }
}

/**
 * The `usage` member of an answer. Unknown counts are left out, never zero; `undefined` without any
 * count.
 */
function printUsage(usage: TokenUsage | null) {
  if (usage === null || (usage.input === null && usage.output === null)) return undefined;
  const { input, output, cacheRead, cacheWrite, reasoning } = usage;
  return membersWithValue({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input === null || output === null ? null : input + output,
    prompt_tokens_details: membersWithValue({
      cached_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
    }),
    completion_tokens_details: membersWithValue({ reasoning_tokens: reasoning }),
  });
}

/** `logprobs` of a choice; `null` where there are none. */
function printLogprobs(logprobs: readonly TokenLogprob[]): JsonObject | null {
  if (logprobs.length === 0) return null;
  const content = logprobs.map(({ top, ...logprob }) => ({ ...logprob, top_logprobs: top }));
  return { content, refusal: null };
}

/**
 * One item of `annotations`; `null` for a citation without a URL. Clients require positions: a
 * citation without them covers the text of its block so far.
 */
function printCitation(
  { url, title, start, end }: Citation,
  { before, length }: Pick<TextCounter, "before" | "length">,
): JsonObject | null {
  if (url === null) return null;
  return {
    type: "url_citation",
    url_citation: {
      url,
      title: title ?? "",
      start_index: before + (start ?? 0),
      end_index: before + (end ?? length),
    },
  };
}

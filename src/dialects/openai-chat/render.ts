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
import { tagSignature } from "../../canon/generate/signature.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext, EventRenderer } from "../dialect.ts";
import { mergeUsage } from "../json.ts";
import { codePoints, renderOpenAiStreamFailure } from "./family.ts";
import { pieceName, reasoningDetails } from "./reasoning.ts";
import { formatSseEvent } from "../sse.ts";

/**
 * Prints events as chunks (docs/protocols.md#chat-completions): the role first, calls with their id
 * and name on the first fragment only, one chunk with the finish reason, the counts where the
 * caller requested them, `[DONE]`.
 */
class ChatStreamRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  readonly #wantsLogprobs: boolean;
  readonly #dropped = new Set<DroppedField>();
  /** Every chunk's text up to its choices, and after them. */
  #head = "";
  readonly #tail: string;
  #usage: TokenUsage | null = null;
  #open: OpenBlock | null = null;
  #calls = -1;
  /** The open reasoning block's text: its signature goes out beside all that it signs. */
  #reasoning = "";
  #details = 0;
  #pieces = 0;
  #annotations = 0;
  /** Code points of text in closed blocks, and in the open one. */
  #before = 0;
  #length = 0;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#wantsLogprobs = context.request.body.logprobs === true;
    this.#tail = context.request.includeUsage ? `,"usage":null}` : "}";
  }

  get dropped(): readonly DroppedField[] {
    return [...this.#dropped];
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    switch (event.type) {
      case "start":
        this.#begin(event.model);
        return [this.#delta({ role: "assistant", content: "" })];
      case "open":
        return this.#openBlock(event.block);
      case "text":
        this.#length += codePoints(event.text);
        return [
          this.#delta(
            { content: event.text },
            this.#wantsLogprobs ? printLogprobs(event.logprobs) : null,
          ),
        ];
      case "refusal":
        return [this.#delta({ refusal: event.text })];
      case "reasoning":
        this.#reasoning += event.text;
        return [this.#delta({ reasoning_content: event.text })];
      case "signature":
        return [this.#signed(tagSignature(event.family, event.signature))];
      case "arguments":
        return [
          this.#delta({
            tool_calls: [{ index: this.#calls, function: { arguments: event.json } }],
          }),
        ];
      case "citation":
        return this.#cite(event.citation);
      case "close":
        this.#before += this.#length;
        this.#length = 0;
        return [];
      case "usage":
        this.#usage = mergeUsage(this.#usage, event.usage);
        return [];
      case "finish":
        if (event.stopSequence !== null) this.#dropped.add("stop_sequence_unnamed");
        return this.#finish(event.reason);
      case "dropped":
      case "failure":
        return [];
    }
  }

  fail(error: ServiceError): Uint8Array {
    return renderOpenAiStreamFailure(error, this.#context.requestId);
  }

  #begin(model: string | null): void {
    const { answerId, now } = this.#context;
    const common = JSON.stringify({
      id: `chatcmpl-${answerId}`,
      object: "chat.completion.chunk",
      created: now(),
      model: model ?? this.#context.model,
    });
    this.#head = `${common.slice(0, -1)},"choices":`;
  }

  #openBlock(block: OpenBlock): readonly Uint8Array[] {
    this.#open = block;
    this.#reasoning = "";
    if (block.kind !== "tool_call") return [];
    this.#calls += 1;
    const { id, name } = block;
    const call = { index: this.#calls, id, type: "function", function: { name, arguments: "" } };
    return [this.#delta({ tool_calls: [call] })];
  }

  #signed(signature: string): Uint8Array {
    const summary = this.#open?.kind === "reasoning" && this.#open.summary;
    const details = reasoningDetails(
      { text: this.#reasoning, summary },
      signature,
      pieceName(this.#pieces),
    );
    this.#pieces += 1;
    // Clients that join lists of deltas do so by their index, so two details of one piece may not
    // share it.
    const numbered = details.map((detail, offset) => ({
      ...detail,
      index: this.#details + offset,
    }));
    this.#details += details.length;
    return this.#delta({ reasoning_details: numbered });
  }

  #cite(citation: Citation): readonly Uint8Array[] {
    const printed = printCitation(citation, this.#before, this.#length);
    if (printed === null) {
      this.#dropped.add("citations_dropped");
      return [];
    }
    const annotation = { index: this.#annotations, ...printed };
    this.#annotations += 1;
    return [this.#delta({ annotations: [annotation] })];
  }

  #finish(reason: FinishReason): readonly Uint8Array[] {
    const printed = JSON.stringify(formatFinishReason(reason));
    const last = `[{"index":0,"delta":{},"logprobs":null,"finish_reason":${printed}}]`;
    const events = [formatSseEvent(this.#head + last + this.#tail)];
    const usage = this.#context.request.includeUsage ? printUsage(this.#usage) : null;
    if (usage !== null)
      events.push(formatSseEvent(`${this.#head}[],"usage":${JSON.stringify(usage)}}`));
    events.push(formatSseEvent("[DONE]"));
    return events;
  }

  #delta(delta: JsonObject, logprobs: JsonObject | null = null): Uint8Array {
    const beside = logprobs === null ? "null" : JSON.stringify(logprobs);
    const choice = `[{"index":0,"delta":${JSON.stringify(delta)},"logprobs":${beside},"finish_reason":null}]`;
    return formatSseEvent(this.#head + choice + this.#tail);
  }
}

export function renderChatStream(context: AnswerContext): EventRenderer {
  return new ChatStreamRenderer(context);
}

/**
 * The `finish_reason` of a reason. `pause` and `other` only end native relays and never get here;
 * neither may look like a proper end.
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
 * The `usage` member of an answer; counts that are not given are left out, never zero. `null` where
 * nothing is known.
 */
export function printUsage(usage: TokenUsage | null): JsonObject | null {
  if (usage === null || (usage.input === null && usage.output === null)) return null;
  const { input, output, cacheRead, cacheWrite, reasoning } = usage;
  const total = totalTokens(usage);
  return {
    prompt_tokens: input ?? undefined,
    completion_tokens: output ?? undefined,
    total_tokens: total ?? undefined,
    ...(cacheRead === null && cacheWrite === null
      ? {}
      : {
          prompt_tokens_details: {
            cached_tokens: cacheRead ?? undefined,
            cache_write_tokens: cacheWrite ?? undefined,
          },
        }),
    ...(reasoning === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** Input and output together; `null` where either is unknown. */
function totalTokens({ input, output }: TokenUsage): number | null {
  return input === null || output === null ? null : input + output;
}

/** `logprobs` of a choice; `null` where there are none. */
function printLogprobs(logprobs: readonly TokenLogprob[]): JsonObject | null {
  if (logprobs.length === 0) return null;
  const content = logprobs.map(({ token, logprob, bytes, top }) => ({
    token,
    logprob,
    bytes,
    top_logprobs: top,
  }));
  return { content, refusal: null };
}

/**
 * One item of `annotations`; `null` where there is no page to name. Clients want positions: a
 * citation without them covers its block's text so far.
 *
 * @param before code points of the message's text in earlier blocks.
 * @param length code points of the block's text so far.
 */
function printCitation(
  { url, title, start, end }: Citation,
  before: number,
  length: number,
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

/** A whole answer as one completion with one choice. */
export function renderChatAnswer(
  answer: Answer,
  context: AnswerContext,
): { readonly body: JsonObject; readonly dropped: readonly DroppedField[] } {
  const message = new MessagePrinter(context.request.body.logprobs === true);
  for (const block of answer.blocks) message.add(block);
  if (answer.finish !== null && answer.finish.stopSequence !== null)
    message.dropped.add("stop_sequence_unnamed");
  const usage = printUsage(answer.usage);
  const body: JsonObject = {
    id: `chatcmpl-${context.answerId}`,
    object: "chat.completion",
    created: context.now(),
    model: answer.model ?? context.model,
    choices: [
      {
        index: 0,
        message: message.print(),
        logprobs: printLogprobs(message.logprobs),
        finish_reason: answer.finish === null ? null : formatFinishReason(answer.finish.reason),
      },
    ],
    usage: usage ?? undefined,
  };
  return { body, dropped: [...message.dropped] };
}

type TextBlock = Extract<AnswerBlock, { kind: "text" }>;

/** Joins an answer's blocks into the one message that this protocol has. */
class MessagePrinter {
  readonly dropped = new Set<DroppedField>();
  readonly logprobs: TokenLogprob[] = [];
  readonly #wantsLogprobs: boolean;
  #content: string | null = null;
  #refusal: string | null = null;
  #reasoning = "";
  #isSigned = false;
  #pieces = 0;
  readonly #details: JsonObject[] = [];
  readonly #annotations: JsonObject[] = [];
  readonly #calls: JsonObject[] = [];

  constructor(wantsLogprobs: boolean) {
    this.#wantsLogprobs = wantsLogprobs;
  }

  add(block: AnswerBlock): void {
    if (block.kind !== "tool_call" && this.#calls.length > 0) this.dropped.add("parts_reordered");
    switch (block.kind) {
      case "text":
        this.#addText(block);
        break;
      case "refusal":
        this.#refusal = (this.#refusal ?? "") + block.text;
        break;
      case "reasoning": {
        const { signature, family } = block;
        this.#reasoning += block.text;
        this.#isSigned ||= signature !== null;
        const tagged =
          signature === null || family === null ? null : tagSignature(family, signature);
        const name = pieceName(this.#pieces);
        this.#pieces += 1;
        for (const detail of reasoningDetails(block, tagged, name)) this.#details.push(detail);
        break;
      }
      case "tool_call":
        this.#calls.push({
          id: block.id,
          type: "function",
          function: { name: block.name, arguments: block.arguments },
        });
    }
  }

  print(): JsonObject {
    const isEmpty = this.#refusal === null && this.#calls.length === 0;
    return {
      role: "assistant",
      content: this.#content ?? (isEmpty ? "" : null),
      refusal: this.#refusal,
      reasoning_content: this.#reasoning === "" ? undefined : this.#reasoning,
      reasoning_details: this.#isSigned ? this.#details : undefined,
      annotations: this.#annotations.length === 0 ? undefined : this.#annotations,
      tool_calls: this.#calls.length === 0 ? undefined : this.#calls,
    };
  }

  #addText({ text, logprobs, citations }: TextBlock): void {
    if (this.#wantsLogprobs) for (const logprob of logprobs) this.logprobs.push(logprob);
    if (citations.length > 0) {
      const before = codePoints(this.#content ?? "");
      const length = codePoints(text);
      for (const citation of citations) {
        const printed = printCitation(citation, before, length);
        if (printed === null) this.dropped.add("citations_dropped");
        else this.#annotations.push(printed);
      }
    }
    this.#content = (this.#content ?? "") + text;
  }
}

import { failureOf, type FailureKind, type UpstreamFailure } from "../../canon/failure.ts";
import type { Citation, FinishReason, TokenUsage } from "../../canon/generate/event.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { AnswerEvents, countedTokens, readTokenLogprobs, urlCitation } from "../answer-events.ts";
import type { Upstream } from "../dialect.ts";
import {
  countIn,
  listOf,
  memberIn,
  numberOrNull,
  parseAnswerBytes,
  parseJsonText,
  readCount,
  textIn,
  textOf,
  textOrNull,
  wholeOutput,
} from "../json.ts";
import { readErrorFrame } from "../openai-chat/read-answer.ts";
import { REQUEST_FAILURES } from "../refusals.ts";
import { SseEventParser } from "../sse.ts";

export const parseResponsesStream: Upstream["parseStream"] = (_request, { model }) =>
  new SseEventParser(new ResponseReader(model.signatureFamily));

/** A whole response resource as the events that a stream of it would be, or a token count. */
export const parseResponsesAnswer: Upstream["parseAnswer"] = (bytes, { purpose }, { model }) => {
  const reader = new ResponseReader(model.signatureFamily);
  const response = parseAnswerBytes(bytes);
  if (purpose === "count") return countedTokens(countIn(response, "input_tokens"));
  if (!isJsonObject(response)) reader.fail("malformed");
  else {
    reader.start(response);
    reader.readOutput(response);
    reader.end(wholeEnding(response, reader));
  }
  return reader.drain();
};

/** The parts of one output item that have been reported. */
interface Reported {
  /** Content indices of texts; apart from reasoning, because providers count both alike. */
  readonly texts: Set<number>;
  /** Content index → number of annotations. */
  readonly annotations: Map<number, number>;
  /** Latest summary or reasoning text. */
  lastReasoning: { readonly key: string; readonly index: number } | null;
  opened: boolean;
  arguments: boolean;
  isDone: boolean;
}

/**
 * Reads the items of an answer, each once, whether it comes in deltas, whole when it is done, or
 * whole in a JSON answer. Items are identified by output index: providers change their ids on the
 * way. Event types without a meaning in other protocols are ignored.
 */
class ResponseReader extends AnswerEvents implements OutputSummary {
  readonly #items = new Map<number, Reported>();
  readonly #ids = new Set<string>();
  #started = false;
  calls = false;
  refusal = false;
  /** An item that no translated request can have requested, or a call without a name. */
  #unexpected: "unexpected_output_item" | "unnamed_call" | null = null;

  /** @param response the resource of the first event. */
  start(response: JsonMember): void {
    if (this.#started) return;
    this.#started = true;
    this.emit({ type: "start", model: textOrNull(memberIn(response, "model")) });
  }

  override fail(failure: UpstreamFailure | FailureKind, code?: string): void {
    this.start(null);
    super.fail(failure, code);
  }

  /** Reads an event of a stream (docs/protocols.md#responses). */
  readEvent(data: string, name: string | null): void {
    // The transport ended before the answer.
    if (data === "[DONE]") return this.fail("truncated");
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.fail("malformed");
    const type = typeof event.type === "string" ? event.type : name;
    const { response } = event;
    if (type === "error" || (type === null && isJsonObject(event.error)))
      return this.fail(readErrorFrame(event.error ?? event));
    switch (type) {
      case null:
        return this.fail("malformed");
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return this.start(response);
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        this.start(response);
        if (!isJsonObject(response)) return this.fail("malformed");
        this.readOutput(response);
        return this.end(endingOf(terminalStatus(type, response), response, this));
      default:
        this.#readItemEvent(type, event);
        this.#settle();
    }
  }

  #readItemEvent(type: string, event: JsonObject): void {
    this.start(null);
    const index = numberOrNull(event.output_index) ?? 0;
    const content = numberOrNull(event.content_index) ?? 0;
    const { item, part } = event;
    const isDelta = type.endsWith(".delta");
    const reported = this.#items.get(index);
    const text = textOf(isDelta ? event.delta : (event.text ?? event.refusal ?? event.arguments));
    const isTextNew = isDelta || reported?.texts.has(content) !== true;
    const isReasoningNew = isDelta || (reported?.lastReasoning ?? null) === null;
    switch (type) {
      case "response.output_item.added":
        return isJsonObject(item) ? this.#added(index, item) : undefined;
      case "response.output_item.done":
        return isJsonObject(item) ? this.#finishItem(index, item) : undefined;
      case "response.output_text.delta":
      case "response.output_text.done":
        return isTextNew ? this.#text(index, content, text, event.logprobs) : undefined;
      case "response.output_text.annotation.added":
        return this.#annotation(index, content, event.annotation);
      case "response.refusal.delta":
      case "response.refusal.done":
        return isTextNew ? this.#addRefusal(index, content, text) : undefined;
      case "response.content_part.done":
      case "response.reasoning_part.done":
        return isJsonObject(part) ? this.#part(index, content, part) : undefined;
      case "response.reasoning_text.delta":
      case "response.reasoning_text.done":
      case "response.reasoning.delta":
      case "response.reasoning.done":
        return isReasoningNew ? this.#reasoning(index, content, text, false) : undefined;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_summary_text.done": {
        const summary = numberOrNull(event.summary_index) ?? 0;
        return isReasoningNew ? this.#reasoning(index, summary, text, true) : undefined;
      }
      case "response.function_call_arguments.delta":
      case "response.function_call_arguments.done":
        return isDelta || reported?.arguments !== true ? this.#arguments(index, text) : undefined;
      default:
        // Without its `done`, or an item that repeats it, a piece of a new type is lost.
        if (isDelta) this.drop("unknown_content_dropped");
    }
  }

  /** Ends the answer after an event that no request can have caused. */
  #settle() {
    this.flush();
    if (this.#unexpected !== null) this.fail("malformed", this.#unexpected);
  }

  /**
   * Reads the resource at the end of the answer. Items without events of their own are in its
   * output only. Neither positions nor ids alone identify them: some providers leave positions out,
   * some change ids.
   */
  readOutput({ output, usage: counts }: JsonObject): void {
    for (const [index, item] of listOf(output).entries()) {
      if (!isJsonObject(item) || this.#items.has(index)) continue;
      if (typeof item.id !== "string" || !this.#ids.has(item.id)) this.#finishItem(index, item);
    }
    this.flush();
    const usage = readUsage(counts);
    if (usage !== null) this.emit({ type: "usage", usage });
  }

  end(ending: Ending): void {
    if (typeof ending === "object") return this.fail(ending);
    this.#settle();
    this.finish(ending);
  }

  /** A call is opened where its name is known. */
  #added(index: number, item: JsonObject) {
    const { type } = item;
    const reported = this.#reported(index, item);
    if (type === "function_call") this.#openCall(index, item, reported);
    else if (type !== "message" && type !== "reasoning")
      this.#unexpected ??= "unexpected_output_item";
  }

  /** Reports the pieces of an item that no event has reported. */
  #finishItem(index: number, item: JsonObject): void {
    const reported = this.#reported(index, item);
    if (reported.isDone) return;
    reported.isDone = true;
    switch (textOf(item.type)) {
      case "message": {
        const content = listOf(item.content);
        // Some providers count content from 1 in their deltas: as many texts as parts means that
        // all have been reported.
        if (reported.texts.size >= content.length) return;
        for (const [position, part] of content.entries())
          if (isJsonObject(part)) this.#part(index, position, part);
        return;
      }
      case "reasoning":
        return this.#reasoningItem(index, item, reported);
      case "function_call":
        this.#openCall(index, item, reported);
        if (!reported.arguments && typeof item.arguments === "string")
          this.#arguments(index, item.arguments);
        return;
      default:
        this.#unexpected ??= "unexpected_output_item";
    }
  }

  #text(index: number, content: number, text: string, logprobs: JsonMember) {
    this.#reported(index).texts.add(content);
    this.blocks.text(text, readTokenLogprobs(logprobs), `${index} ${content}`);
  }

  #addRefusal(index: number, content: number, text: string) {
    this.refusal = true;
    this.#reported(index).texts.add(content);
    this.blocks.refusal(text, `${index} ${content}`);
  }

  /** Several texts of one item are paragraphs of one block, so that the item has one signature. */
  #reasoning(index: number, part: number, text: string, summary: boolean) {
    if (text === "") return;
    const reported = this.#reported(index);
    const key = `${index} ${summary ? "summary" : "text"}`;
    const last = reported.lastReasoning;
    const beginsSection = last !== null && last.key === key && last.index !== part;
    reported.lastReasoning = { key, index: part };
    this.blocks.reasoning(beginsSection ? `\n\n${text}` : text, summary, key);
  }

  #arguments(index: number, json: string) {
    this.#reported(index).arguments = true;
    this.blocks.arguments(String(index), json);
  }

  #annotation(index: number, content: number, annotation: JsonMember) {
    const { annotations } = this.#reported(index);
    annotations.set(content, (annotations.get(content) ?? 0) + 1);
    const citation = readCitation(annotation);
    if (citation === null) this.drop("citations_dropped");
    else this.blocks.citation(citation, `${index} ${content}`);
  }

  /** Reports the text of a part without deltas, and the annotations without events. */
  #part(index: number, content: number, part: JsonObject) {
    const { type, text, refusal } = part;
    const reported = this.#reported(index);
    if (!reported.texts.has(content)) {
      if (type === "output_text" && typeof text === "string")
        this.#text(index, content, text, part.logprobs);
      else if (type === "refusal" && typeof refusal === "string")
        this.#addRefusal(index, content, refusal);
    }
    if (type === "reasoning_text" && reported.lastReasoning === null)
      this.#reasoning(index, content, textOf(text), false);
    for (const annotation of listOf(part.annotations).slice(reported.annotations.get(content) ?? 0))
      this.#annotation(index, content, annotation);
  }

  #reasoningItem(index: number, item: JsonObject, reported: Reported) {
    const { content, summary, encrypted_content: sealed } = item;
    if (reported.lastReasoning === null) {
      this.#texts(index, summary, true);
      this.#texts(index, content, false);
    }
    this.sign(textOf(sealed), reported.lastReasoning?.key ?? `${index} text`);
  }

  #texts(index: number, parts: JsonMember, summary: boolean) {
    for (const [position, part] of listOf(parts).entries())
      this.#reasoning(index, position, textOf(memberIn(part, "text")), summary);
  }

  #openCall(index: number, { name, call_id: callId, id: itemId }: JsonObject, reported: Reported) {
    if (reported.opened) return;
    const id = typeof callId === "string" && callId !== "" ? callId : itemId;
    if (typeof name !== "string" || name === "" || typeof id !== "string") {
      this.#unexpected ??= "unnamed_call";
      return;
    }
    reported.opened = true;
    this.calls = true;
    this.blocks.openTool(String(index), id, name);
  }

  #reported(index: number, item?: JsonObject): Reported {
    if (typeof item?.id === "string") this.#ids.add(item.id);
    let reported = this.#items.get(index);
    if (reported === undefined) {
      reported = {
        texts: new Set(),
        annotations: new Map(),
        lastReasoning: null,
        opened: false,
        arguments: false,
        isDone: false,
      };
      this.#items.set(index, reported);
    }
    return reported;
  }
}

/** `null` for other citations than URLs. An empty span is no position. */
function readCitation(annotation: JsonMember): Citation | null {
  if (!isJsonObject(annotation) || annotation.type !== "url_citation") return null;
  const { url, start_index: start, end_index: end } = annotation;
  const citation = urlCitation(url, textIn(annotation, "title"));
  const hasPosition = typeof start === "number" && typeof end === "number" && start !== end;
  return hasPosition && citation !== null ? { ...citation, start, end } : citation;
}

/** How an answer ended, by its resource. */
type Ending = FinishReason | UpstreamFailure;

/** Contents of an answer that decide its finish reason: most have the status `completed`. */
export interface OutputSummary {
  readonly calls: boolean;
  readonly refusal: boolean;
}

/**
 * Reasons of incomplete answers (docs/protocols.md#responses); other values are `other`, which ends
 * relayed answers only.
 */
const INCOMPLETE_REASONS: ReadonlyMap<JsonMember, FinishReason> = new Map<JsonValue, FinishReason>([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
]);

/**
 * Reads the resource that ends an answer. The status of an unfinished answer, or an unknown one,
 * makes it malformed. An answer with an error has failed, whatever its status.
 *
 * @param status of the resource, or of the event that carries it.
 */
export function endingOf(status: JsonMember, response: JsonObject, summary: OutputSummary): Ending {
  const { error, incomplete_details: details } = response;
  if (error != null) return readErrorFrame(error);
  switch (textOf(status)) {
    case "completed":
      if (summary.calls) return "tool_calls";
      return summary.refusal ? "refusal" : "stop";
    case "incomplete":
      return INCOMPLETE_REASONS.get(memberIn(details, "reason")) ?? "other";
    case "failed":
    case "cancelled":
      return readErrorFrame(null);
    default:
      return failureOf("malformed");
  }
}

/**
 * The status of a terminal event. A failure in either of them counts; `null` where the event and
 * its resource report different ends.
 */
export function terminalStatus(type: string, response: JsonObject): JsonValue {
  const typeStatus = type.slice("response.".length);
  const status = response.status ?? typeStatus;
  if (status === typeStatus || status === "failed" || status === "cancelled") return status;
  return typeStatus === "failed" ? typeStatus : null;
}

/**
 * End of a whole answer. `failed` is an answer too: no other endpoint is tried. A failure caused by
 * the request is an error instead, as in streams before their first output.
 */
export function wholeEnding(response: JsonObject, summary: OutputSummary): Ending {
  const { status, output } = response;
  const ending = endingOf(status, response, summary);
  // A provider that failed before any output may omit it.
  if (typeof ending === "string") return Array.isArray(output) ? ending : failureOf("malformed");
  const isFinal = status === "failed" && !REQUEST_FAILURES.has(ending.code ?? "");
  return isFinal ? { ...ending, final: true } : ending;
}

/** Summary of an output list. */
export function summarizeOutput(output: JsonMember): OutputSummary {
  const items = listOf(output).filter(isJsonObject);
  return {
    calls: items.some(({ type }) => type === "function_call" || type === "custom_tool_call"),
    refusal: items.some(({ content }) =>
      listOf(content).some((part) => memberIn(part, "type") === "refusal"),
    ),
  };
}

/** Reads the `usage` of a response resource; `null` where it has none. */
export function readUsage(usage: JsonMember): TokenUsage | null {
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
 * `usage` with every member that the protocol requires; `null` where a total is unknown. The
 * details have no value for unknown: cached or reasoning tokens that the provider does not report
 * are 0, as OpenAI's models without a cache report them.
 */
export function printUsage(usage: TokenUsage | null): JsonObject | null {
  if (usage === null || usage.input === null || usage.output === null) return null;
  return {
    input_tokens: usage.input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead ?? 0,
      cache_write_tokens: usage.cacheWrite ?? undefined,
    },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}

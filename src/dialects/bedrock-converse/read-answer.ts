import { failureOf, type UpstreamFailure } from "../../canon/failure.ts";
import type {
  Citation,
  FinishReason,
  InferenceEvent,
  TokenUsage,
} from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { finishFailure, finishReason } from "../answer-ends.ts";
import { AnswerEvents, countedTokens, failedAnswer, urlCitation } from "../answer-events.ts";
import { redactedSignature } from "../anthropic-messages/reasoning.ts";
import type { EventParser, Target, Upstream } from "../dialect.ts";
import {
  countIn,
  listOf,
  memberIn,
  ownValue,
  parseAnswerBytes,
  parseJsonBytes,
  readCount,
  textOf,
} from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";
import { MAXIMUM_EVENT_BYTES } from "../sse.ts";
import { FrameReader, type Frame } from "./event-stream-frames.ts";
import { offeredTools } from "./format.ts";

/** A whole answer of Converse, or of CountTokens, as the events of a stream of it. */
export const parseConverseAnswer: Upstream["parseAnswer"] = (bytes, request, target) => {
  // Numbers in arguments of tools keep their digits.
  const answer = parseJsonBytes(bytes);
  if (!isJsonObject(answer)) return failedAnswer("malformed");
  if (request.purpose === "count") return countedTokens(readCount(answer.inputTokens));
  const content = memberIn(memberIn(answer.output, "message"), "content");
  if (!Array.isArray(content)) return failedAnswer("malformed");
  const reader = new MessageReader(request, target);
  reader.start();
  for (const [index, block] of content.entries()) readBlock(index, block, reader);
  reader.stop(answer.stopReason);
  reader.addUsage(answer.usage);
  reader.conclude();
  return reader.drain();
};

/** Emits the events of a whole block, as a stream would. */
function readBlock(index: number, block: JsonValue, reader: MessageReader): void {
  if (!isJsonObject(block)) return reader.fail("malformed");
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === "string") {
    reader.addDelta(index, { text });
  } else if (isJsonObject(toolUse)) {
    reader.openBlock(index, { toolUse });
    reader.addDelta(index, { toolUse: { input: JSON.stringify(toolUse.input ?? {}) } });
  } else if (isJsonObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent;
    const shown = isJsonObject(reasoningText) && reasoningText;
    reader.addDelta(index, { reasoningContent: { ...shown, redactedContent } });
  } else if (isJsonObject(citationsContent)) {
    readCited(index, citationsContent, reader);
  } else {
    return reader.fail("malformed", "unexpected_output_item");
  }
  reader.closeBlock();
}

function readCited(index: number, { content, citations }: JsonObject, reader: MessageReader) {
  for (const piece of listOf(content))
    if (isJsonObject(piece)) reader.addDelta(index, { text: piece.text });
  for (const citation of listOf(citations)) reader.addDelta(index, { citation });
}

/**
 * Reads a stream of ConverseStream (docs/protocols.md#bedrock-converse). `messageStop` completes
 * the answer; the counts of `metadata` follow it. A stream that ends between the two is a complete
 * answer without counts: no part of its content is missing.
 */
class ConverseParser implements EventParser {
  readonly #frames = new FrameReader(MAXIMUM_EVENT_BYTES);
  readonly #reader: MessageReader;
  #counted = false;

  constructor(reader: MessageReader) {
    this.#reader = reader;
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    const reader = this.#reader;
    if (reader.over) return [];
    for (const frame of this.#frames.push(chunk)) if (!reader.over) this.#take(frame);
    if (this.#frames.fault !== null) reader.fail(this.#frames.fault);
    return reader.drain();
  }

  endAnswer(): readonly InferenceEvent[] {
    if (this.#reader.over) return [];
    this.#reader.conclude();
    return this.#reader.drain();
  }

  #take({ headers, payload }: Frame): void {
    // A frame without a payload has no members.
    const body = payload.length === 0 ? {} : parseAnswerBytes(payload);
    const failure = frameFailure(headers, body);
    if (failure !== null) return this.#reader.fail(failure);
    const type = headers.get(":event-type");
    if (type === undefined || !isJsonObject(body)) return this.#reader.fail("malformed");
    this.#reader.start();
    this.#read(type, body);
  }

  /** Other events are not part of the answer. */
  #read(type: string, event: JsonObject): void {
    const reader = this.#reader;
    switch (type) {
      case "contentBlockStop":
        // Some servers of the protocol close a block only after they have stopped, or never.
        return reader.stopped ? undefined : this.#readBlock(type, event);
      case "contentBlockStart":
      case "contentBlockDelta":
        // Events after the end belong to another answer.
        if (reader.stopped) return reader.fail("malformed");
        return this.#readBlock(type, event);
      case "messageStop":
        if (reader.stopped) return reader.fail("malformed");
        reader.stop(event.stopReason);
        break;
      case "metadata":
        reader.addUsage(event.usage);
        this.#counted = true;
        break;
    }
    // Some servers of the protocol count before they stop.
    if (this.#counted && reader.stopped) reader.conclude();
  }

  #readBlock(type: string, event: JsonObject): void {
    const { contentBlockIndex: index, start, delta } = event;
    if (typeof index !== "number") return this.#reader.fail("malformed");
    if (type === "contentBlockStop") return this.#reader.closeBlock();
    if (type === "contentBlockStart") {
      // Only calls need a beginning; some models send one for texts.
      if (isJsonObject(start) && Object.keys(start).length > 0)
        this.#reader.openBlock(index, start);
      return;
    }
    if (!isJsonObject(delta)) return this.#reader.fail("malformed");
    this.#reader.addDelta(index, delta);
  }
}

export const parseConverseStream: Upstream["parseStream"] = (request, target) =>
  new ConverseParser(new MessageReader(request, target));

type Kind = "text" | "reasoning" | "tool";

/** The current block. The protocol's blocks do not overlap. */
interface Block {
  /** As the provider counts. */
  readonly index: number;
  readonly kind: Kind;
  readonly key: string;
  isEmpty: boolean;
  signature: string;
  /** Reasoning that only the provider can read, in pieces of base64. */
  readonly redacted: string[];
  readonly citations: Citation[];
}

/**
 * Reads a message piece by piece; streams and whole answers have the same values, so there is one
 * mapping.
 */
class MessageReader extends AnswerEvents {
  /** The stop sequence that ended the text, where the request has only one. */
  readonly #stopSequence: string | null;
  /** No tool was offered: a call is one of the placeholder, or of a tool that does not exist. */
  readonly #offersNone: boolean;
  #open: Block | null = null;
  #count = 0;
  #ending: FinishReason | UpstreamFailure | null = null;
  #started = false;

  constructor(request: GenerateRequest, target: Target) {
    super(target.model.signatureFamily);
    this.#stopSequence = request.stop.length === 1 ? (request.stop[0] ?? null) : null;
    this.#offersNone = offeredTools(request).length === 0;
  }

  /** Whether the stop reason has arrived; all blocks are whole then. */
  get stopped(): boolean {
    return this.#ending !== null;
  }

  /** Answers of the protocol do not name their model. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.emit({ type: "start", model: null });
  }

  /** Begins a tool call. Texts and reasoning begin with their first piece. */
  openBlock(index: number, start: JsonObject): void {
    this.closeBlock();
    const call = start.toolUse;
    // A tool that the provider runs itself, its result, or an image, which no caller of another
    // protocol can request. A call of a tool that was not offered cannot be left out: the answer
    // would end as if there were nothing to do.
    if (!isJsonObject(call) || call.type === "server_tool_use" || this.#offersNone)
      return this.fail("malformed", "unexpected_output_item");
    const block = this.#begin(index, "tool");
    this.blocks.openTool(block.key, textOf(call.toolUseId), textOf(call.name));
    this.flush();
  }

  /**
   * Unknown kinds of pieces are dropped; a known one that its block cannot have is a broken answer.
   */
  addDelta(index: number, delta: JsonObject): void {
    const { text, toolUse, reasoningContent, citation } = delta;
    if (typeof text === "string") {
      const block = this.#blockOf(index, "text");
      block.isEmpty &&= text === "";
      this.blocks.text(text, [], block.key);
    } else if (isJsonObject(toolUse)) {
      const block = this.#open;
      if (block?.index !== index || block.kind !== "tool") return this.fail("malformed");
      this.blocks.arguments(block.key, textOf(toolUse.input));
    } else if (isJsonObject(reasoningContent)) {
      this.#addReasoning(this.#blockOf(index, "reasoning"), reasoningContent);
    } else if (isJsonObject(citation)) {
      const url = memberIn(memberIn(citation.location, "web"), "url");
      const read = urlCitation(url, citation.title);
      if (read === null) this.drop("citations_dropped");
      else this.#blockOf(index, "text").citations.push(read);
    } else if (delta.toolResult !== undefined || delta.image !== undefined) {
      return this.fail("malformed", "unexpected_output_item");
    } else if (Object.keys(delta).length > 0) {
      this.drop("unknown_content_dropped");
    }
    this.flush();
  }

  closeBlock(): void {
    const block = this.#open;
    if (block === null) return;
    this.#open = null;
    if (block.citations.length > 0) {
      // A citation needs a text.
      if (block.isEmpty) this.drop("citations_dropped");
      else for (const citation of block.citations) this.blocks.citation(citation, block.key);
    }
    if (block.kind === "reasoning") this.#signBlock(block);
    this.blocks.close();
    this.flush();
  }

  addUsage(usage: JsonMember): void {
    const read = readUsage(usage);
    if (read !== null) this.emit({ type: "usage", usage: read });
  }

  /** The stop reason has arrived. Counts may follow, so `conclude` reports the end. */
  stop(reason: JsonMember): void {
    this.closeBlock();
    const unknown = failureOf("malformed", "unknown_finish_reason");
    this.#ending = finishFailure(reason) ?? finishReason(reason) ?? unknown;
  }

  /** Reports how the answer ended; one without a stop reason was cut. */
  conclude(): void {
    if (this.over) return;
    const ending = this.#ending;
    if (ending === null) return this.fail("truncated");
    if (typeof ending === "object") return this.fail(ending);
    this.finish(ending, this.#stopSequence);
  }

  #begin(index: number, kind: Kind): Block {
    const key = String(this.#count);
    this.#count += 1;
    const block = { index, kind, key, isEmpty: true, signature: "", redacted: [], citations: [] };
    this.#open = block;
    return block;
  }

  /** The block that a piece of this kind belongs to. */
  #blockOf(index: number, kind: "text" | "reasoning"): Block {
    if (this.#open?.index === index && this.#open.kind === kind) return this.#open;
    this.closeBlock();
    return this.#begin(index, kind);
  }

  #addReasoning(block: Block, { text, signature, redactedContent }: JsonObject) {
    this.blocks.reasoning(textOf(text), false, block.key);
    block.signature += textOf(signature);
    if (typeof redactedContent === "string") block.redacted.push(redactedContent);
  }

  #signBlock({ key, signature, redacted }: Block): void {
    const data = joinBase64(redacted);
    if (data === null) return this.fail("malformed");
    this.sign(data === "" ? signature : redactedSignature(data), key);
  }
}

/**
 * Base64 of the bytes of several pieces of base64, one after the other; `null` where one of them is
 * not base64.
 */
function joinBase64(pieces: readonly string[]): string | null {
  if (pieces.length < 2) return pieces[0] ?? "";
  try {
    return btoa(pieces.map((piece) => atob(piece)).join(""));
  } catch {
    return null;
  }
}

/**
 * Reads the counts of an answer; `null` where there are none. The protocol's input excludes cached
 * tokens; canon's includes them.
 */
export function readUsage(usage: JsonMember): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const fresh = readCount(usage.inputTokens);
  const cacheRead = readCount(usage.cacheReadInputTokens);
  const cacheWrite = readCount(usage.cacheWriteInputTokens);
  const counts = {
    input: fresh === null ? null : fresh + (cacheRead ?? 0) + (cacheWrite ?? 0),
    output: readCount(usage.outputTokens),
    cacheRead,
    cacheWrite,
    reasoning: null,
  };
  const cacheWriteHour = writtenForAnHour(usage.cacheDetails);
  return cacheWriteHour === 0 ? counts : { ...counts, cacheWriteHour };
}

/** Tokens. The list has an entry for each duration for which something was written. */
function writtenForAnHour(details: JsonMember) {
  return listOf(details)
    .filter((one) => memberIn(one, "ttl") === "1h")
    .reduce<number>((sum, one) => sum + (countIn(one, "inputTokens") ?? 0), 0);
}

/**
 * Machine codes for the protocol's exceptions. Inside a stream they are named as the members of a
 * union (`throttlingException`), in the body of an error answer as types (`ThrottlingException`,
 * sometimes with a namespace before it); both are looked up in lower case.
 */
const CODES: Readonly<Record<string, string>> = {
  accessdeniedexception: "access_denied",
  internalserverexception: "server_error",
  modelerrorexception: "model_error",
  modelnotreadyexception: "model_not_ready",
  modelstreamerrorexception: "model_stream_error",
  modeltimeoutexception: "model_timeout",
  resourcenotfoundexception: "model_not_found",
  servicequotaexceededexception: "quota_exceeded",
  serviceunavailableexception: "overloaded",
  throttlingexception: "rate_limited",
  validationexception: "invalid_request",
};

/** A status of this protocol alone: the model failed, not the request. */
const MODEL_ERROR = 424;

/** Makes a failure of an answer with an error status. */
export function readConverseError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const failure = refusedAnswer(status, body, codeOf(memberIn(body, "__type")));
  return status === MODEL_ERROR ? { ...failure, kind: "server_error" } : failure;
}

/** The failure that an answer without results reports; `null` where it has no error message. */
export function bedrockErrorIn(answer: JsonObject): UpstreamFailure | null {
  const { message } = answer;
  return typeof message === "string"
    ? refusedFrame(answer, codeOf(memberIn(answer, "__type")))
    : null;
}

/** The failure that a frame reports: an exception, or an error; `null` for an event. */
export function frameFailure(
  headers: Frame["headers"],
  payload: JsonMember,
): UpstreamFailure | null {
  const kind = headers.get(":message-type");
  if (kind === "event") return null;
  if (kind !== "exception" && kind !== "error") return failureOf("malformed");
  const type = headers.get(kind === "error" ? ":error-code" : ":exception-type");
  return refusedFrame(payload, codeOf(type));
}

function codeOf(type: JsonMember) {
  return typeof type === "string"
    ? (ownValue(CODES, type.slice(type.lastIndexOf("#") + 1).toLowerCase()) ?? null)
    : null;
}

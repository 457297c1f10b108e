import type { UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason, TokenUsage } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { finishReason } from "../answer-ends.ts";
import { AnswerEvents, countedTokens, failedAnswer, urlCitation } from "../answer-events.ts";
import { isUnsigned, redactedSignature } from "./reasoning.ts";
import type { Target, Upstream } from "../dialect.ts";
import {
  countIn,
  listOf,
  memberIn,
  ownValue,
  parseAnswerBytes,
  parseJsonText,
  readCount,
  textOf,
  textOrNull,
} from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";
import { SseEventParser } from "../sse.ts";

const KINDS = ["text", "thinking", "redacted_thinking", "tool_use"] as const;
type Kind = (typeof KINDS)[number];

/** The kind of block that has a kind of piece. */
const PIECES: Readonly<Record<string, Kind>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "thinking",
  input_json_delta: "tool_use",
};

interface Block {
  readonly key: string;
  readonly kind: Kind;
  signature: string;
  /**
   * Arguments that came with the block's beginning; whole, or the empty object where they follow in
   * pieces.
   */
  readonly input: JsonObject;
  hasPieces: boolean;
}

/**
 * Reads a message piece by piece; streams and whole answers have the same values, so there is one
 * mapping.
 */
class MessageReader extends AnswerEvents {
  /** The caller requested a summary instead of the reasoning itself. */
  readonly #summary: boolean;
  #usage: JsonObject | null = null;
  #open: Block | null = null;
  #count = 0;
  #finish: FinishReason | null = null;
  #stopSequence: string | null = null;
  #hasStarted = false;
  /** An event has followed the beginning. */
  #hasContinued = false;

  constructor(request: GenerateRequest, target: Target) {
    super(target.model.signatureFamily);
    const display = request.reasoning?.display ?? null;
    this.#summary = display !== null && display !== "omitted";
  }

  /** The message: whole in a whole answer, mostly empty at the beginning of a stream. */
  start(message: JsonObject, begins: boolean): void {
    const { model, content } = message;
    this.emit({ type: "start", model: textOrNull(model) });
    for (const block of listOf(content)) {
      if (this.over) break;
      this.openBlock(block);
      this.closeBlock();
    }
    // A reason at the beginning of a stream ends nothing yet.
    this.#readEnd(message);
    this.#addUsage(message.usage, begins);
  }

  openBlock(block: JsonMember): void {
    // Blocks do not overlap; one that was never closed ends here.
    this.closeBlock();
    const kind = isJsonObject(block) ? KINDS.find((one) => one === block.type) : undefined;
    if (!isJsonObject(block) || kind === undefined)
      return this.fail("malformed", "unexpected_output_item");
    const { input } = block;
    const key = String(this.#count);
    this.#count += 1;
    this.#open = {
      key,
      kind,
      signature: "",
      input: isJsonObject(input) ? input : {},
      hasPieces: false,
    };
    switch (kind) {
      case "text":
        this.blocks.text(textOf(block.text), [], key);
        for (const citation of listOf(block.citations)) this.#cite(citation, key);
        break;
      case "thinking":
        this.blocks.reasoning(textOf(block.thinking), this.#summary, key);
        this.#open.signature = textOf(block.signature);
        break;
      case "redacted_thinking":
        this.#open.signature = redactedSignature(textOf(block.data));
        break;
      case "tool_use":
        this.blocks.openTool(key, textOf(block.id), textOf(block.name));
        break;
    }
    this.flush();
  }

  /**
   * Unknown kinds of pieces are dropped; a known one that its block cannot have is a broken answer.
   */
  #addDelta(delta: JsonMember): void {
    if (!isJsonObject(delta)) return this.fail("malformed");
    const type = textOf(delta.type);
    // Some servers send a first piece without opening its block.
    if (this.#open === null && (type === "text_delta" || type === "thinking_delta"))
      this.openBlock({ type: type.slice(0, -"_delta".length) });
    const block = this.#open;
    const kind = ownValue(PIECES, type) ?? block?.kind;
    if (block === null || block.kind !== kind) return this.fail("malformed");
    switch (type) {
      case "text_delta":
        this.blocks.text(textOf(delta.text), [], block.key);
        break;
      case "thinking_delta":
        this.blocks.reasoning(textOf(delta.thinking), this.#summary, block.key);
        break;
      case "signature_delta":
        block.signature += textOf(delta.signature);
        break;
      case "input_json_delta":
        block.hasPieces ||= textOf(delta.partial_json) !== "";
        this.blocks.arguments(block.key, textOf(delta.partial_json));
        break;
      case "citations_delta":
        if (block.kind === "text") this.#cite(delta.citation, block.key);
        break;
      default:
        this.drop("unknown_content_dropped");
    }
    this.flush();
  }

  closeBlock(): void {
    const block = this.#open;
    if (block === null) return;
    this.#open = null;
    if (block.kind === "tool_use" && !block.hasPieces && Object.keys(block.input).length > 0) {
      this.blocks.arguments(block.key, JSON.stringify(block.input));
    }
    // Another router of this kind marks unsigned reasoning.
    if (!isUnsigned(block.signature)) this.sign(block.signature, block.key);
    this.blocks.close();
    this.flush();
  }

  #readEnd(delta: JsonMember) {
    this.#finish = finishReason(memberIn(delta, "stop_reason")) ?? this.#finish;
    this.#stopSequence = textOrNull(memberIn(delta, "stop_sequence")) ?? this.#stopSequence;
  }

  /** The answer is whole. */
  stop(): void {
    if (this.over) return;
    this.closeBlock();
    if (this.#finish === null) return this.fail("malformed", "unknown_finish_reason");
    this.finish(this.#finish, this.#stopSequence);
  }

  /** Reads an event of a stream (docs/protocols.md#messages). Only `message_stop` completes it. */
  readEvent(data: string, name: string | null): void {
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.fail("malformed");
    const type = event.type ?? name;
    if (type === "error" || name === "error") return this.fail(readErrorFrame(event.error));
    const inner = eventFailure(event);
    if (inner !== null) return this.fail(inner);
    if (type === "message_start") return this.#begin(event);
    // Other events, such as pings, are not part of the answer.
    if (!CONTENT_EVENTS.has(type)) return;
    this.#hasContinued = true;
    if (!this.#hasStarted) return this.fail("malformed");
    switch (textOf(type)) {
      case "content_block_start":
        return this.openBlock(event.content_block);
      case "content_block_delta":
        return this.#addDelta(event.delta);
      case "content_block_stop":
        return this.closeBlock();
      case "message_delta":
        this.#readEnd(event.delta);
        return this.#addUsage(event.usage, false);
      case "message_stop":
        return this.stop();
    }
  }

  #begin({ message }: JsonObject): void {
    if (this.#hasContinued || !isJsonObject(message)) return this.fail("malformed");
    // Some servers send the beginning twice; in the middle of an answer it would be
    // another answer.
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.start(message, true);
  }

  #addUsage(later: JsonMember, begins: boolean) {
    this.#usage = mergedUsage(this.#usage, later, begins);
    const usage = readUsage(this.#usage);
    if (isJsonObject(later) && usage !== null) this.emit({ type: "usage", usage });
  }

  #cite(citation: JsonMember, key: string) {
    const read = urlCitation(memberIn(citation, "url"), memberIn(citation, "title"));
    if (read === null) this.emit({ type: "dropped", field: "citations_dropped" });
    else this.blocks.citation(read, key);
  }
}

/** Events that are part of an answer: they may only come once it has begun. */
export const CONTENT_EVENTS: ReadonlySet<unknown> = new Set([
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
]);

export const parseMessagesStream: Upstream["parseStream"] = (request, target) =>
  new SseEventParser(new MessageReader(request, target));

/** A whole message, or the answer to a count, as the events of a stream of it. */
export const parseMessagesAnswer: Upstream["parseAnswer"] = (bytes, request, target) => {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failedAnswer("malformed");
  const broken = messageFailure(answer);
  if (broken !== null) return failedAnswer(broken);
  if (request.purpose === "count") return countedTokens(readCount(answer.input_tokens));
  if (!Array.isArray(answer.content)) return failedAnswer("malformed");
  const reader = new MessageReader(request, target);
  reader.start(answer, false);
  reader.stop();
  return reader.drain();
};

/**
 * Usage of an answer so far. Several events report it; each later count replaces the earlier one.
 *
 * @param begins at the beginning of a stream: the output count there is ignored.
 */
export function mergedUsage(
  earlier: JsonObject | null,
  later: JsonMember,
  begins: boolean,
): JsonObject | null {
  if (!isJsonObject(later)) return earlier;
  const mergedCount = (name: string, value: JsonMember): JsonMember => {
    if (begins && name === "output_tokens") return null;
    const before = earlier?.[name];
    if (isJsonObject(value)) return mergedUsage(isJsonObject(before) ? before : null, value, false);
    return readCount(value) === null && !listOf(value).some(isCompaction) ? null : value;
  };
  const reported = Object.entries(later)
    .map(([name, value]) => [name, mergedCount(name, value)] as const)
    .filter(([, value]) => value !== null);
  return { ...earlier, ...Object.fromEntries(reported) };
}

/**
 * Token counts of a usage. The protocol's input excludes cached tokens, canon's includes them
 * (docs/protocols.md#usage).
 */
export function readUsage(usage: JsonObject | null): TokenUsage | null {
  if (usage === null) return null;
  const rounds = listOf(usage.iterations).filter(isCompaction);
  const sum = (name: string) => {
    const count = countIn(usage, name);
    if (count === null) return null;
    return rounds.reduce<number>((total, round) => total + (countIn(round, name) ?? 0), count);
  };
  const cacheWrite = sum("cache_creation_input_tokens");
  const read = sum("cache_read_input_tokens");
  const fresh = sum("input_tokens");
  const counts = {
    input: fresh === null ? null : fresh + (cacheWrite ?? 0) + (read ?? 0),
    output: sum("output_tokens"),
    cacheRead: read,
    cacheWrite: cacheWrite,
    reasoning: countIn(usage.output_tokens_details, "thinking_tokens"),
  };
  const cacheWriteHour = countIn(usage.cache_creation, "ephemeral_1h_input_tokens") ?? 0;
  return cacheWriteHour === 0 ? counts : { ...counts, cacheWriteHour };
}

/**
 * Whether a round is one that the totals leave out and the provider charges for: it summarised the
 * conversation before it answered. Another model's advice is in no total of this one.
 */
function isCompaction(round: JsonValue) {
  return memberIn(round, "type") === "compaction";
}

/** Machine codes that help a caller and reveal no content. All others are dropped. */
const SAFE_CODES = [
  "request_too_large",
  "rate_limit_error",
  "overloaded_error",
  "timeout_error",
  "api_error",
  "billing_error",
  "not_found_error",
  "available_tools_limit_exceeded",
  "tool_name_conflict",
  "tool_reference_unresolved",
  "compaction_unavailable",
  "compaction_block_ambiguous",
  "compaction_block_misplaced",
  "compaction_content_mismatch",
  "compaction_incomplete_turn",
  "compaction_nothing_to_summarize",
  "compaction_signature_invalid",
];

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readMessagesError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const error = memberIn(body, "error");
  return refusedAnswer(status, error, safeCode(error));
}

/** An error object inside a stream, or in an answer with status 200. */
export function readErrorFrame(error: JsonMember): UpstreamFailure {
  return refusedFrame(error, safeCode(error));
}

/**
 * The failure that a message, a block or a piece reports: its type is `error`, or it has an error
 * instead of content. `null` where it reports none. Results of tools have types of their own
 * (`web_search_tool_result_error`) and are content.
 */
function innerFailure(part: JsonMember): UpstreamFailure | null {
  const error = memberIn(part, "error");
  return memberIn(part, "type") === "error" || error != null ? readErrorFrame(error) : null;
}

/**
 * The failure that a whole message reports, in itself or in one of its blocks; `null` where it
 * reports none.
 */
export function messageFailure(message: JsonObject): UpstreamFailure | null {
  const failures = [message, ...listOf(message.content)].map(innerFailure);
  return failures.find((failure) => failure !== null) ?? null;
}

/** The same for an event of a stream: in its message, its block or its piece. */
export function eventFailure({
  message,
  content_block: block,
  delta,
}: JsonObject): UpstreamFailure | null {
  const failed = isJsonObject(message) ? messageFailure(message) : null;
  return failed ?? innerFailure(block) ?? innerFailure(delta);
}

function safeCode(error: JsonMember): string | null {
  const codes = [memberIn(memberIn(error, "details"), "error_code"), memberIn(error, "type")];
  return codes.map(textOf).find((code) => SAFE_CODES.includes(code)) ?? null;
}

import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { NO_EDITS, SIGNATURES_MARKED, editSet } from "../../canon/generate/edit.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import { relayedSignature } from "../../canon/generate/signature.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { BETA_HEADER, type ProtocolHeaders } from "../../canon/request.ts";
import type { ProviderRow } from "../../canon/table.ts";
import { answerFailure, finishReason } from "../answer-ends.ts";
import {
  CONTENT_EVENTS,
  UsageTally,
  eventFailure,
  isCacheWarmup,
  messageFailure,
  readErrorFrame,
} from "./read-answer.ts";
import {
  NATIVE_FAMILY,
  SIGNATURE_MEMBERS,
  budgetUnder,
  isUnsigned,
  readSigned,
} from "./reasoning.ts";
import { renderAnthropicError } from "./render.ts";
import { VERSIONS, fieldsOf } from "./request-facts.ts";
import type { AnswerContext, Relay, WholeAnswer } from "../dialect.ts";
import {
  mapObjects,
  memberIn,
  numberOrNull,
  ownValue,
  parseAnswerBytes,
  parseJsonBytes,
  parseJsonText,
  readCount,
  textOf,
  withMember,
  withObject,
} from "../json.ts";
import {
  RelayedStream,
  SIGNATURES_RESTORED,
  editedBody,
  failedWhole,
  outputCharacters,
  type BodyEdit,
} from "../relay.ts";
import { formatSseEvent } from "../sse.ts";

const VERSION_REPLACED = editSet("version_replaced");

/**
 * The caller's body as the provider gets it: another model name, bare signatures, our own and the
 * identity members taken out, and the edits of policies. Everything else is sent unchanged, members
 * of nested objects included.
 */
export const editMessagesRequest: Relay["edit"] = (request, endpoint, provider, mode, edits) => {
  const { headers } = request;
  const { operation } = request.shape;
  const edit = editedBody(fieldsOf(operation), request, endpoint, mode, edits);
  const { body, stripped, dropped } = edit;
  edit.set("messages", bareMessages(body.messages, stripped), SIGNATURES_RESTORED);
  const trimmed = withTrimmedPrefill(body.messages);
  if (trimmed !== null) {
    body.messages = trimmed;
    dropped.add("prefill_trimmed");
  }
  if (operation === "messages") capOutput(edit, edits.maxOutputTokens);
  const version = sentVersion(headers, provider);
  if (version !== (headers.version ?? VERSIONS[0])) edit.edits |= VERSION_REPLACED;
  return edit.result(protocolHeaders(headers, provider, version, stripped));
};

/** The caller's version, and those of its beta flags that the provider's row lists. */
function protocolHeaders(
  { betas }: ProtocolHeaders,
  provider: ProviderRow,
  version: string,
  stripped: string[],
): readonly string[] {
  const headers = ["anthropic-version", version];
  const allowed = betas.filter((beta) => provider.betas.includes(beta));
  if (allowed.length > 0) headers.push(BETA_HEADER, allowed.join(","));
  if (allowed.length < betas.length) stripped.push(BETA_HEADER);
  return headers;
}

function sentVersion({ version }: ProtocolHeaders, { flags }: ProviderRow): string {
  return flags.includes("version_2023_06_01_only") ? VERSIONS[0] : (version ?? VERSIONS[0]);
}

/** Lowers the limit, and the budget for thinking with it. */
function capOutput(edit: BodyEdit, cap: number | null): void {
  const { body } = edit;
  const requested = numberOrNull(body.max_tokens);
  edit.capOutput("max_tokens", cap);
  const { max_tokens: limit, thinking } = body;
  const budget = memberIn(thinking, "budget_tokens");
  if (cap === null || !isJsonObject(thinking) || typeof budget !== "number") return;
  const lowered = budgetUnder(budget, requested, numberOrNull(limit) ?? cap);
  body.thinking = { ...thinking, budget_tokens: lowered };
}

/**
 * The messages with their signatures as the provider made them: without the tags of other
 * protocols' answers, and without their unsigned reasoning. The decision has made sure that the
 * endpoint can read the signatures. Messages that need no change are the same objects.
 */
function bareMessages(messages: JsonMember, stripped: string[]): JsonMember {
  return mapObjects(messages, (message) =>
    message.role === "assistant"
      ? withMember(message, "content", (content) => {
          const blocks = mapObjects(content, bareBlock);
          if (!Array.isArray(blocks) || !blocks.includes(null)) return blocks;
          if (!stripped.includes("thinking")) stripped.push("thinking");
          return blocks.filter((block: JsonValue) => block !== null);
        })
      : message,
  );
}

/**
 * The messages without white space at the end of the answer's given beginning, which the provider
 * refuses ("final assistant content cannot end with trailing whitespace"); `null` where there is
 * none.
 */
function withTrimmedPrefill(messages: JsonMember): JsonValue[] | null {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!Array.isArray(messages) || !isJsonObject(last) || last.role !== "assistant") return null;
  const { content } = last;
  const block = Array.isArray(content) ? content.at(-1) : undefined;
  const text = isJsonObject(block) && block.type === "text" ? block.text : content;
  if (typeof text !== "string" || text.trimEnd() === text) return null;
  const short = text.trimEnd();
  const trimmed =
    Array.isArray(content) && isJsonObject(block)
      ? [...content.slice(0, -1), { ...block, text: short }]
      : short;
  return [...messages.slice(0, -1), { ...last, content: trimmed }];
}

/** The block itself if nothing changes; `null` if it is left out. */
function bareBlock(block: JsonObject): JsonObject | null {
  const type = textOf(block.type);
  const member = ownValue(SIGNATURE_MEMBERS, type);
  if (member === undefined) return block;
  const written = block[member];
  if (isUnsigned(written)) return null;
  const signed = readSigned(written);
  return signed === null || signed.signature === written
    ? block
    : { ...block, [member]: signed.signature };
}

/** Members of `message_start` with output. */
const MESSAGE_OUTPUT = ["content"] as const;

/**
 * Members of a block or of a piece with output. Other members describe the model or the transport.
 */
const BLOCK_OUTPUT = [
  "text",
  "thinking",
  "signature",
  "data",
  "name",
  "partial_json",
  "content",
  "citation",
  "citations",
] as const;

/** Events that cannot follow themselves. */
const ONCE: ReadonlySet<unknown> = new Set([
  "content_block_start",
  "content_block_stop",
  "message_delta",
]);

/**
 * Observes a relayed messages stream (docs/protocols.md#messages). Whole events go through
 * unchanged, unknown ones too; only signatures get the tag of their family. `message_stop` alone
 * completes the answer; an error event, text that is not JSON, or an end without it is a failure.
 */
export class MessagesObserver extends RelayedStream {
  readonly #requestId: string;
  readonly #isCacheWarmup: boolean;
  readonly #tally = new UsageTally();
  readonly #tagger: EventTagger;
  #hasStarted = false;
  /** An event has followed the beginning. */
  #hasContinued = false;
  #lastData = "";

  constructor({ requestId, request, signatureFamily }: AnswerContext) {
    super();
    this.#requestId = requestId;
    this.#tagger = new EventTagger(signatureFamily);
    this.#isCacheWarmup = isCacheWarmup(request);
  }

  override get usage(): TokenUsage | null {
    return this.#tally.usage;
  }

  protected override close(): void {
    if (!this.done) this.failAnswer("truncated");
  }

  override fail(error: ServiceError): Uint8Array {
    return formatSseEvent(renderAnthropicError(error, this.#requestId), "error");
  }

  protected override relay(
    bytes: Uint8Array,
    data: string,
    name: string | null,
    events: Uint8Array[],
  ): void {
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.failAnswer("malformed");
    const type = event.type ?? name;
    if (!this.#take(name, type, event, data)) return;
    const tagged = this.#tagger.tag(type, event);
    if (tagged !== event) this.edits = SIGNATURES_MARKED;
    events.push(tagged === event ? bytes : formatSseEvent(JSON.stringify(tagged), name));
  }

  /** Reads one event with data; returns whether it is relayed. */
  #take(name: string | null, type: JsonMember, event: JsonObject, data: string): boolean {
    if (type === "error" || name === "error") return this.#rejects(readErrorFrame(event.error));
    if (this.#isRepeated(type, data)) return false;
    const inner = eventFailure(event);
    if (inner !== null) return this.#rejects(inner);
    const isContent = CONTENT_EVENTS.has(type);
    // Some servers send the beginning twice; in the middle of an answer it would be
    // another answer.
    if (type === "message_start" ? this.#hasContinued : isContent && !this.#hasStarted)
      return this.#rejects(answerFailure("malformed"));
    this.#hasContinued ||= isContent;
    if (type === "message_start") this.#begin(event);
    else if (type === "message_delta") this.#change(event);
    else if (type === "message_stop") {
      // An end without a reason is not a proper end, as in a whole answer.
      if (this.finish === null && !this.#isCacheWarmup)
        return this.#rejects(answerFailure("malformed"));
      this.done = true;
    }
    this.outputCharacters += charactersOf(type, event);
    this.hasOutput ||= this.done || this.outputCharacters > 0 || isEnding(type, event);
    return true;
  }

  /**
   * A block begins and ends once, and a reported message is final: an identical repetition is the
   * same event.
   */
  #isRepeated(type: unknown, data: string): boolean {
    const isRepeated = ONCE.has(type) && data === this.#lastData;
    this.#lastData = data;
    return isRepeated;
  }

  #begin({ message }: JsonObject): void {
    this.#hasStarted = true;
    if (!isJsonObject(message)) return;
    this.#tally.add(message.usage, true);
    this.finish = finishReason(message.stop_reason);
  }

  #change({ delta, usage }: JsonObject): void {
    this.#tally.add(usage);
    if (!isJsonObject(delta)) return;
    this.finish = finishReason(delta.stop_reason) ?? this.finish;
  }

  #rejects(failure: UpstreamFailure): false {
    this.failure ??= failure;
    return false;
  }
}

function charactersOf(type: unknown, event: JsonObject): number {
  switch (type) {
    case "message_start":
      return outputCharacters(event.message, MESSAGE_OUTPUT);
    case "content_block_start":
      return outputCharacters(event.content_block, BLOCK_OUTPUT);
    case "content_block_delta":
      return outputCharacters(event.delta, BLOCK_OUTPUT);
    default:
      return 0;
  }
}

/**
 * Whether an event gives the reason of the answer's end. A reason in `message_start` ends nothing
 * yet.
 */
function isEnding(type: unknown, { delta }: JsonObject): boolean {
  return (
    type === "message_delta" && isJsonObject(delta) && finishReason(delta.stop_reason) !== null
  );
}

/** A whole message with its signatures tagged for the client. */
function tagMessage(message: JsonObject, family: string | null): JsonObject {
  return withMember(message, "content", (content) =>
    mapObjects(content, (block) => tagBlock(block, family)),
  );
}

function tagBlock(block: JsonObject, family: string | null): JsonObject {
  const member = ownValue(SIGNATURE_MEMBERS, textOf(block.type));
  return member === undefined ? block : tagMember(block, member, family);
}

function tagMember(object: JsonObject, member: string, family: string | null): JsonObject {
  return withMember(object, member, (signature) =>
    typeof signature === "string" ? relayedSignature(signature, family, NATIVE_FAMILY) : signature,
  );
}

/** Tags the signatures of a stream's events. */
class EventTagger {
  readonly #family: string | null;
  /**
   * Whether the signature of the open block is tagged: of its pieces, only the first gets the tag.
   */
  #isTagged = false;

  constructor(family: string | null) {
    this.#family = family;
  }

  /**
   * The event as the client gets it; the event itself where nothing changes. Each event once, in
   * their order.
   */
  tag(type: JsonMember, event: JsonObject): JsonObject {
    if (type === "message_start")
      return withObject(event, "message", (message) => tagMessage(message, this.#family));
    let tagged = event;
    if (type === "content_block_start") {
      tagged = withObject(event, "content_block", (block) => tagBlock(block, this.#family));
    } else if (type !== "content_block_delta" || this.#isTagged) {
      return event;
    } else {
      tagged = withObject(event, "delta", (delta) => this.#tagDelta(delta));
    }
    this.#isTagged = tagged !== event;
    return tagged;
  }

  #tagDelta(delta: JsonObject): JsonObject {
    return delta.type === "signature_delta" ? tagMember(delta, "signature", this.#family) : delta;
  }
}

/**
 * Judges a whole message: content, and a reason why it ended. Unknown reasons and blocks are passed
 * on.
 */
export function readMessagesAnswer(
  bytes: Uint8Array,
  { request, signatureFamily }: AnswerContext,
): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failedWhole("malformed");
  const broken = messageFailure(answer);
  if (broken !== null) return failedWhole(broken);
  const finish = finishReason(answer.stop_reason);
  const tally = new UsageTally();
  tally.add(answer.usage);
  const { usage } = tally;
  const isEnded = finish !== null || isCacheWarmup(request);
  if (!isEnded || !Array.isArray(answer.content)) return failedWhole("malformed", usage);
  const tagged = withTags(bytes, answer, signatureFamily);
  const edits = tagged === bytes ? NO_EDITS : SIGNATURES_MARKED;
  return { ending: { failure: null, finish, usage, dropped: [], edits }, bytes: tagged };
}

/**
 * The bytes themselves where no signature needs a tag; else printed again, with every number as the
 * provider printed it.
 */
function withTags(bytes: Uint8Array, answer: JsonObject, family: string | null): Uint8Array {
  if (tagMessage(answer, family) === answer) return bytes;
  const exact = parseJsonBytes(bytes);
  return new TextEncoder().encode(
    JSON.stringify(tagMessage(isJsonObject(exact) ? exact : answer, family)),
  );
}

/** Judges the answer to a count, which must have one. */
export function readCountAnswer(bytes: Uint8Array): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failedWhole("malformed");
  if (answer.type === "error") return failedWhole(readErrorFrame(answer.error));
  const input = readCount(answer.input_tokens);
  if (input === null) return failedWhole("malformed");
  const usage = { input, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
  return { ending: { failure: null, finish: null, usage, dropped: [] }, bytes };
}

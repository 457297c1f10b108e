import { RelayedStream, outputCharacters } from "../relay.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import { SIGNATURES_MARKED, NO_EDITS } from "../../canon/generate/edit.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { renderAnthropicError } from "./family.ts";
import type { AnswerContext, AnswerStream, Ending, WholeAnswer } from "../dialect.ts";
import { parseJsonText, textOf, readCount, parseAnswerBytes, parseJsonBytes } from "../json.ts";
import { formatSseEvent } from "../sse.ts";
import { asksNothing, UsageTally, eventFailure, readErrorFrame, messageFailure } from "./ending.ts";
import { relayedSignature } from "../../canon/generate/signature.ts";
import { NATIVE_FAMILY, SIGNATURE_MEMBERS } from "./reasoning.ts";
import { answerFailure } from "../answer-failure.ts";
import { finishReason } from "../finish-reasons.ts";

/** Events that are part of an answer: they may only come once it has begun. */
const CONTENT_EVENTS: ReadonlySet<unknown> = new Set([
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
]);

/** Members of a message that begins in which something is said. */
const SAID_IN_MESSAGE = ["content"] as const;

/**
 * Members of a block that begins, or of a piece of one. Other members describe the model or the
 * transport.
 */
const SAID_IN_BLOCK = [
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
class MessagesObserver extends RelayedStream {
  readonly #requestId: string;
  readonly #asksNothing: boolean;
  readonly #tally = new UsageTally();
  readonly #tagger: EventTagger;
  #begun = false;
  /** Something has followed the beginning. */
  #continued = false;
  #lastData = "";

  constructor({ requestId, request, signatureFamily }: AnswerContext) {
    super();
    this.#requestId = requestId;
    this.#tagger = new EventTagger(signatureFamily);
    this.#asksNothing = asksNothing(request);
  }

  override get usage(): TokenUsage | null {
    return this.#tally.usage;
  }

  protected override close(): void {
    if (!this.done) this.refuse("truncated");
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
    if (!isJsonObject(event)) return this.refuse("malformed");
    const type = event["type"] ?? name;
    if (!this.#take(name, type, event, data)) return;
    const tagged = this.#tagger.tag(type, event);
    if (tagged !== event) this.edits = SIGNATURES_MARKED;
    events.push(tagged === event ? bytes : formatSseEvent(JSON.stringify(tagged), name));
  }

  /** Reads one event with data; says whether it is relayed. */
  #take(
    name: string | null,
    type: JsonValue | undefined,
    event: JsonObject,
    data: string,
  ): boolean {
    if (type === "error" || name === "error") {
      this.failure = readErrorFrame(event["error"]);
      return false;
    }
    if (this.#isRepeated(type, data)) return false;
    const inner = eventFailure(event);
    if (inner !== null) {
      this.failure = inner;
      return false;
    }
    const isContent = CONTENT_EVENTS.has(type);
    // Some speakers of the protocol say the beginning twice; in the middle of an answer it would be
    // another answer.
    if (type === "message_start" ? this.#continued : isContent && !this.#begun)
      return this.#isRefused("malformed");
    this.#continued ||= isContent;
    if (type === "message_start") this.#begin(event);
    else if (type === "message_delta") this.#change(event);
    else if (type === "message_stop") {
      // An end without a reason is no proper one, as in a whole answer.
      if (this.finish === null && !this.#asksNothing) return this.#isRefused("malformed");
      this.done = true;
    }
    this.outputCharacters += charactersOf(type, event);
    this.hasOutput ||= this.done || this.outputCharacters > 0 || isEnding(type, event);
    return true;
  }

  /**
   * A block begins and ends once, and what has been reported of the message is final: an identical
   * repetition is the same event.
   */
  #isRepeated(type: unknown, data: string): boolean {
    const isRepeated = ONCE.has(type) && data === this.#lastData;
    this.#lastData = data;
    return isRepeated;
  }

  #begin({ message }: JsonObject): void {
    this.#begun = true;
    if (!isJsonObject(message)) return;
    this.#tally.add(message["usage"], true);
    this.finish = finishReason(message["stop_reason"]);
  }

  #change({ delta, usage }: JsonObject): void {
    this.#tally.add(usage);
    if (!isJsonObject(delta)) return;
    this.finish = finishReason(delta["stop_reason"]) ?? this.finish;
  }

  #isRefused(kind: FailureKind): false {
    this.refuse(kind);
    return false;
  }
}

function charactersOf(type: unknown, event: JsonObject): number {
  switch (type) {
    case "message_start":
      return outputCharacters(event["message"], SAID_IN_MESSAGE);
    case "content_block_start":
      return outputCharacters(event["content_block"], SAID_IN_BLOCK);
    case "content_block_delta":
      return outputCharacters(event["delta"], SAID_IN_BLOCK);
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
    type === "message_delta" && isJsonObject(delta) && finishReason(delta["stop_reason"]) !== null
  );
}

export function observeMessagesStream(context: AnswerContext): AnswerStream {
  return new MessagesObserver(context);
}

/**
 * A whole message with its signatures tagged for the client; the message itself where nothing
 * changes.
 */
function tagMessage(message: JsonObject, family: string | null): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const tagged = content.map((block: JsonValue) =>
    isJsonObject(block) ? tagBlock(block, family) : block,
  );
  return tagged.every((block, index) => block === content[index])
    ? message
    : { ...message, content: tagged };
}

function tagBlock(block: JsonObject, family: string | null): JsonObject {
  const type = textOf(block["type"]);
  const member = Object.hasOwn(SIGNATURE_MEMBERS, type) ? SIGNATURE_MEMBERS[type] : undefined;
  return member === undefined ? block : tagMember(block, member, family);
}

function tagMember(object: JsonObject, member: string, family: string | null): JsonObject {
  const signature = object[member];
  if (typeof signature !== "string") return object;
  const tagged = relayedSignature(signature, family, NATIVE_FAMILY);
  return tagged === signature ? object : { ...object, [member]: tagged };
}

/** Tags the signatures of a stream's events. */
class EventTagger {
  readonly #family: string | null;
  /**
   * Whether the open block has got its tag: of a signature that comes in pieces, only the first one
   * is tagged.
   */
  #isTagged = false;

  constructor(family: string | null) {
    this.#family = family;
  }

  /**
   * The event as the client gets it; the event itself where nothing changes. Each event once, in
   * their order.
   */
  tag(type: JsonValue | undefined, event: JsonObject): JsonObject {
    if (type === "message_start")
      return withMember(event, "message", (message) => tagMessage(message, this.#family));
    let tagged = event;
    if (type === "content_block_start") {
      tagged = withMember(event, "content_block", (block) => tagBlock(block, this.#family));
    } else if (type !== "content_block_delta" || this.#isTagged) {
      return event;
    } else {
      tagged = withMember(event, "delta", (delta) => this.#tagDelta(delta));
    }
    this.#isTagged = tagged !== event;
    return tagged;
  }

  #tagDelta(delta: JsonObject): JsonObject {
    return delta["type"] === "signature_delta"
      ? tagMember(delta, "signature", this.#family)
      : delta;
  }
}

function withMember(
  event: JsonObject,
  name: string,
  change: (value: JsonObject) => JsonObject,
): JsonObject {
  const value = event[name];
  if (!isJsonObject(value)) return event;
  const changed = change(value);
  return changed === value ? event : { ...event, [name]: changed };
}

/**
 * Judges a whole message: content, and a reason why it ended. Unknown reasons and blocks are the
 * caller's to read.
 */
export function readMessagesAnswer(
  bytes: Uint8Array,
  { request, signatureFamily }: AnswerContext,
): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"));
  const broken = messageFailure(answer);
  if (broken !== null) return failed(broken);
  const finish = finishReason(answer["stop_reason"]);
  const tally = new UsageTally();
  tally.add(answer["usage"]);
  const { usage } = tally;
  const isEnded = finish !== null || asksNothing(request);
  if (!isEnded || !Array.isArray(answer["content"]))
    return failed(answerFailure("malformed"), usage);
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

/** Judges the answer to a count: it is one only with a count. */
export function readCountAnswer(bytes: Uint8Array): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"));
  if (answer["type"] === "error") return failed(readErrorFrame(answer["error"]));
  const input = readCount(answer["input_tokens"]);
  if (input === null) return failed(answerFailure("malformed"));
  const usage = { input, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
  return { ending: { failure: null, finish: null, usage, dropped: [] }, bytes };
}

const NOTHING = new Uint8Array(0);

function failed(failure: UpstreamFailure, usage: Ending["usage"] = null): WholeAnswer {
  return { ending: { failure, finish: null, usage, dropped: [] }, bytes: NOTHING };
}

import { RelayedStream, outputCharacters } from "../relay.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { FailureKind } from "../../canon/failure.ts";
import { SIGNATURES_MARKED } from "../../canon/generate/edit.ts";
import type { TokenUsage } from "../../canon/generate/usage.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { renderAnthropicError } from "./family.ts";
import type { AnswerContext, AnswerStream } from "../dialect.ts";
import { parseJsonText } from "../json.ts";
import { formatSseEvent } from "../sse.ts";
import { asksNothing, readStopReason, UsageTally, eventFailure, readErrorFrame } from "./ending.ts";
import { EventTagger } from "./tag-signatures.ts";

/** Events that are part of an answer: they may only come once it has begun. */
const CONTENT_EVENTS: ReadonlySet<unknown> = new Set([
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
]);

/** Events that begin or continue a block. */
const BLOCK_EVENTS: ReadonlySet<unknown> = new Set(["content_block_start", "content_block_delta"]);

/** Members of a message that begins in which something is said. */
const SAID_IN_MESSAGE = ["content"] as const;

/** Members of a block that begins, or of a piece of one. Other members describe the model or the transport. */
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
const ONCE: ReadonlySet<unknown> = new Set(["content_block_start", "content_block_stop", "message_delta"]);

/**
 * Observes a relayed messages stream (docs/protocols.md#messages). Whole events go through unchanged, unknown ones too; only signatures get the tag of their
 * family. `message_stop` alone completes the answer; an error event, text that is not JSON, or an end without it is a failure.
 */
class MessagesObserver extends RelayedStream {
  readonly #requestId: string;
  readonly #asksNothing: boolean;
  readonly #tally = new UsageTally();
  readonly #tagger: EventTagger;
  #begun = false;
  /** Something has followed the beginning. */
  #continued = false;
  /** The provider has given the reason why the answer ended: no block may follow. */
  #stopped = false;
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

  protected override relay(bytes: Uint8Array, data: string, name: string | null, events: Uint8Array[]): void {
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.refuse("malformed");
    const type = event["type"] ?? name;
    if (!this.#take(name, type, event, data)) return;
    const tagged = this.#tagger.tag(type, event);
    if (tagged !== event) this.edits = SIGNATURES_MARKED;
    events.push(tagged === event ? bytes : formatSseEvent(JSON.stringify(tagged), name));
  }

  /** Reads one event with data; says whether it is relayed. */
  #take(name: string | null, type: JsonValue | undefined, event: JsonObject, data: string): boolean {
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
    if (this.#stopped && BLOCK_EVENTS.has(type)) return this.#isRefused("malformed");
    // Some speakers of the protocol say the beginning twice; in the middle of an answer it would be another answer.
    if (type === "message_start" ? this.#continued : isContent && !this.#begun) return this.#isRefused("malformed");
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

  /** A block begins and ends once, and what has been reported of the message is final: an identical repetition is the same event. */
  #isRepeated(type: unknown, data: string): boolean {
    const isRepeated = ONCE.has(type) && data === this.#lastData;
    this.#lastData = data;
    return isRepeated;
  }

  #begin({ message }: JsonObject): void {
    this.#begun = true;
    if (!isJsonObject(message)) return;
    this.#tally.add(message["usage"]);
    this.finish = readStopReason(message["stop_reason"]);
  }

  #change({ delta, usage }: JsonObject): void {
    this.#tally.add(usage);
    if (!isJsonObject(delta)) return;
    const reason = readStopReason(delta["stop_reason"]);
    this.finish = reason ?? this.finish;
    this.#stopped ||= reason !== null;
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

/** Whether an event gives the reason of the answer's end. A reason in `message_start` ends nothing yet. */
function isEnding(type: unknown, { delta }: JsonObject): boolean {
  return type === "message_delta" && isJsonObject(delta) && readStopReason(delta["stop_reason"]) !== null;
}

export function observeMessagesStream(context: AnswerContext): AnswerStream {
  return new MessagesObserver(context);
}

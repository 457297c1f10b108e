import type { ServiceError } from "../../../canon/error.ts";
import type { FailureKind, UpstreamFailure } from "../../../canon/failure.ts";
import type { FinishReason } from "../../../canon/generate/event.ts";
import type { TokenUsage } from "../../../canon/generate/usage.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import { renderAnthropicError } from "../../anthropic-errors.ts";
import type { AnswerContext, AnswerStream, Ending } from "../../dialect.ts";
import { parseJsonText } from "../../json-bytes.ts";
import { saysSomething } from "../../relay/says-something.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { formatSseEvent, MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../../sse.ts";
import { asksNothing, readStopReason } from "../finish.ts";
import { readErrorFrame } from "../read-error.ts";
import { UsageTally } from "../usage.ts";

/** Ends an event whose provider left the blank line out. */
const BLANK_LINE = new TextEncoder().encode("\n\n");

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

/** Members of a block that begins, or of a piece of one. Other members tell of the model or the transport. */
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
 * Watches a relayed messages stream (protocols.md §3.4). Whole events go through as they are, unknown ones too. `message_stop` alone says that
 * the answer is whole; an error event, text that is not JSON, or an end without it is a failure.
 */
class MessagesObserver implements AnswerStream {
  readonly #requestId: string;
  readonly #asksNothing: boolean;
  readonly #framer = new SseFramer();
  readonly #tally = new UsageTally();
  #begun = false;
  /** Something has followed the beginning. */
  #continued = false;
  #lastData = "";
  #finish: FinishReason | null = null;
  failure: UpstreamFailure | null = null;
  hasOutput = false;
  done = false;

  constructor({ requestId, request }: AnswerContext) {
    this.#requestId = requestId;
    this.#asksNothing = asksNothing(request);
  }

  get usage(): TokenUsage | null {
    return this.#tally.usage;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.done) return [];
    const events = this.#framer.push(chunk).filter((event) => this.#isRelayed(event));
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.#refuse("too_large");
    return events;
  }

  end(): { readonly ending: Ending; readonly events: readonly Uint8Array[] } {
    const rest = this.#framer.end();
    const events: Uint8Array[] = [];
    if (parseSseEvent(rest).data !== null) {
      if (this.#isRelayed(rest)) events.push(rest, BLANK_LINE);
    }
    if (!this.done) this.#refuse("truncated");
    return { ending: { failure: this.failure, finish: this.#finish, usage: this.usage, losses: [] }, events };
  }

  fail(error: ServiceError): Uint8Array {
    return formatSseEvent(renderAnthropicError(error, this.#requestId), "error");
  }

  /** Reads one event; says whether it goes to the client. */
  #isRelayed(bytes: Uint8Array): boolean {
    if (this.failure !== null || this.done) return false;
    const { event, data } = parseSseEvent(bytes);
    return data === null || this.#take(event, data);
  }

  /** Reads one event with data; says whether it is relayed. */
  #take(name: string | null, data: string): boolean {
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.#refuse("malformed");
    const type = event["type"] ?? name;
    if (type === "error" || name === "error") {
      this.failure = readErrorFrame(event["error"]);
      return false;
    }
    if (this.#isRepeated(type, data)) return false;
    const isContent = CONTENT_EVENTS.has(type);
    // Some speakers of the protocol say the beginning twice; in the middle of an answer it would be another answer.
    if (type === "message_start" ? this.#continued : isContent && !this.#begun) return this.#refuse("malformed");
    this.#continued ||= isContent;
    if (type === "message_start") this.#begin(event);
    else if (type === "message_delta") this.#change(event);
    else if (type === "message_stop") {
      // An end without a reason is no proper one, as in a whole answer.
      if (this.#finish === null && !this.#asksNothing) return this.#refuse("malformed");
      this.done = true;
    }
    this.hasOutput ||= this.done || this.#says(type, event);
    return true;
  }

  /** A block begins and ends once, and what has been said of the message is said: the same again, word for word, is the same event. */
  #isRepeated(type: unknown, data: string): boolean {
    const isRepeated = ONCE.has(type) && data === this.#lastData;
    this.#lastData = data;
    return isRepeated;
  }

  /** A reason that is told at the beginning ends nothing yet. */
  #says(type: unknown, event: JsonObject): boolean {
    switch (type) {
      case "message_start":
        return saysSomething(event["message"], SAID_IN_MESSAGE);
      case "content_block_start":
        return saysSomething(event["content_block"], SAID_IN_BLOCK);
      case "content_block_delta":
        return saysSomething(event["delta"], SAID_IN_BLOCK);
      case "message_delta":
        return isJsonObject(event["delta"]) && readStopReason(event["delta"]["stop_reason"]) !== null;
      default:
        return false;
    }
  }

  #begin({ message }: JsonObject): void {
    this.#begun = true;
    if (!isJsonObject(message)) return;
    this.#tally.add(message["usage"]);
    this.#finish = readStopReason(message["stop_reason"]);
  }

  #change({ delta, usage }: JsonObject): void {
    this.#tally.add(usage);
    if (isJsonObject(delta)) this.#finish = readStopReason(delta["stop_reason"]) ?? this.#finish;
  }

  #refuse(kind: FailureKind): false {
    this.failure ??= answerFailure(kind);
    return false;
  }
}

export function observeMessagesStream(context: AnswerContext): AnswerStream {
  return new MessagesObserver(context);
}

import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { Ending, StreamObserver, TokenUsage } from "../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../json-bytes.ts";
import { formatSseEvent, parseSseEvent, SseFramer } from "../sse.ts";
import { readErrorFrame } from "./read-error.ts";
import { finishReason, readUsage } from "./usage.ts";

/** The longest single event that is waited for; an upstream that sends more without an event's end is broken. 16 MiB. */
const MAXIMUM_EVENT_BYTES = 16 * 1024 * 1024;

const DONE = formatSseEvent("[DONE]");

/** Ends an event whose provider left the blank line out. */
const BLANK_LINE = new TextEncoder().encode("\n\n");

/**
 * Watches a relayed chat completions stream (protocols.md §3.1). Whole events go through as they are. The stream has succeeded
 * when every choice had its finish reason, or `[DONE]` was said; an error object, text that is not JSON, or an end without either is a failure.
 */
class ChatStreamObserver implements StreamObserver {
  readonly #framer = new SseFramer();
  readonly #expectedChoices: number;
  /** We asked for usage that the caller did not: the chunk that holds nothing else is ours to keep. */
  readonly #hideUsageChunk: boolean;
  /** Choice index → whether it had its finish reason. */
  readonly #choices = new Map<number, boolean>();
  /** Events without data that came before the first one with data: a keep-alive is not an answer, so it must not commit to one. */
  #held: Uint8Array[] | null = [];
  #heldBytes = 0;
  #finish: string | null = null;
  usage: TokenUsage | null = null;
  failure: UpstreamFailure | null = null;
  done = false;

  constructor(expectedChoices: number, hideUsageChunk: boolean) {
    this.#expectedChoices = expectedChoices;
    this.#hideUsageChunk = hideUsageChunk;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.done) return [];
    const events = this.#framer.push(chunk).flatMap((event) => this.#relayed(event));
    if (this.#framer.pendingBytes + this.#heldBytes > MAXIMUM_EVENT_BYTES) this.failure ??= streamFailure("too_large");
    return events;
  }

  end(): { readonly ending: Ending; readonly events: readonly Uint8Array[] } {
    const rest = this.#framer.end();
    const events: Uint8Array[] = [];
    if (parseSseEvent(rest).data !== null) {
      const last = this.#relayed(rest);
      if (last.length > 0) events.push(...last, BLANK_LINE);
    }
    if (this.failure === null && !this.#isWhole()) this.failure = streamFailure("truncated");
    if (this.failure === null && !this.done) events.push(DONE);
    return { ending: { failure: this.failure, finish: this.#finish, usage: this.usage }, events };
  }

  #isWhole(): boolean {
    if (this.done) return true;
    return this.#choices.size >= this.#expectedChoices && ![...this.#choices.values()].includes(false);
  }

  /** What goes to the client because of one event: nothing, the event, or the event after those that waited for it. */
  #relayed(bytes: Uint8Array): readonly Uint8Array[] {
    if (this.failure !== null || this.done) return [];
    const { event, data } = parseSseEvent(bytes);
    if (data === null) {
      if (this.#held === null) return [bytes];
      this.#held.push(bytes);
      this.#heldBytes += bytes.length;
      return [];
    }
    if (!this.#take(event, data)) return [];
    const events = this.#held === null ? [bytes] : [...this.#held, bytes];
    this.#held = null;
    this.#heldBytes = 0;
    return events;
  }

  /** Reads one event with data; says whether it is relayed. */
  #take(event: string | null, data: string): boolean {
    if (data === "[DONE]") {
      // An end without a beginning: there is no choice that could have been finished.
      if (this.#choices.size === 0) this.failure = streamFailure("truncated");
      else this.done = true;
      return this.done;
    }
    const chunk = parseJsonText(data);
    if (!isJsonObject(chunk)) {
      this.failure = streamFailure("malformed");
      return false;
    }
    if (event === "error" || (chunk["error"] !== undefined && chunk["error"] !== null)) {
      this.failure = readErrorFrame(chunk["error"] ?? chunk);
      return false;
    }
    const usage = readUsage(chunk);
    if (usage !== null) this.usage = usage;
    const choices = this.#readChoices(chunk);
    return this.failure === null && !(this.#hideUsageChunk && usage !== null && choices === 0);
  }

  #readChoices(chunk: JsonObject): number {
    const choices = chunk["choices"];
    if (!Array.isArray(choices)) return 0;
    for (const choice of choices) {
      if (!isJsonObject(choice)) continue;
      const index = typeof choice["index"] === "number" ? choice["index"] : 0;
      const finish = finishReason(choice["finish_reason"]);
      if (finish === "error") this.failure = streamFailure("error_frame");
      if (finish !== null) {
        this.#choices.set(index, true);
        this.#finish = finish;
      } else if (!this.#choices.has(index)) {
        this.#choices.set(index, false);
      }
    }
    return choices.length;
  }
}

export function observeChatStream(request: InferenceRequest): StreamObserver {
  const { n } = request.body;
  return new ChatStreamObserver(typeof n === "number" ? n : 1, !request.includeUsage);
}

/**
 * Judges a whole answer: a JSON object with at least one choice, each with a finish reason. The empty text is let through as one:
 * a recorded provider (Snowflake) ends every whole answer with it.
 */
export function readChatAnswer(bytes: Uint8Array): Ending {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return ended(streamFailure("malformed"));
  const usage = readUsage(answer);
  const error = answer["error"];
  if (error !== undefined && error !== null) return { ...ended(readErrorFrame(error)), usage };
  const choices = answer["choices"];
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isFinished)) {
    return { ...ended(streamFailure("malformed")), usage };
  }
  const reasons = choices.map(({ finish_reason }) => finishReason(finish_reason));
  if (reasons.includes("error")) return { ...ended(streamFailure("error_frame")), usage };
  return { failure: null, finish: reasons[0] ?? null, usage };
}

function isFinished(choice: JsonValue): choice is JsonObject {
  return isJsonObject(choice) && typeof choice["finish_reason"] === "string";
}

function ended(failure: UpstreamFailure): Ending {
  return { failure, finish: null, usage: null };
}

function streamFailure(kind: UpstreamFailure["kind"]): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code: null };
}

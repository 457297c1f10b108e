import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject } from "../../canon/json.ts";
import type { EventParser, Target } from "../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../json.ts";
import { MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../sse.ts";
import { answerFailure } from "../answer-failure.ts";
import { ChatAnswerReader } from "./answer-reader.ts";

/** Reads a provider's stream as events (docs/protocols.md#chat-streams-of-providers). */
class ChatEventParser implements EventParser {
  readonly #framer = new SseFramer();
  readonly #reader: ChatAnswerReader;
  #closed = false;

  constructor(request: GenerateRequest, target: Target, answerId: string) {
    this.#reader = new ChatAnswerReader(request, target, answerId);
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    if (this.#isOver) return NONE;
    for (const event of this.#framer.push(chunk)) this.#read(event);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.#reader.fail(answerFailure("too_large"));
    return this.#reader.drain();
  }

  end(): readonly InferenceEvent[] {
    if (this.#isOver) return NONE;
    // A provider may leave the last blank line out.
    this.#read(this.#framer.end());
    if (!this.#closed) this.#reader.finish(false);
    this.#closed = true;
    return this.#reader.drain();
  }

  get #isOver(): boolean {
    return this.#closed || this.#reader.failure !== null;
  }

  #read(bytes: Uint8Array): void {
    if (this.#isOver) return;
    const { event, data } = parseSseEvent(bytes);
    if (data === null) return;
    if (data === "[DONE]") {
      this.#closed = true;
      this.#reader.finish(true);
      return;
    }
    const object = parseJsonText(data);
    if (!isJsonObject(object)) this.#reader.fail(answerFailure("malformed"));
    else this.#reader.take(object, event, false);
  }
}

const NONE: readonly InferenceEvent[] = Object.freeze([]);

export function parseChatStream(request: GenerateRequest, target: Target, answerId = ""): EventParser {
  return new ChatEventParser(request, target, answerId);
}

/** A whole completion as the events of a stream. */
export function parseChatAnswer(
  bytes: Uint8Array,
  request: GenerateRequest,
  target: Target,
  answerId = "",
): readonly InferenceEvent[] {
  const reader = new ChatAnswerReader(request, target, answerId);
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) reader.fail(answerFailure("malformed"));
  else {
    reader.take(answer, null, true);
    const choice = Array.isArray(answer["choices"]) ? answer["choices"][0] : null;
    if (isJsonObject(choice) && isJsonObject(choice["message"])) reader.finish(true);
    else reader.fail(answerFailure("malformed"));
  }
  return reader.drain();
}

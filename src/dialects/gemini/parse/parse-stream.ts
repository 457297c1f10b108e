import type { InferenceEvent } from "../../../canon/generate/event.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { EventParser, Target } from "../../dialect.ts";
import { parseExactJsonText } from "../../json-bytes.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../../sse.ts";
import { errorOf, readErrorFrame } from "../read-error.ts";
import { AnswerReader } from "./answer-reader.ts";

/** Reads a stream of generateContent. There is no mark at its end: only a finish reason says that the answer is whole. */
class GeminiParser implements EventParser {
  readonly #framer = new SseFramer();
  readonly #reader: AnswerReader;

  constructor(reader: AnswerReader) {
    this.#reader = reader;
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    if (this.#reader.over) return [];
    for (const event of this.#framer.push(chunk)) this.#take(event);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.#reader.fail(answerFailure("too_large"));
    return this.#reader.drain();
  }

  end(): readonly InferenceEvent[] {
    if (this.#reader.over) return [];
    this.#take(this.#framer.end());
    this.#reader.fail(answerFailure("truncated"));
    return this.#reader.drain();
  }

  #take(bytes: Uint8Array): void {
    if (this.#reader.over) return;
    const { data } = parseSseEvent(bytes);
    if (data === null) return;
    // Arguments of calls come as JSON and go on as JSON: a number keeps its digits.
    const piece = parseExactJsonText(data);
    const error = errorOf(piece);
    if (error !== null) this.#reader.fail(readErrorFrame(error));
    else if (isJsonObject(piece)) this.#reader.take(piece);
    else this.#reader.fail(answerFailure("malformed"));
  }
}

export function parseGeminiStream(request: GenerateRequest, target: Target): EventParser {
  return new GeminiParser(new AnswerReader(request, target));
}

import { countedTokens, failedAnswer } from "../answer-events.ts";
import { readCount, parseExactJsonText, parseJsonBytes } from "../json.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject } from "../../canon/json.ts";
import type { EventParser, Target } from "../dialect.ts";
import { answerFailure } from "../answer-failure.ts";
import { errorOf, readErrorFrame } from "./read-error.ts";
import { AnswerReader } from "./answer-reader.ts";
import { SseEventParser } from "../sse.ts";

/** A whole answer, or the answer to a count, as the events of a stream of it. */
export function parseGeminiAnswer(
  bytes: Uint8Array,
  request: GenerateRequest,
  target: Target,
  answerId = "",
): readonly InferenceEvent[] {
  const answer = parseJsonBytes(bytes);
  const error = errorOf(answer);
  if (error !== null) return failedAnswer(readErrorFrame(error));
  if (!isJsonObject(answer)) return failedAnswer(answerFailure("malformed"));
  if (request.purpose === "count") {
    return countedTokens(
      readCount(answer["totalTokens"]),
      readCount(answer["cachedContentTokenCount"]),
    );
  }
  const reader = new AnswerReader(request, target, answerId);
  reader.take(answer);
  const hasCandidates = Array.isArray(answer["candidates"]) && answer["candidates"].length > 0;
  if (!reader.conclude())
    reader.fail(answerFailure("malformed", hasCandidates ? "unknown_finish_reason" : null));
  return reader.drain();
}

/**
 * Reads a stream of generateContent. There is no mark at its end: its bytes end, after a finish
 * reason that says that the answer is whole.
 */
class GeminiParser extends SseEventParser<AnswerReader> {
  protected override take(data: string): void {
    // Arguments of calls come as JSON and go on as JSON: a number keeps its digits.
    const piece = parseExactJsonText(data);
    const error = errorOf(piece);
    if (error !== null) this.reader.fail(readErrorFrame(error));
    else if (isJsonObject(piece)) this.reader.take(piece);
    // What follows a proper end and is no piece of an answer does not undo it.
    else if (!this.reader.conclude()) this.reader.fail(answerFailure("malformed"));
  }

  protected override close(): void {
    if (!this.reader.conclude()) super.close();
  }
}

export function parseGeminiStream(
  request: GenerateRequest,
  target: Target,
  answerId = "",
): EventParser {
  return new GeminiParser(new AnswerReader(request, target, answerId));
}

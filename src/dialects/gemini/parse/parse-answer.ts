import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { InferenceEvent } from "../../../canon/generate/event.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import type { EventParser, Target } from "../../dialect.ts";
import { parseExactJsonText, parseJsonBytes } from "../../json-bytes.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { errorOf, readErrorFrame } from "../read-error.ts";
import { readCount } from "../usage.ts";
import { AnswerReader } from "./answer-reader.ts";
import { SseEventParser } from "../../sse.ts";

/** A whole answer, or the answer to a count, as the events of a stream of it. */
export function parseGeminiAnswer(
  bytes: Uint8Array,
  request: GenerateRequest,
  target: Target,
  answerId = "",
): readonly InferenceEvent[] {
  const answer = parseJsonBytes(bytes);
  const error = errorOf(answer);
  if (error !== null) return failed(readErrorFrame(error));
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"));
  if (request.purpose === "count") return parseCount(answer);
  const reader = new AnswerReader(request, target, answerId);
  reader.take(answer);
  const hasCandidates = Array.isArray(answer["candidates"]) && answer["candidates"].length > 0;
  reader.fail(answerFailure("malformed", hasCandidates ? "unknown_finish_reason" : null));
  return reader.drain();
}

function parseCount(answer: JsonObject): readonly InferenceEvent[] {
  const input = readCount(answer["totalTokens"]);
  if (input === null) return failed(answerFailure("malformed"));
  const cacheRead = readCount(answer["cachedContentTokenCount"]);
  return [
    { type: "start", model: null },
    { type: "usage", usage: { input, output: null, cacheRead, cacheWrite: null, reasoning: null } },
    { type: "finish", reason: "stop", stopSequence: null },
  ];
}

function failed(failure: UpstreamFailure): readonly InferenceEvent[] {
  return [{ type: "failure", failure }];
}

/** Reads a stream of generateContent. There is no mark at its end: only a finish reason says that the answer is whole. */
class GeminiParser extends SseEventParser<AnswerReader> {
  protected override take(data: string): void {
    // Arguments of calls come as JSON and go on as JSON: a number keeps its digits.
    const piece = parseExactJsonText(data);
    const error = errorOf(piece);
    if (error !== null) this.reader.fail(readErrorFrame(error));
    else if (isJsonObject(piece)) this.reader.take(piece);
    else this.reader.fail(answerFailure("malformed"));
  }
}

export function parseGeminiStream(request: GenerateRequest, target: Target, answerId = ""): EventParser {
  return new GeminiParser(new AnswerReader(request, target, answerId));
}

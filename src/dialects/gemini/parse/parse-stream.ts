import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { EventParser, Target } from "../../dialect.ts";
import { parseExactJsonText } from "../../json-bytes.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { SseEventParser } from "../../translation/sse-event-parser.ts";
import { errorOf, readErrorFrame } from "../read-error.ts";
import { AnswerReader } from "./answer-reader.ts";

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

import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject } from "../../canon/json.ts";
import type { EventParser, Target } from "../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../json.ts";
import { SseEventParser } from "../sse.ts";
import { answerFailure } from "../answer-failure.ts";
import { ChatAnswerReader } from "./answer-reader.ts";

/** Reads a provider's stream as events (docs/protocols.md#chat-streams-of-providers). */
class ChatEventParser extends SseEventParser<ChatAnswerReader> {
  protected override take(data: string, event: string | null): void {
    if (data === "[DONE]") return this.reader.conclude(true);
    const object = parseJsonText(data);
    if (!isJsonObject(object)) this.reader.fail(answerFailure("malformed"));
    else this.reader.take(object, event, false);
  }

  protected override close(): void {
    this.reader.conclude(false);
  }
}

export function parseChatStream(request: GenerateRequest, target: Target, answerId = ""): EventParser {
  return new ChatEventParser(new ChatAnswerReader(request, target, answerId));
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
    if (isJsonObject(choice) && isJsonObject(choice["message"])) reader.conclude(true);
    else reader.fail(answerFailure("malformed"));
  }
  return reader.drain();
}

import { countedTokens, failedAnswer } from "../../answer-events.ts";
import { readCount } from "../../answer-members.ts";
import type { InferenceEvent } from "../../../canon/generate/event.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { Target } from "../../dialect.ts";
import { parseAnswerBytes } from "../../json-bytes.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { messageFailure } from "../read-error.ts";
import { MessageReader } from "./message-reader.ts";

/** A whole message, or the answer to a count, as the events of a stream of it. */
export function parseMessagesAnswer(
  bytes: Uint8Array,
  request: GenerateRequest,
  target: Target,
): readonly InferenceEvent[] {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failedAnswer(answerFailure("malformed"));
  const broken = messageFailure(answer);
  if (broken !== null) return failedAnswer(broken);
  if (request.purpose === "count") return countedTokens(readCount(answer["input_tokens"]));
  if (!Array.isArray(answer["content"])) return failedAnswer(answerFailure("malformed"));
  const reader = new MessageReader(request, target);
  reader.start(answer);
  reader.stop();
  return reader.drain();
}

import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes, memberIn } from "../json.ts";
import { answerFailure, kindOfStatus, codeByBeginning } from "../answer-failure.ts";
import { readConverseError, bedrockErrorIn } from "../bedrock-converse/read-error.ts";

/** Beginnings of messages: the protocol's errors have nothing else. */
const TELLING_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/^too many tokens: max tokens must/i, "max_tokens_exceeded"],
  [/^too many tokens/i, "context_length_exceeded"],
];

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readCohereError(status: number, bytes: Uint8Array): UpstreamFailure {
  return { kind: kindOfStatus(status), status, retryAfter: null, code: safeCode(parseAnswerBytes(bytes)) };
}

/** An error's object instead of an event, or of an answer that said 200. */
export function readErrorObject(error: JsonValue): UpstreamFailure {
  return answerFailure("error_frame", safeCode(error));
}

function safeCode(error: JsonValue | undefined): string | null {
  return codeByBeginning(memberIn(error, "message"), TELLING_MESSAGES);
}

/**
 * Makes a failure of an error status where Cohere's models answer, at Cohere or through Bedrock. What the status means Bedrock knows best: it has
 * one more than Cohere. What Cohere's message says is finer than the type that Bedrock puts around it.
 */
export function readCohereModelError(status: number, bytes: Uint8Array): UpstreamFailure {
  const failure = readConverseError(status, bytes);
  return { ...failure, code: readCohereError(status, bytes).code ?? failure.code };
}

/** The same for an answer that said 200 and has no results; `null` where it is no error. */
export function cohereErrorIn(answer: JsonObject): UpstreamFailure | null {
  const failure = bedrockErrorIn(answer);
  return failure === null ? null : { ...failure, code: readErrorObject(answer).code ?? failure.code };
}

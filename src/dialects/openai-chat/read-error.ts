import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes, textOf } from "../json.ts";
import { finishFailure } from "../finish-reasons.ts";
import { REFUSAL_CODES, refusedAnswer, refusedFrame } from "../refusals.ts";

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readChatError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  return refusedAnswer(status, body, safeCode(body));
}

/** An error object that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue): UpstreamFailure {
  return refusedFrame(error, safeCode(error));
}

/**
 * The failure that an object of an answer reports; `null` where it reports none. Servers disagree
 * on the member: `error`, the object itself beside `object: "error"` (older vLLM, Mistral), or the
 * object itself under the event name `error`.
 */
export function failureIn(object: JsonObject, event: string | null = null): UpstreamFailure | null {
  const { error } = object;
  if (error !== undefined && error !== null) return readErrorFrame(error);
  return event === "error" || object["object"] === "error" ? readErrorFrame(object) : null;
}

/**
 * The failure that a choice reports: by its finish reason, by that of the server behind a gateway,
 * which may have been made a `stop` (https://openrouter.ai/docs/api-reference/overview), or by an
 * error of its own; `null` where it reports none.
 */
export function choiceFailure(choice: JsonObject): UpstreamFailure | null {
  const { error, finish_reason: reason, native_finish_reason: native } = choice;
  return error === undefined || error === null
    ? (finishFailure(reason) ?? finishFailure(native))
    : readErrorFrame(error);
}

/** The code or the type of an error, at the top of a body or below `error`. */
function safeCode(body: JsonValue | undefined): string | null {
  if (!isJsonObject(body)) return null;
  const error = isJsonObject(body["error"]) ? body["error"] : body;
  const { code, type } = error;
  return REFUSAL_CODES.get(textOf(code)) ?? REFUSAL_CODES.get(textOf(type)) ?? null;
}

import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes } from "../json-bytes.ts";
import { kindOfStatus } from "../translation/answer-failure.ts";

/** Machine codes that say something to a caller and nothing of its content. All others are dropped. */
const SAFE_CODES = new Set([
  "context_length_exceeded",
  "max_tokens_exceeded",
  "invalid_value",
  "invalid_type",
  "missing_required_parameter",
  "unsupported_parameter",
  "unsupported_value",
  "unknown_parameter",
  "string_above_max_length",
  "invalid_image",
  "invalid_image_format",
  "image_too_large",
  "content_filter",
  "content_policy_violation",
  "data_residency_mismatch",
  "insufficient_quota",
  "rate_limit_exceeded",
  "model_not_found",
  "json_validate_failed",
  "tool_use_failed",
]);

/** Makes a failure of an answer with an error status (protocols.md §2.3). The upstream's message is never looked at. */
export function readChatError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  return { kind: kindOfStatus(status), status, retryAfter: null, code: safeCode(body) };
}

/** An error object that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue): UpstreamFailure {
  return { kind: "error_frame", status: null, retryAfter: null, code: safeCode({ error }) };
}

/**
 * What an object of an answer says has gone wrong; `null` where it says nothing of the kind. Servers disagree on the place: `error`, the object itself
 * beside `object: "error"` (older vLLM, Mistral), or the object itself under the event name `error`.
 */
export function errorIn(object: JsonObject, event: string | null): JsonValue {
  const { error } = object;
  if (error !== undefined && error !== null) return error;
  return event === "error" || object["object"] === "error" ? object : null;
}

function safeCode(body: JsonValue | undefined): string | null {
  const error = isJsonObject(body) ? (body["error"] ?? body) : null;
  if (!isJsonObject(error)) return null;
  for (const name of ["code", "type"]) {
    const value = error[name];
    if (typeof value === "string" && SAFE_CODES.has(value)) return value;
  }
  return null;
}

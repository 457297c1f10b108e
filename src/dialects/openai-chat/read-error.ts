import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes } from "../json-bytes.ts";

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

/** A failure that showed in the answer itself. `code` is one of ours. */
export function answerFailure(kind: FailureKind, code: string | null = null): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code };
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

export function kindOfStatus(status: number): FailureKind {
  // A success that is not 200 is not an answer of this protocol.
  if (status < 300) return "malformed";
  if (status < 400) return "redirect";
  if (status === 401 || status === 402 || status === 403) return "auth";
  if (status === 404) return "not_found";
  if (status === 408) return "timeout_first_byte";
  if (status === 429) return "rate_limited";
  if (status === 503 || status === 529) return "overloaded";
  return status >= 500 ? "server_error" : "rejected";
}

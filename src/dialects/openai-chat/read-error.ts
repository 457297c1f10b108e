import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes } from "../json.ts";
import { finishFailure } from "../finish-reasons.ts";
import { answerFailure, kindOfStatus, namedMember } from "../answer-failure.ts";

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

/**
 * Beginnings of messages that stand for a machine code, for servers that give none; the member stands in quotes after them. Nothing else of a
 * message is looked at.
 */
const TELLING_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/^Unsupported parameter:? '?([\w.[\]]+)?/i, "unsupported_parameter"],
  [/^Unsupported value:? '?([\w.[\]]+)?/i, "unsupported_value"],
  [/^Un(?:known|recognized) (?:request )?(?:parameter|argument)(?: supplied)?:? '?([\w.[\]]+)?/i, "unknown_parameter"],
  [/^Missing required parameter:? '?([\w.[\]]+)?/i, "missing_required_parameter"],
];

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers), of the message no more than its beginning. */
export function readChatError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const error = isJsonObject(body) ? (body["error"] ?? body) : null;
  const reported = isJsonObject(error) ? (reportedBy(error["message"]) ?? reportedByValidator(body)) : null;
  const named = isJsonObject(error) ? namedMember(error["param"]) : null;
  return {
    kind: kindOfStatus(status),
    status,
    retryAfter: null,
    code: safeCode(body) ?? reported?.code ?? null,
    ...(named ?? reported?.named),
  };
}

interface ReportedFailure {
  readonly code: string;
  readonly named: { readonly param: string } | null;
}

function reportedBy(message: JsonValue | undefined): ReportedFailure | null {
  if (typeof message !== "string") return null;
  for (const [beginning, code] of TELLING_MESSAGES) {
    const match = beginning.exec(message);
    if (match !== null) return { code, named: namedMember(match[1]) };
  }
  return null;
}

/** Types of the validator that many Python servers have; all others are about a value. */
const VALIDATOR_CODES: Readonly<Record<string, string>> = {
  extra_forbidden: "unknown_parameter",
  missing: "missing_required_parameter",
};

/** `{"detail": [{"type", "loc": ["body", name, …]}]}`, at the top or as the message. */
function reportedByValidator(body: JsonValue | undefined): ReportedFailure | null {
  if (!isJsonObject(body)) return null;
  const { detail = isJsonObject(body["message"]) ? body["message"]["detail"] : undefined } = body;
  const [first] = Array.isArray(detail) ? detail : [];
  if (!isJsonObject(first)) return null;
  const { type, loc } = first;
  if (typeof type !== "string" || !Array.isArray(loc)) return null;
  const path = loc[0] === "body" ? loc.slice(1) : loc;
  const code = Object.hasOwn(VALIDATOR_CODES, type) ? VALIDATOR_CODES[type] : "invalid_value";
  return { code: code ?? "invalid_value", named: namedMember(path.join(".")) };
}

/** An error object that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue): UpstreamFailure {
  return answerFailure("error_frame", safeCode({ error }));
}

/**
 * The failure that an object of an answer reports; `null` where it reports none. Servers disagree on the member: `error`, the object itself
 * beside `object: "error"` (older vLLM, Mistral), or the object itself under the event name `error`.
 */
export function failureIn(object: JsonObject, event: string | null = null): UpstreamFailure | null {
  const { error } = object;
  if (error !== undefined && error !== null) return readErrorFrame(error);
  return event === "error" || object["object"] === "error" ? readErrorFrame(object) : null;
}

/**
 * The failure that a choice reports: by its finish reason, by that of the server behind a gateway, which may have been made a `stop`
 * (https://openrouter.ai/docs/api-reference/overview), or by an error of its own; `null` where it reports none.
 */
export function choiceFailure(choice: JsonObject): UpstreamFailure | null {
  const { error, finish_reason: reason, native_finish_reason: native } = choice;
  return error === undefined || error === null
    ? (finishFailure(reason) ?? finishFailure(native))
    : readErrorFrame(error);
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

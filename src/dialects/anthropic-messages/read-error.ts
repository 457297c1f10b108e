import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes } from "../json-bytes.ts";
import { kindOfStatus } from "../translation/answer-failure.ts";

/** Machine codes that say something to a caller and nothing of its content. All others are dropped. */
const SAFE_CODES: ReadonlySet<string> = new Set([
  "request_too_large",
  "rate_limit_error",
  "overloaded_error",
  "timeout_error",
  "api_error",
  "billing_error",
  "not_found_error",
  "available_tools_limit_exceeded",
  "tool_name_conflict",
  "tool_reference_unresolved",
  "compaction_unavailable",
  "compaction_block_ambiguous",
  "compaction_block_misplaced",
  "compaction_content_mismatch",
  "compaction_incomplete_turn",
  "compaction_nothing_to_summarize",
  "compaction_signature_invalid",
]);

/**
 * Beginnings of messages that stand for a machine code that the protocol does not have. Coding agents make room in the conversation when they
 * hear of the first, so it must not look like any other refusal. Only whether a message begins so is looked at.
 */
const TELLING_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/^prompt is too long/i, "context_length_exceeded"],
  [/^input length and `?max_tokens`? exceed context limit/i, "context_length_exceeded"],
];

/** Makes a failure of an answer with an error status (protocols.md §2.3). */
export function readMessagesError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const error = isJsonObject(body) ? body["error"] : undefined;
  return { kind: kindOfStatus(status), status, retryAfter: null, code: safeCode(error) };
}

/** An error object that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue | undefined): UpstreamFailure {
  return { kind: "error_frame", status: null, retryAfter: null, code: safeCode(error) };
}

function safeCode(error: JsonValue | undefined): string | null {
  if (!isJsonObject(error)) return null;
  const { details, type, message } = error;
  for (const code of [isJsonObject(details) ? details["error_code"] : undefined, type]) {
    if (typeof code === "string" && SAFE_CODES.has(code)) return code;
  }
  if (typeof message !== "string") return null;
  return TELLING_MESSAGES.find(([beginning]) => beginning.test(message))?.[1] ?? null;
}

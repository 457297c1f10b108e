import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes } from "../json-bytes.ts";
import { kindOfStatus, namedMember } from "../answer-failure.ts";

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
  [/^[a-z_]+(?:\.\w+)*: Extra inputs are not permitted/, "unknown_parameter"],
  [/^[a-z_]+(?:\.\w+)*: Field required/, "missing_required_parameter"],
  [/^input length and `?max_tokens`? exceed context limit/i, "context_length_exceeded"],
];

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readMessagesError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const error = isJsonObject(body) ? body["error"] : undefined;
  return { kind: kindOfStatus(status), status, retryAfter: null, code: safeCode(error), ...memberOf(error) };
}

/** The protocol begins the message about a member with its path: `messages.0.content: …`. */
function memberOf(error: JsonValue | undefined): { readonly param: string } | null {
  const message = isJsonObject(error) ? error["message"] : undefined;
  const path = typeof message === "string" ? /^([a-z_]+(?:\.\w+)*): /.exec(message)?.[1] : undefined;
  return namedMember(path);
}

/** An error object that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue | undefined): UpstreamFailure {
  return { kind: "error_frame", status: null, retryAfter: null, code: safeCode(error) };
}

/**
 * The failure that a message, a block or a piece reports: its type is `error`, or it has an error instead of content. `null` where it reports none. Results
 * of tools have types of their own (`web_search_tool_result_error`) and are content.
 */
function innerFailure(part: JsonValue | undefined): UpstreamFailure | null {
  if (!isJsonObject(part)) return null;
  const { type, error } = part;
  return type === "error" || (error !== undefined && error !== null) ? readErrorFrame(error) : null;
}

/** The failure that a whole message reports, in itself or in one of its blocks; `null` where it reports none. */
export function messageFailure(message: JsonObject): UpstreamFailure | null {
  const { content } = message;
  const parts: readonly JsonValue[] = Array.isArray(content) ? [message, ...content] : [message];
  return parts.map(innerFailure).find((failure) => failure !== null) ?? null;
}

/** The same for an event of a stream: in its message, its block or its piece. */
export function eventFailure({ message, content_block: block, delta }: JsonObject): UpstreamFailure | null {
  const failed = isJsonObject(message) ? messageFailure(message) : null;
  return failed ?? innerFailure(block) ?? innerFailure(delta);
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

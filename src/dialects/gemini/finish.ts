import type { UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import { answerFailure } from "../translation/answer-failure.ts";

/** The protocol's reasons for a proper end (docs/protocols.md#finish-reasons); a reason in neither table is the failure `unknown_finish_reason`. */
const ENDINGS: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  // The text was held back because it is in a language that the service does not serve.
  LANGUAGE: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
  MODEL_ARMOR: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
  IMAGE_RECITATION: "content_filter",
  IMAGE_OTHER: "content_filter",
};

/** Words for an answer that went wrong in the making, with our codes for them. */
const FAILURES: Readonly<Record<string, string>> = {
  MALFORMED_FUNCTION_CALL: "malformed_function_call",
  MALFORMED_RESPONSE: "malformed_response",
  UNEXPECTED_TOOL_CALL: "unexpected_tool_call",
  TOO_MANY_TOOL_CALLS: "too_many_tool_calls",
  MISSING_THOUGHT_SIGNATURE: "missing_thought_signature",
  NO_IMAGE: "no_image",
};

/**
 * What a finish reason says: a word of ours, or the failure that it stands for. FINISH_REASON_UNSPECIFIED, OTHER and CONTINUATION end nothing
 * that a caller of another protocol could make use of.
 */
export function readFinishReason(word: string): FinishReason | UpstreamFailure {
  const ending = Object.hasOwn(ENDINGS, word) ? ENDINGS[word] : undefined;
  if (ending !== undefined) return ending;
  const code = Object.hasOwn(FAILURES, word) ? FAILURES[word] : undefined;
  return code === undefined ? answerFailure("malformed", "unknown_finish_reason") : answerFailure("error_frame", code);
}

import type { UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import type { JsonValue } from "../../canon/json.ts";
import { answerFailure } from "../translation/answer-failure.ts";

/** The protocol's words for why an answer ended properly. A guardrail that stepped in is a filter, never a normal end. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["end_turn", "stop"],
  ["stop_sequence", "stop_sequence"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "context_window"],
  ["tool_use", "tool_calls"],
  ["guardrail_intervened", "content_filter"],
  ["content_filtered", "content_filter"],
]);

/** Words that say that the model made something that is no answer. They are told as they are: the list is closed. */
const FAILURES: ReadonlySet<string> = new Set(["malformed_model_output", "malformed_tool_use"]);

/** Why an answer ended; an unknown value, and none at all, are failures. */
export function readStopReason(word: JsonValue | undefined): FinishReason | UpstreamFailure {
  if (typeof word !== "string") return answerFailure("malformed", "unknown_finish_reason");
  const failure = answerFailure("malformed", FAILURES.has(word) ? word : "unknown_finish_reason");
  return REASONS.get(word) ?? failure;
}

import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { outputCharacters } from "../relay/output-characters.ts";
import { answerFailure } from "../translation/answer-failure.ts";

/** Finish reasons of this protocol and of providers that speak it (docs/protocols.md#finish-reasons). */
const REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["stop", "stop"],
  ["length", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
]);

/** Words in the place of a finish reason that say that there is no answer. */
const FAILURES: ReadonlyMap<string, FailureKind> = new Map<string, FailureKind>([
  ["error", "error_frame"],
  ["insufficient_system_resource", "overloaded"],
]);

/**
 * An answer that was closed, by `[DONE]` or the end of its body, without a finish reason. Its end would have to be made up, so it is a failure, streamed
 * or not.
 */
export const MISSING_FINISH_REASON: UpstreamFailure = Object.freeze(
  answerFailure("malformed", "missing_finish_reason"),
);

/** Members of a delta that hold the answer itself. Annotations, filters' results and counts may follow a finish reason; these may not. */
const ANSWER_MEMBERS = ["content", "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call"] as const;

/** Where legacy completions have their text. */
const COMPLETION_MEMBERS = ["text"] as const;

/** Whether a chunk's choice holds a part of the answer. After the choice's finish reason that is a malformed stream. */
export function holdsAnswer(choice: JsonObject): boolean {
  return outputCharacters(choice["delta"], ANSWER_MEMBERS) + outputCharacters(choice, COMPLETION_MEMBERS) > 0;
}

/** The reason of a finish word; `other` for an unknown value, `null` where there is none (absent, null or empty). */
export function finishReason(word: JsonValue | undefined): FinishReason | null {
  if (typeof word !== "string" || word === "") return null;
  return REASONS.get(word) ?? "other";
}

/** The failure that a finish word tells of; `null` for every other word. */
export function finishFailure(word: JsonValue | undefined): UpstreamFailure | null {
  const kind = typeof word === "string" ? FAILURES.get(word) : undefined;
  return kind === undefined ? null : answerFailure(kind);
}

/** The word for a reason. `pause` and `other` never get here (they end native relays only); neither may ever read as a proper end. */
export function finishWord(reason: FinishReason): string {
  switch (reason) {
    case "stop":
    case "stop_sequence":
      return "stop";
    case "tool_calls":
      return "tool_calls";
    case "refusal":
    case "content_filter":
      return "content_filter";
    case "length":
    case "context_window":
    case "pause":
    case "other":
      return "length";
  }
}

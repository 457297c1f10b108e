import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import type { JsonValue } from "../../canon/json.ts";
import { answerFailure } from "../translation/answer-failure.ts";

/** Finish reasons of this protocol and its speakers (protocols.md §3.1, §4). */
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

/** The reason of a finish word; `other` for a word that nobody knows, `null` where there is none (absent, null or empty). */
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

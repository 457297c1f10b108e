import type { UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import type { JsonValue } from "../../canon/json.ts";
import { answerFailure } from "../translation/answer-failure.ts";

/** The protocol's reasons for a proper end (docs/protocols.md#finish-reasons). */
const REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["COMPLETE", "stop"],
  ["STOP_SEQUENCE", "stop_sequence"],
  ["MAX_TOKENS", "length"],
  ["TOOL_CALL", "tool_calls"],
]);

/** Words in the place of a finish reason that say that there is no answer, with the code that tells more. */
const FAILURES: ReadonlyMap<string, string | null> = new Map([
  ["ERROR", null],
  ["TIMEOUT", "generation_timeout"],
]);

/** Kinds of errors beside the word ERROR that say something to a caller and nothing of its content, in the words that we have for them. */
const ERROR_TYPES: ReadonlyMap<string, string> = new Map([["INVALID_TOOL_GENERATION", "tool_use_failed"]]);

/** The reason of a finish word; `other` for an unknown value, `null` where there is none. */
export function finishReason(word: JsonValue | undefined): FinishReason | null {
  if (typeof word !== "string" || word === "") return null;
  return REASONS.get(word) ?? "other";
}

/**
 * The failure that a finish word tells of; `null` for every other word.
 *
 * @param type what stands beside it as `error_type`.
 */
export function finishFailure(word: JsonValue | undefined, type: JsonValue | undefined): UpstreamFailure | null {
  if (typeof word !== "string" || !FAILURES.has(word)) return null;
  const told = typeof type === "string" ? ERROR_TYPES.get(type) : undefined;
  return answerFailure("error_frame", told ?? FAILURES.get(word) ?? null);
}

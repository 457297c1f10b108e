import { countIn, readCount, wholeInput } from "../json.ts";
import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { outputCharacters } from "../relay.ts";
import { answerFailure } from "../answer-failure.ts";
import type { TokenUsage } from "../../canon/generate/usage.ts";

/** Finish reasons of this protocol and of providers that speak it (docs/protocols.md#finish-reasons). */
const REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["stop", "stop"],
  ["length", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"],
]);

/** Values of `finish_reason` that mean that there is no answer. */
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

/** The reason that a `finish_reason` stands for; `other` for an unknown value, `null` where there is none (absent, null or empty). */
export function finishReason(value: JsonValue | undefined): FinishReason | null {
  if (typeof value !== "string" || value === "") return null;
  return REASONS.get(value) ?? "other";
}

/** The failure that a `finish_reason` stands for; `null` for every other value. */
export function finishFailure(value: JsonValue | undefined): UpstreamFailure | null {
  const kind = typeof value === "string" ? FAILURES.get(value) : undefined;
  return kind === undefined ? null : answerFailure(kind);
}

/** Reads `usage`, or `x_groq.usage` where the provider puts it there; `null` where neither stands. */
export function readUsage(answer: JsonObject): TokenUsage | null {
  const own = answer["usage"];
  const extension = answer["x_groq"];
  const usage = isJsonObject(own) ? own : isJsonObject(extension) ? extension["usage"] : null;
  if (!isJsonObject(usage)) return null;
  const cacheRead = countIn(usage["prompt_tokens_details"], "cached_tokens");
  const cacheWrite = countIn(usage["prompt_tokens_details"], "cache_write_tokens");
  return {
    input: wholeInput(readCount(usage["prompt_tokens"]), cacheRead, cacheWrite),
    output: readCount(usage["completion_tokens"]),
    cacheRead,
    cacheWrite,
    reasoning: countIn(usage["completion_tokens_details"], "reasoning_tokens"),
  };
}

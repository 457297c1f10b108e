import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { TokenUsage } from "../dialect.ts";

/** Finish reasons of this protocol and its speakers; a word from outside reads `other`, so that no upstream text reaches evidence. */
const FINISH_REASONS = new Set([
  "stop",
  "length",
  "tool_calls",
  "content_filter",
  "function_call",
  "model_length",
  "insufficient_system_resource",
  "error",
]);

/** Reads `usage`, or `x_groq.usage` where the provider puts it there; `null` where neither stands. */
export function readUsage(answer: JsonObject): TokenUsage | null {
  const own = answer["usage"];
  const extension = answer["x_groq"];
  const usage = isJsonObject(own) ? own : isJsonObject(extension) ? extension["usage"] : null;
  if (!isJsonObject(usage)) return null;
  return {
    input: count(usage["prompt_tokens"]),
    output: count(usage["completion_tokens"]),
    cacheRead: countIn(usage["prompt_tokens_details"], "cached_tokens"),
    reasoning: countIn(usage["completion_tokens_details"], "reasoning_tokens"),
  };
}

export function finishReason(value: JsonValue | undefined): string | null {
  if (typeof value !== "string" || value === "") return null;
  return FINISH_REASONS.has(value) ? value : "other";
}

function countIn(details: JsonValue | undefined, name: string): number | null {
  return isJsonObject(details) ? count(details[name]) : null;
}

function count(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}

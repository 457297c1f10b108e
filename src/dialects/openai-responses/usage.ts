import { wholeInput } from "../json.ts";
import type { TokenUsage } from "../../canon/generate/usage.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

/** Reads the `usage` of a response resource; `null` where it has none. */
export function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const { input_tokens_details: inputs, output_tokens_details: outputs } = usage;
  const cacheRead = isJsonObject(inputs) ? count(inputs["cached_tokens"]) : null;
  const cacheWrite = isJsonObject(inputs) ? count(inputs["cache_write_tokens"]) : null;
  return {
    input: wholeInput(count(usage["input_tokens"]), cacheRead, cacheWrite),
    output: count(usage["output_tokens"]),
    cacheRead,
    cacheWrite,
    reasoning: isJsonObject(outputs) ? count(outputs["reasoning_tokens"]) : null,
  };
}

/**
 * `usage` as the protocol demands it; `null` where a total is unknown. The details have no value for unknown: a provider that does not report
 * cached or reasoning tokens is reported as 0, which is what the protocol's own providers without a cache say.
 */
export function printUsage(usage: TokenUsage | null): JsonObject | null {
  if (usage === null || usage.input === null || usage.output === null) return null;
  const written = usage.cacheWrite === null ? {} : { cache_write_tokens: usage.cacheWrite };
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, ...written },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}

function count(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

import type { TokenUsage } from "../../canon/generate/usage.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";

/**
 * The counts of an answer; `null` where it has none. `tokens` are what the model read and made; `billed_units` leave out what the provider
 * adds to every prompt, so they are a price and not a count. Cached tokens are part of the input, reasoning is part of the output.
 */
export function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const { tokens } = usage;
  const made: TokenUsage = {
    input: countIn(tokens, "input_tokens"),
    output: countIn(tokens, "output_tokens"),
    cacheRead: countIn(usage, "cached_tokens"),
    cacheWrite: null,
    reasoning: countIn(tokens, "reasoning_tokens"),
  };
  return Object.values(made).every((count) => count === null) ? null : made;
}

function countIn(counts: JsonValue | undefined, name: string): number | null {
  const value = isJsonObject(counts) ? counts[name] : null;
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}

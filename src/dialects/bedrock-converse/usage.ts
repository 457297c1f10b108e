import type { TokenUsage } from "../../canon/generate/usage.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";

/** Reads the counts of an answer; `null` where there are none. The protocol's input leaves cached tokens out; canon's has them in. */
export function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const fresh = readCount(usage["inputTokens"]);
  const cacheRead = readCount(usage["cacheReadInputTokens"]);
  const cacheWrite = readCount(usage["cacheWriteInputTokens"]);
  return {
    input: fresh === null ? null : fresh + (cacheRead ?? 0) + (cacheWrite ?? 0),
    output: readCount(usage["outputTokens"]),
    cacheRead,
    cacheWrite,
    reasoning: null,
  };
}

export function readCount(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

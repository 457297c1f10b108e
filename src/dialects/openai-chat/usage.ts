import { type TokenUsage, totalTokens, wholeInput } from "../../canon/generate/usage.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

/** Reads `usage`, or `x_groq.usage` where the provider puts it there; `null` where neither stands. */
export function readUsage(answer: JsonObject): TokenUsage | null {
  const own = answer["usage"];
  const extension = answer["x_groq"];
  const usage = isJsonObject(own) ? own : isJsonObject(extension) ? extension["usage"] : null;
  if (!isJsonObject(usage)) return null;
  const cacheRead = countIn(usage["prompt_tokens_details"], "cached_tokens");
  const cacheWrite = countIn(usage["prompt_tokens_details"], "cache_write_tokens");
  return {
    input: wholeInput(count(usage["prompt_tokens"]), cacheRead, cacheWrite),
    output: count(usage["completion_tokens"]),
    cacheRead,
    cacheWrite,
    reasoning: countIn(usage["completion_tokens_details"], "reasoning_tokens"),
  };
}

/** The `usage` member of an answer; counts that nobody gave are left out, never zero. `null` where nothing is known. */
export function printUsage(usage: TokenUsage | null): JsonObject | null {
  if (usage === null || (usage.input === null && usage.output === null)) return null;
  const { input, output, cacheRead, cacheWrite, reasoning } = usage;
  const total = totalTokens(usage);
  return {
    ...(input === null ? {} : { prompt_tokens: input }),
    ...(output === null ? {} : { completion_tokens: output }),
    ...(total === null ? {} : { total_tokens: total }),
    ...(cacheRead === null && cacheWrite === null
      ? {}
      : {
          prompt_tokens_details: {
            ...(cacheRead === null ? {} : { cached_tokens: cacheRead }),
            ...(cacheWrite === null ? {} : { cache_write_tokens: cacheWrite }),
          },
        }),
    ...(reasoning === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function countIn(details: JsonValue | undefined, name: string): number | null {
  return isJsonObject(details) ? count(details[name]) : null;
}

function count(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

import { readCount } from "../answer-members.ts";
import { wholeInput, type TokenUsage } from "../../canon/generate/usage.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";

/**
 * Reads `usageMetadata` (docs/protocols.md#gemini); `null` where it counts nothing. The prompt's count includes cached tokens; tokens of the provider's own
 * tools are counted beside it, and thoughts beside the answer. Counts of zero are left out on the wire, so a missing output follows from the total where
 * there is one.
 */
export function readUsage(metadata: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(metadata)) return null;
  const prompt = readCount(metadata["promptTokenCount"]);
  const cacheRead = readCount(metadata["cachedContentTokenCount"]);
  const read = wholeInput(prompt, cacheRead);
  const input = read === null ? null : read + (readCount(metadata["toolUsePromptTokenCount"]) ?? 0);
  const answer = readCount(metadata["candidatesTokenCount"]);
  const thoughts = readCount(metadata["thoughtsTokenCount"]);
  const output = answer === null ? remainder(readCount(metadata["totalTokenCount"]), input) : answer + (thoughts ?? 0);
  if (input === null && output === null && thoughts === null && cacheRead === null) return null;
  return { input, output, cacheRead, cacheWrite: null, reasoning: thoughts };
}

function remainder(total: number | null, input: number | null): number | null {
  return total === null || input === null || total < input ? null : total - input;
}

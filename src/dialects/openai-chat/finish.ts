import { countIn, memberIn, wholeOutput } from "../json.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { outputCharacters } from "../relay.ts";
import { answerFailure } from "../answer-failure.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";

/**
 * An answer that was closed, by `[DONE]` or the end of its body, without a finish reason. Its end
 * would have to be made up, so it is a failure, streamed or not.
 */
export const MISSING_FINISH_REASON: UpstreamFailure = Object.freeze(
  answerFailure("malformed", "missing_finish_reason"),
);

/**
 * Members of a delta that hold the answer itself. Annotations, filters' results and counts may
 * follow a finish reason; these may not.
 */
const ANSWER_MEMBERS = [
  "content",
  "refusal",
  "reasoning_content",
  "reasoning",
  "tool_calls",
  "function_call",
] as const;

/** Where legacy completions have their text. */
const COMPLETION_MEMBERS = ["text"] as const;

/** Whether a chunk's choice holds a part of the answer. */
export function holdsAnswer(choice: JsonObject): boolean {
  return (
    outputCharacters(choice["delta"], ANSWER_MEMBERS) +
      outputCharacters(choice, COMPLETION_MEMBERS) >
    0
  );
}

/**
 * Where providers put counts: in the answer, in an extension of it (Groq), or in its choice
 * (https://platform.moonshot.ai/docs/api/chat).
 */
function usageIn({ usage, x_groq: extension, choices }: JsonObject): JsonObject | null {
  const [choice] = Array.isArray(choices) ? choices : [];
  return (
    [usage, memberIn(extension, "usage"), memberIn(choice, "usage")].find(isJsonObject) ?? null
  );
}

/**
 * Reads the counts of an answer or a chunk; `null` where there are none. Members beside the
 * protocol's are those of DeepSeek (https://api-docs.deepseek.com/api/create-chat-completion),
 * Moonshot (`cached_tokens`) and of servers that count reasoning beside the totals of the rest.
 */
export function readUsage(answer: JsonObject): TokenUsage | null {
  const usage = usageIn(answer);
  if (usage === null) return null;
  const { prompt_tokens_details: inputs, completion_tokens_details: outputs } = usage;
  const cacheRead =
    countIn(inputs, "cached_tokens") ??
    countIn(usage, "prompt_cache_hit_tokens") ??
    countIn(usage, "cached_tokens");
  const cacheWrite = countIn(inputs, "cache_write_tokens");
  const reasoning = countIn(outputs, "reasoning_tokens") ?? countIn(usage, "reasoning_tokens");
  const counted = countIn(usage, "completion_tokens");
  const total = countIn(usage, "total_tokens");
  const prompt = countIn(usage, "prompt_tokens");
  // Recorded: Mistral's audio models count sound beside the prompt, some servers cached tokens. The
  // total shows it.
  const parts = [countIn(inputs, "audio_tokens") ?? 0, (cacheRead ?? 0) + (cacheWrite ?? 0)];
  const beside = parts.find((part) => total === (prompt ?? 0) + (counted ?? 0) + part) ?? 0;
  const input = prompt === null ? null : prompt + beside;
  const output = wholeOutput(counted, reasoning, input, total);
  return { input, output, cacheRead, cacheWrite, reasoning };
}

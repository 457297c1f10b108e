import type { UpstreamFailure } from "../../canon/failure.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { answerFailure, finishFailure } from "../answer-ends.ts";
import { countIn, listOf, memberIn, parseAnswerBytes, textOf, wholeOutput } from "../json.ts";
import { REFUSAL_CODES, refusedAnswer, refusedFrame } from "../refusals.ts";
import { outputCharacters } from "../relay.ts";

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
    outputCharacters(choice.delta, ANSWER_MEMBERS) + outputCharacters(choice, COMPLETION_MEMBERS) >
    0
  );
}

/**
 * Where providers put counts: in the answer, in an extension of it (Groq), or in its choice
 * (https://platform.moonshot.ai/docs/api/chat).
 */
function usageIn({ usage, x_groq: extension, choices }: JsonObject): JsonObject | null {
  const [choice] = listOf(choices);
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

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readChatError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  return refusedAnswer(status, body, safeCode(body));
}

/** An error object that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue): UpstreamFailure {
  return refusedFrame(error, safeCode(error));
}

/**
 * The failure that an object of an answer reports; `null` where it reports none. Servers disagree
 * on the member: `error`, the object itself beside `object: "error"` (older vLLM, Mistral), or the
 * object itself under the event name `error`.
 */
export function failureIn(object: JsonObject, event: string | null = null): UpstreamFailure | null {
  const { error } = object;
  if (error != null) return readErrorFrame(error);
  return event === "error" || object.object === "error" ? readErrorFrame(object) : null;
}

/**
 * The failure that a choice reports: by its finish reason, by that of the server behind a gateway,
 * which may have been made a `stop` (https://openrouter.ai/docs/api-reference/overview), or by an
 * error of its own; `null` where it reports none.
 */
export function choiceFailure(choice: JsonObject): UpstreamFailure | null {
  const { error, finish_reason: reason, native_finish_reason: native } = choice;
  return error == null ? (finishFailure(reason) ?? finishFailure(native)) : readErrorFrame(error);
}

/** The code or the type of an error, at the top of a body or below `error`. */
function safeCode(body: JsonValue | undefined): string | null {
  if (!isJsonObject(body)) return null;
  const error = isJsonObject(body.error) ? body.error : body;
  const { code, type } = error;
  return REFUSAL_CODES.get(textOf(code)) ?? REFUSAL_CODES.get(textOf(type)) ?? null;
}

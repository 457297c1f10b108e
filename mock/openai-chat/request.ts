import { isJsonObject, type JsonObject } from "../json.ts";
import {
  between,
  checkMembers,
  integer,
  isBoolean,
  isFilledText,
  isList,
  isObject,
  isText,
  isTextOrObject,
  isWhole,
  listOf,
  memberTable,
  numberOr,
  oneOf,
  textsOf,
} from "../member-table.ts";
import type { ToolUse } from "../model/plan.ts";
import { OPENAI_WORDING } from "../openai/error.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessages, type Conversation } from "./messages.ts";
import { readTools } from "./tools.ts";

/** A chat-completions request that OpenAI would accept, as far as the simulated answer depends on it. */
export interface ChatRequest {
  readonly conversation: Conversation;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly choices: number;
  readonly limit: number | null;
  readonly stop: readonly string[];
  /** Alternatives for each token; `null` where no log probabilities are asked for. */
  readonly logprobs: number | null;
  readonly reasoning: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

/** Every member of the request (OpenAI's reference, `CreateChatCompletionRequest`). */
const MEMBERS = memberTable(
  ["model", "a string", isFilledText],
  ["messages", "a list with at least one message", isList],
  ["stream", "true or false", isBoolean],
  ["stream_options", "an object", isObject],
  ["n", "an integer from 1 to 128", integer(1, 128)],
  ["max_tokens", "a positive integer", integer(1, 1e9)],
  ["max_completion_tokens", "a positive integer", integer(1, 1e9)],
  ["temperature", "a number from 0 to 2", between(0, 2)],
  ["top_p", "a number from 0 to 1", between(0, 1)],
  ["frequency_penalty", "a number from -2 to 2", between(-2, 2)],
  ["presence_penalty", "a number from -2 to 2", between(-2, 2)],
  ["stop", "a string or a list of 1 to 4 strings", (value) => isText(value) || listOf(isText, 1, 4)(value)],
  ["logprobs", "true or false", isBoolean],
  ["top_logprobs", "an integer from 0 to 20", integer(0, 20)],
  ["logit_bias", "an object", isObject],
  ["seed", "an integer", isWhole],
  ["response_format", "an object", isObject],
  ["tools", "a list", isList],
  ["tool_choice", "a string or an object", isTextOrObject],
  ["parallel_tool_calls", "true or false", isBoolean],
  [
    "reasoning_effort",
    "none, minimal, low, medium, high, xhigh or max",
    oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max"),
  ],
  ["verbosity", "low, medium or high", oneOf("low", "medium", "high")],
  ["modalities", "a list", isList],
  ["audio", "an object", isObject],
  ["prediction", "an object", isObject],
  ["web_search_options", "an object", isObject],
  ["metadata", "an object", isObject],
  ["moderation", "an object", isObject],
  ["store", "true or false", isBoolean],
  ["service_tier", "a string", isText],
  ["safety_identifier", "a string", isText],
  ["prompt_cache_key", "a string", isText],
  ["prompt_cache_options", "an object", isObject],
  ["prompt_cache_retention", "a string", isText],
  ["user", "a string", isText],
);

/** @param lenient accepts members that are not OpenAI's, as many compatible providers do. */
export function readChatRequest(body: JsonObject, lenient: boolean): ChatRequest | Problem {
  const members = { table: MEMBERS, required: ["model", "messages"], lenient };
  const problem = checkMembers(body, members, OPENAI_WORDING) ?? checkTogether(body);
  if (problem !== null) return problem;
  const conversation = readMessages(body["messages"]);
  if ("status" in conversation) return conversation;
  const tools = readTools(body);
  if ("status" in tools) return tools;
  const format = readFormat(body["response_format"]);
  if ("status" in format) return format;
  const options = body["stream_options"];
  const effort = body["reasoning_effort"] ?? "none";
  return {
    conversation,
    stream: body["stream"] === true,
    includeUsage: isJsonObject(options) && options["include_usage"] === true,
    choices: numberOr(body["n"], 1),
    limit: numberOr(body["max_completion_tokens"], null) ?? numberOr(body["max_tokens"], null),
    stop: textsOf(body["stop"]),
    logprobs: body["logprobs"] === true ? numberOr(body["top_logprobs"], 0) : null,
    reasoning: effort !== "none",
    tools,
    schema: format.schema,
  };
}

function checkTogether(body: JsonObject): Problem | null {
  if ((body["stream_options"] ?? null) !== null && body["stream"] !== true)
    return invalid("stream_options", "'stream_options' goes with 'stream': true.");
  if ((body["top_logprobs"] ?? null) !== null && body["logprobs"] !== true)
    return invalid("top_logprobs", "'top_logprobs' goes with 'logprobs': true.");
  if ((body["max_tokens"] ?? null) !== null && (body["max_completion_tokens"] ?? null) !== null) {
    return invalid("max_tokens", "'max_tokens' and 'max_completion_tokens' mean the same; send one of them.");
  }
  return null;
}

function readFormat(format: unknown): { readonly schema: unknown } | Problem {
  if (!isJsonObject(format) || format["type"] === "text") return { schema: null };
  if (format["type"] === "json_object") return { schema: { type: "object" } };
  const wrapper = format["json_schema"];
  if (format["type"] !== "json_schema")
    return invalid("response_format.type", "'response_format.type' must be text, json_object or json_schema.");
  if (!isJsonObject(wrapper) || typeof wrapper["name"] !== "string" || !/^[\w-]{1,64}$/.test(wrapper["name"])) {
    return invalid(
      "response_format.json_schema.name",
      "'response_format.json_schema.name' must be 1 to 64 letters, digits, underscores or hyphens.",
    );
  }
  if (!isJsonObject(wrapper["schema"]))
    return invalid("response_format.json_schema.schema", "'response_format.json_schema.schema' must be a JSON Schema.");
  return { schema: wrapper["schema"] };
}

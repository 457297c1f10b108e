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
  isTextOrList,
  isTextOrObject,
  isWhole,
  listAt,
  listOf,
  memberTable,
  numberOr,
  oneOf,
  type MemberTable,
} from "../member-table.ts";
import type { ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { readFormat } from "./format.ts";
import { readInput, type Input } from "./input.ts";
import { readTools } from "./tools.ts";
import { missing, wordingAt } from "./wording.ts";

/** A responses request that OpenAI would accept, as far as the simulated answer depends on it. */
export interface ResponsesRequest {
  readonly body: JsonObject;
  readonly input: Input;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly stream: boolean;
  readonly limit: number | null;
  readonly reasoning: boolean;
  /** The reasoning is summed up in text. */
  readonly summary: boolean;
  /** The reasoning comes along sealed, to be sent back. */
  readonly encrypted: boolean;
  /** Alternatives for each token; `null` where no log probabilities are asked for. */
  readonly logprobs: number | null;
  /** Deltas carry padding, so that their length says nothing about their text. */
  readonly obfuscated: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

const INCLUDABLE = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
] as const;

const PROMPT: readonly (readonly [string, string, (value: unknown) => boolean])[] = [
  ["model", "a string", isFilledText],
  ["input", "a string or a list of items", isTextOrList],
  ["instructions", "a string", isText],
  ["conversation", "a string or an object", isTextOrObject],
  ["previous_response_id", "a string", isText],
  ["parallel_tool_calls", "a boolean", isBoolean],
  ["reasoning", "an object", isObject],
  ["text", "an object", isObject],
  ["tool_choice", "a string or an object", isTextOrObject],
  ["tools", "a list", isList],
  ["truncation", "'auto' or 'disabled'", oneOf("auto", "disabled")],
];

/** Every member of `POST /v1/responses/input_tokens` (OpenAI's reference, `TokenCountsBody`). */
const COUNTED = memberTable(...PROMPT, ["personality", "a string", isText]);

/** Every member of `POST /v1/responses` (OpenAI's reference, `CreateResponse`). */
const MEMBERS = memberTable(
  ...PROMPT,
  ["access_programs", "an object", isObject],
  ["background", "a boolean", isBoolean],
  ["context_management", "a list", isList],
  ["image", "an object", isObject],
  ["include", `a list of ${INCLUDABLE.join(", ")}`, listOf(oneOf(...INCLUDABLE))],
  ["max_output_tokens", "an integer", isWhole],
  ["max_tool_calls", "a positive integer", integer(1, 1e9)],
  ["metadata", "an object", isObject],
  ["moderation", "an object", isObject],
  ["prompt", "an object", isObject],
  ["prompt_cache_key", "a string", isText],
  ["prompt_cache_options", "an object", isObject],
  ["prompt_cache_retention", "'in_memory' or '24h'", oneOf("in_memory", "24h")],
  ["safety_identifier", "a string of at most 64 characters", (value) => isText(value) && String(value).length <= 64],
  ["service_tier", "a string", isText],
  ["store", "a boolean", isBoolean],
  ["stream", "a boolean", isBoolean],
  ["stream_options", "an object", isObject],
  ["temperature", "a number from 0 to 2", between(0, 2)],
  ["top_logprobs", "an integer from 0 to 20", integer(0, 20)],
  ["top_p", "a number from 0 to 1", between(0, 1)],
  ["user", "a string", isText],
);

/** @param lenient accepts members that are not OpenAI's, as many compatible providers do. */
export function readResponsesRequest(body: JsonObject, lenient: boolean): ResponsesRequest | Problem {
  return read(body, { table: MEMBERS, required: ["model"], lenient });
}

/** The same for counting tokens: nothing about the answer can be said. */
export function readCountRequest(body: JsonObject, lenient: boolean): ResponsesRequest | Problem {
  return read(body, { table: COUNTED, required: ["model"], lenient });
}

interface Members {
  readonly table: MemberTable;
  readonly required: readonly string[];
  readonly lenient: boolean;
}

function read(body: JsonObject, members: Members): ResponsesRequest | Problem {
  const problem = checkMembers(body, members, wordingAt("")) ?? checkState(body) ?? checkTogether(body);
  if (problem !== null) return problem;
  if ((body["input"] ?? null) === null) return missing("input");
  const input = readInput(body["input"], body["store"] !== false);
  if ("status" in input) return input;
  const tools = readTools(body);
  if ("status" in tools) return tools;
  const format = readFormat(body);
  if ("status" in format) return format;
  const reasoning = readReasoning(body["reasoning"]);
  if ("status" in reasoning) return reasoning;
  const include = listAt(body, "include");
  const options = body["stream_options"];
  const instructions = typeof body["instructions"] === "string" ? body["instructions"].length : 0;
  return {
    body,
    input,
    tokens: input.tokens + tools.tokens + Math.ceil(instructions / 4),
    stream: body["stream"] === true,
    limit: numberOr(body["max_output_tokens"], null),
    ...reasoning,
    encrypted: include.includes("reasoning.encrypted_content"),
    logprobs: include.includes("message.output_text.logprobs") ? numberOr(body["top_logprobs"], 0) : null,
    obfuscated: !isJsonObject(options) || options["include_obfuscation"] !== false,
    tools,
    schema: format.schema,
  };
}

/** Nothing is stored here, so nothing can be referred to. */
function checkState(body: JsonObject): Problem | null {
  if ((body["previous_response_id"] ?? null) !== null)
    return invalid("previous_response_id", "Previous response not found.", "previous_response_not_found");
  if ((body["conversation"] ?? null) !== null)
    return { ...invalid("conversation", "Conversation not found."), status: 404 };
  if ((body["prompt"] ?? null) !== null) return { ...invalid("prompt", "Prompt not found."), status: 404 };
  return body["background"] === true
    ? invalid("background", "The simulated provider answers nothing in the background.")
    : null;
}

const OPTIONS = memberTable(["include_obfuscation", "a boolean", isBoolean]);

function checkTogether(body: JsonObject): Problem | null {
  const options = body["stream_options"] ?? null;
  if (options !== null && body["stream"] !== true)
    return invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
  if (isJsonObject(options)) {
    const members = { table: OPTIONS, required: [], lenient: false };
    const problem = checkMembers(options, members, wordingAt("stream_options"));
    if (problem !== null) return problem;
  }
  if (numberOr(body["max_output_tokens"], 16) >= 16) return null;
  return invalid(
    "max_output_tokens",
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
    "integer_below_min_value",
  );
}

const isSummary = oneOf("auto", "concise", "detailed");
const REASONING = memberTable(
  [
    "effort",
    "none, minimal, low, medium, high, xhigh or max",
    oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max"),
  ],
  ["summary", "auto, concise or detailed", isSummary],
  ["generate_summary", "auto, concise or detailed", isSummary],
  ["context", "auto, current_turn or all_turns", oneOf("auto", "current_turn", "all_turns")],
  ["mode", "standard or pro", oneOf("standard", "pro")],
);

function readReasoning(value: unknown): Pick<ResponsesRequest, "reasoning" | "summary"> | Problem {
  if (!isJsonObject(value)) return { reasoning: false, summary: false };
  const problem = checkMembers(value, { table: REASONING, required: [], lenient: false }, wordingAt("reasoning"));
  if (problem !== null) return problem;
  const isSummed = isSummary(value["summary"]) || isSummary(value["generate_summary"]);
  const effort = value["effort"] ?? (isSummed ? "medium" : "none");
  return { reasoning: effort !== "none", summary: isSummed };
}

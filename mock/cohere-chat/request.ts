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
  listOf,
  memberTable,
  numberOr,
  oneOf,
  textsOf,
} from "../member-table.ts";
import type { ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { COHERE_WORDING } from "./error.ts";
import { readMessages, type Conversation } from "./messages.ts";
import { readTools } from "./tools.ts";

/** A chat request that Cohere would accept, as far as the simulated answer depends on it. */
export interface CohereRequest {
  readonly conversation: Conversation;
  readonly stream: boolean;
  readonly limit: number | null;
  readonly stop: readonly string[];
  readonly logprobs: boolean;
  readonly thinks: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

/** Every member of the request (Cohere's reference, "Chat"). */
const MEMBERS = memberTable(
  ["model", "a filled text", isFilledText],
  ["messages", "a list", isList],
  ["stream", "true or false", isBoolean],
  ["tools", "a list", isList],
  ["strict_tools", "true or false", isBoolean],
  ["tool_choice", "REQUIRED or NONE", oneOf("REQUIRED", "NONE")],
  ["documents", "a list", isList],
  ["citation_options", "an object", isObject],
  ["response_format", "an object", isObject],
  ["safety_mode", "CONTEXTUAL, STRICT or OFF", oneOf("CONTEXTUAL", "STRICT", "OFF")],
  ["max_tokens", "a positive integer", integer(1, 1e9)],
  ["stop_sequences", "a list of at most 5 texts", listOf(isText, 0, 5)],
  ["temperature", "a number from 0 to 1", between(0, 1)],
  ["seed", "an integer from 0", integer(0, Number.MAX_SAFE_INTEGER)],
  ["frequency_penalty", "a number from 0 to 1", between(0, 1)],
  ["presence_penalty", "a number from 0 to 1", between(0, 1)],
  ["k", "an integer from 0 to 500", integer(0, 500)],
  ["p", "a number from 0.01 to 0.99", between(0.01, 0.99)],
  ["logprobs", "true or false", isBoolean],
  ["thinking", "an object", isObject],
  ["priority", "an integer", integer(0, 999)],
);

/** @param lenient accepts members that are not Cohere's. */
export function readCohereRequest(body: JsonObject, lenient: boolean): CohereRequest | Problem {
  const members = { table: MEMBERS, required: ["model", "messages"], lenient };
  const problem = checkMembers(body, members, COHERE_WORDING) ?? checkThinking(body["thinking"]);
  if (problem !== null) return problem;
  const conversation = readMessages(body["messages"]);
  if ("status" in conversation) return conversation;
  const tools = readTools(body);
  if ("status" in tools) return tools;
  const format = readFormat(body);
  if ("status" in format) return format;
  const { thinking } = body;
  return {
    conversation,
    stream: body["stream"] === true,
    limit: numberOr(body["max_tokens"], null),
    stop: textsOf(body["stop_sequences"]),
    logprobs: body["logprobs"] === true,
    thinks: isJsonObject(thinking) && thinking["type"] === "enabled",
    tools,
    schema: format.schema,
  };
}

function checkThinking(thinking: unknown): Problem | null {
  if (!isJsonObject(thinking)) return null;
  const { type, token_budget: budget } = thinking;
  if (type !== "enabled" && type !== "disabled")
    return invalid("thinking.type", "invalid request: must be enabled or disabled");
  if (budget !== undefined && !integer(1, 1e9)(budget))
    return invalid("thinking.token_budget", "invalid request: must be a positive integer");
  return null;
}

function readFormat(body: JsonObject): { readonly schema: unknown } | Problem {
  const format = body["response_format"];
  if (!isJsonObject(format) || format["type"] === "text") return { schema: null };
  if (format["type"] !== "json_object")
    return invalid("response_format.type", "invalid request: must be text or json_object");
  if (["tools", "documents"].some((name) => Array.isArray(body[name])))
    return invalid("response_format", "invalid request: response_format is not supported with tools or documents.");
  const schema = format["json_schema"] ?? { type: "object" };
  return isJsonObject(schema)
    ? { schema }
    : invalid("response_format.json_schema", "invalid request: must be a JSON Schema");
}

import { type JsonObject, isJsonObject, parseJson } from "../json.ts";
import {
  between,
  checkMembers,
  integer,
  isFilledText,
  isList,
  isObject,
  isText,
  listOf,
  memberTable,
  numberOr,
  oneOf,
  textAt,
  textsOf,
  type MemberTable,
} from "../member-table.ts";
import type { ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";
import { readMessages, readSystem, type Conversation } from "./messages.ts";
import { readTools } from "./tools.ts";

/** A request that Bedrock would accept, as far as the simulated answer depends on it. */
export interface ConverseRequest {
  readonly conversation: Conversation;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly limit: number | null;
  readonly stop: readonly string[];
  readonly reasoning: boolean;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
}

const SHARED = [
  ["messages", "a list", isList],
  ["system", "a list", isList],
  ["toolConfig", "a structure", isObject],
  ["additionalModelRequestFields", "a document", isObject],
] as const;

const MEMBERS = memberTable(
  ...SHARED,
  ["inferenceConfig", "a structure", isObject],
  ["guardrailConfig", "a structure", isObject],
  ["promptVariables", "a map", isObject],
  ["additionalModelResponseFieldPaths", "a list of strings", listOf(isText)],
  ["requestMetadata", "a map", isObject],
  ["performanceConfig", "a structure", isObject],
  ["serviceTier", "a structure", isObject],
  ["outputConfig", "a structure", isObject],
);

/** What a count may say. */
const COUNTED = memberTable(...SHARED);

const INFERENCE = memberTable(
  ["maxTokens", "greater than or equal to 1", integer(1, 1e9)],
  ["temperature", "between 0 and 1", between(0, 1)],
  ["topP", "between 0 and 1", between(0, 1)],
  ["stopSequences", "a list of at most 2500 strings of at least 1 character", listOf(isFilledText, 0, 2_500)],
);

const TIER = memberTable([
  "type",
  "'default', 'flex', 'priority' or 'reserved'",
  oneOf("default", "flex", "priority", "reserved"),
]);

const OUTPUT = memberTable(
  ["textFormat", "a structure", isObject],
  ["effort", "'low', 'medium', 'high', 'xhigh' or 'max'", oneOf("low", "medium", "high", "xhigh", "max")],
);

const isSchemaText = (value: unknown): boolean => typeof value === "string" && isJsonObject(parse(value));

const JSON_SCHEMA = memberTable(
  ["schema", "the text of a JSON schema", isSchemaText],
  ["name", "a string", isText],
  ["description", "a string", isText],
);

/** Checks a request as Bedrock does: members, types, ranges, and the conversation. */
export function readConverseRequest(body: JsonObject, lenient: boolean): ConverseRequest | Problem {
  return read(body, MEMBERS, "", lenient);
}

/** The same for counting tokens, where the conversation stands two members deep. */
export function readCountRequest(body: JsonObject, lenient: boolean): ConverseRequest | Problem {
  const { input } = body;
  const converse = isJsonObject(input) ? input["converse"] : undefined;
  if (!isJsonObject(converse)) return invalid("input.converse", "The simulated provider counts conversations only.");
  return read(converse, COUNTED, "input.converse", lenient);
}

function read(body: JsonObject, table: MemberTable, path: string, lenient: boolean): ConverseRequest | Problem {
  const problem =
    checkMembers(body, { table, required: ["messages"], lenient }, wordingAt(path)) ??
    checkWithin(body, "inferenceConfig", INFERENCE) ??
    checkWithin(body, "serviceTier", TIER) ??
    checkWithin(body, "outputConfig", OUTPUT);
  if (problem !== null) return problem;
  const system = readSystem(body);
  if ("status" in system) return system;
  const conversation = readMessages(body);
  if ("status" in conversation) return conversation;
  const tools = readTools(body, conversation);
  if ("status" in tools) return tools;
  const format = readFormat(body["outputConfig"]);
  if ("status" in format) return format;
  const budget = checkBudget(body);
  if (budget !== null) return budget;
  const inference = isJsonObject(body["inferenceConfig"]) ? body["inferenceConfig"] : {};
  return {
    conversation,
    tokens: conversation.tokens + system.tokens + tools.tokens,
    limit: numberOr(inference["maxTokens"], null),
    stop: textsOf(inference["stopSequences"]),
    reasoning: thinks(body["additionalModelRequestFields"]),
    tools,
    schema: format.schema,
  };
}

function checkWithin(body: JsonObject, name: string, table: MemberTable): Problem | null {
  const value = body[name];
  return isJsonObject(value) ? checkMembers(value, { table, required: [], lenient: false }, wordingAt(name)) : null;
}

function readFormat(output: unknown): { readonly schema: unknown } | Problem {
  const format = isJsonObject(output) ? output["textFormat"] : undefined;
  if (!isJsonObject(format)) return { schema: null };
  const { type, structure } = format;
  const definition = isJsonObject(structure) ? structure["jsonSchema"] : undefined;
  const path = "outputConfig.textFormat";
  if (type !== "json_schema" || !isJsonObject(definition))
    return invalid(path, "Member must be of the type 'json_schema', with the structure 'jsonSchema'");
  const members = { table: JSON_SCHEMA, required: ["schema"], lenient: false };
  const problem = checkMembers(definition, members, wordingAt(`${path}.structure.jsonSchema`));
  return problem ?? { schema: parse(textAt(definition, "schema")) };
}

/** The thinking of a model with budgets is a part of its output. */
function checkBudget({ additionalModelRequestFields: fields, inferenceConfig: inference }: JsonObject): Problem | null {
  const thinking = isJsonObject(fields) ? (fields["thinking"] ?? fields["reasoning_config"]) : undefined;
  if (!isJsonObject(thinking) || thinking["type"] !== "enabled") return null;
  const budget = numberOr(thinking["budget_tokens"], 0);
  if (budget < 1_024) return invalid("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024");
  const limit = isJsonObject(inference) ? numberOr(inference["maxTokens"], Infinity) : Infinity;
  return budget >= limit ? invalid("max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`.") : null;
}

/** Whether a field of the model turns its reasoning on. */
function thinks(fields: unknown): boolean {
  if (!isJsonObject(fields)) return false;
  const effort = fields["reasoning_effort"];
  if (typeof effort === "string") return effort !== "none";
  return ["thinking", "reasoning_config", "reasoningConfig"].some((name) => {
    const value = fields[name];
    return isJsonObject(value) && (value["type"] === "enabled" || value["type"] === "adaptive");
  });
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // Text that is no JSON is no schema either.
    return undefined;
  }
}

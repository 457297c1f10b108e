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
  listOf,
  memberTable,
  numberOr,
  oneOf,
  orNull,
  textsOf,
  type MemberTable,
} from "../member-table.ts";
import type { ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { checkCacheMarks } from "./cache-marks.ts";
import { ANTHROPIC_WORDING } from "./error.ts";
import { readMessages, readSystem, type Conversation } from "./messages.ts";
import { readOutputConfig } from "./output-config.ts";
import { readThinking, type Thinking } from "./thinking.ts";
import { readTools } from "./tools.ts";
import { hasBeta, type Edition } from "./version.ts";

/** A messages request that Anthropic would accept, as far as the simulated answer depends on it. */
export interface MessagesRequest {
  readonly conversation: Conversation;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly stream: boolean;
  readonly limit: number;
  readonly stop: readonly string[];
  readonly thinking: Thinking;
  readonly tools: ToolUse;
  /** Schema of the answer; `null` for text. */
  readonly schema: unknown;
  readonly region: string | null;
}

const PROMPT: readonly (readonly [string, string, (value: unknown) => boolean])[] = [
  ["model", "a valid string", isFilledText],
  ["messages", "a valid list", isList],
  ["system", "a valid string or a list of text blocks", isTextOrList],
  ["cache_control", "an object", orNull(isObject)],
  ["output_config", "an object", isObject],
  ["speed", "'standard' or 'fast'", orNull(oneOf("standard", "fast"))],
  ["thinking", "an object", isObject],
  ["tool_choice", "an object", isObject],
  ["tools", "a valid list", isList],
];

/** Every member of `POST /v1/messages/count_tokens`. */
const COUNTED = memberTable(...PROMPT);

/** Every member of `POST /v1/messages` that needs no beta. */
const MEMBERS = memberTable(
  ...PROMPT,
  ["max_tokens", "an integer from 0", integer(0, 1e9)],
  ["container", "a string or an object", orNull(isTextOrObject)],
  ["diagnostics", "an object", orNull(isObject)],
  ["inference_geo", "a string", orNull(isFilledText)],
  ["metadata", "an object", isObject],
  ["service_tier", "'auto' or 'standard_only'", oneOf("auto", "standard_only")],
  ["stop_sequences", "a list of strings", listOf(isText)],
  ["stream", "a valid boolean", isBoolean],
  ["temperature", "a number from 0 to 1", between(0, 1)],
  ["top_p", "a number from 0 to 1", between(0, 1)],
  ["top_k", "an integer from 0", integer(0, 1e9)],
);

/** Members that a beta adds, with the beginnings of the names of such betas. */
const BETA_MEMBERS: ReadonlyMap<
  string,
  readonly [betas: readonly string[], description: string, check: typeof isList]
> = new Map([
  ["context_management", [["context-management", "compact"], "an object", isObject]],
  ["mcp_servers", [["mcp-client"], "a valid list", isList]],
  ["output_format", [["structured-outputs"], "an object", isObject]],
]);

/** @param lenient accepts members that are not Anthropic's. */
export function readMessagesRequest(body: JsonObject, edition: Edition, lenient: boolean): MessagesRequest | Problem {
  return read(body, edition, { table: MEMBERS, required: ["model", "messages", "max_tokens"], lenient });
}

/** The same for counting tokens: nothing about the answer can be said. */
export function readCountRequest(body: JsonObject, edition: Edition, lenient: boolean): MessagesRequest | Problem {
  return read(body, edition, { table: COUNTED, required: ["model", "messages"], lenient });
}

interface Members {
  readonly table: MemberTable;
  readonly required: readonly string[];
  readonly lenient: boolean;
}

function read(body: JsonObject, edition: Edition, members: Members): MessagesRequest | Problem {
  const known = { ...members, table: withBetas(members.table, edition) };
  const problem =
    checkMembers(body, known, ANTHROPIC_WORDING) ??
    checkEdition(body, edition) ??
    checkStop(body) ??
    checkMetadata(body) ??
    checkCacheMarks(body);
  if (problem !== null) return problem;
  const system = readSystem(body["system"], edition);
  if ("status" in system) return system;
  const conversation = readMessages(body["messages"], edition);
  if ("status" in conversation) return conversation;
  const tools = readTools(body);
  if ("status" in tools) return tools;
  const thinking = readThinking(body, conversation, edition);
  if ("status" in thinking) return thinking;
  const output = readOutputConfig(body, edition);
  if ("status" in output) return output;
  if (output.schema !== null && conversation.isPrefilled)
    return invalid("output_config.format", "Prefilling the answer is not possible with an output format.");
  const geography = body["inference_geo"];
  return {
    conversation,
    tokens: conversation.tokens + system.tokens + tools.tokens,
    stream: body["stream"] === true,
    limit: numberOr(body["max_tokens"], 0),
    stop: textsOf(body["stop_sequences"]),
    thinking,
    tools,
    schema: output.schema,
    region: typeof geography === "string" ? geography : null,
  };
}

function withBetas(table: MemberTable, edition: Edition): MemberTable {
  if (edition.betas.length === 0) return table;
  const extended = new Map(table);
  for (const [name, [betas, description, check]] of BETA_MEMBERS)
    if (betas.some((beta) => hasBeta(edition, beta))) extended.set(name, [description, check]);
  return extended;
}

/** Since 2026-10-21 sampling is not the caller's, not even at its default. */
function checkEdition(body: JsonObject, { version }: Edition): Problem | null {
  if (version === "2023-06-01") return null;
  const name = ["temperature", "top_p", "top_k"].find((member) => Object.hasOwn(body, member));
  return name === undefined ? null : invalid(name, `not supported with anthropic-version ${version}; leave it out`);
}

function checkStop(body: JsonObject): Problem | null {
  const stop = body["stop_sequences"];
  const isBlank = Array.isArray(stop) && stop.some((text) => typeof text === "string" && text.trim() === "");
  return isBlank ? invalid("stop_sequences", "each stop sequence must contain non-whitespace") : null;
}

const METADATA = memberTable(["user_id", "a valid string", orNull(isText)]);

function checkMetadata(body: JsonObject): Problem | null {
  const metadata = body["metadata"];
  if (!isJsonObject(metadata)) return null;
  const problem = checkMembers(metadata, { table: METADATA, required: [], lenient: false }, ANTHROPIC_WORDING);
  return problem === null ? null : { ...problem, param: `metadata.${problem.param ?? ""}` };
}

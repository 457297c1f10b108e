import { isJsonObject, type JsonObject } from "../json.ts";
import {
  checkMembers,
  isBoolean,
  isList,
  isObject,
  isText,
  listAt,
  memberTable,
  oneOf,
  orNull,
  type Check,
} from "../member-table.ts";
import type { Tool, ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";

const isToolName: Check = (value) => typeof value === "string" && /^[a-zA-Z0-9_-]{1,128}$/.test(value);

/** Members of a tool that the caller runs. */
const MEMBERS = memberTable(
  ["type", "'custom'", orNull(oneOf("custom"))],
  ["name", "a string that matches '^[a-zA-Z0-9_-]{1,128}$'", isToolName],
  ["description", "a valid string", isText],
  ["input_schema", "an object", isObject],
  ["strict", "a valid boolean", isBoolean],
  ["cache_control", "an object", orNull(isObject)],
  ["defer_loading", "a valid boolean", isBoolean],
  ["allowed_callers", "a valid list", isList],
  ["input_examples", "a valid list", isList],
  ["eager_input_streaming", "a valid boolean", orNull(isBoolean)],
);

export interface MessagesTools extends ToolUse {
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

/** Reads `tools` and `tool_choice`. Tools that Anthropic runs or defines, such as `web_search_20250305`, are taken and never called. */
export function readTools(body: JsonObject): MessagesTools | Problem {
  const listed = listAt(body, "tools");
  const tools: Tool[] = [];
  const names = new Set<unknown>();
  for (const [index, value] of listed.entries()) {
    const at = `tools.${index}`;
    if (!isJsonObject(value)) return invalid(at, "Input should be an object");
    const tool = isDefinedByAnthropic(value) ? null : readTool(value, at);
    if (tool !== null && "status" in tool) return tool;
    const { name } = value;
    if (name !== undefined && names.has(name)) return invalid("tools", "Tool names must be unique.");
    names.add(name);
    if (tool !== null) tools.push(tool);
  }
  const use = readChoice(body["tool_choice"], tools, { hasTools: listed.length > 0, names });
  if ("status" in use) return use;
  const characters = listed.length === 0 ? 0 : JSON.stringify(listed).length;
  return { ...use, tokens: Math.ceil(characters / 4) };
}

function isDefinedByAnthropic(tool: JsonObject): boolean {
  return (
    typeof tool["type"] === "string" && (/^[a-z_0-9]+_\d{8}$/.test(tool["type"]) || tool["type"] === "mcp_toolset")
  );
}

function readTool(value: JsonObject, at: string): Tool | Problem {
  const members = { table: MEMBERS, required: ["name", "input_schema"], lenient: false };
  const problem = checkMembers(value, members, wordingAt(`${at}.custom`));
  if (problem !== null) return problem;
  const schema = value["input_schema"];
  if (!isJsonObject(schema) || schema["type"] !== "object")
    return invalid(`${at}.custom.input_schema.type`, "Input should be 'object'");
  const name = typeof value["name"] === "string" ? value["name"] : "";
  return { type: "function", name, parameters: schema, strict: value["strict"] === true };
}

const PARALLEL = ["disable_parallel_tool_use", "a valid boolean", isBoolean] as const;
const CHOICES = new Map([
  ["auto", memberTable(["type", "a string", isText], PARALLEL)],
  ["any", memberTable(["type", "a string", isText], PARALLEL)],
  ["tool", memberTable(["type", "a string", isText], ["name", "a valid string", isText], PARALLEL)],
  ["none", memberTable(["type", "a string", isText])],
]);

interface Listed {
  readonly hasTools: boolean;
  readonly names: ReadonlySet<unknown>;
}

function readChoice(choice: unknown, tools: readonly Tool[], listed: Listed): ToolUse | Problem {
  if (!isJsonObject(choice)) return { callable: tools, required: false, parallel: true };
  const kind = typeof choice["type"] === "string" ? choice["type"] : "";
  const table = CHOICES.get(kind);
  if (table === undefined)
    return invalid("tool_choice.type", `Input should be one of ${[...CHOICES.keys()].join(", ")}`);
  const required = kind === "tool" ? ["name"] : [];
  const problem = checkMembers(choice, { table, required, lenient: false }, wordingAt("tool_choice"));
  if (problem !== null) return problem;
  if (!listed.hasTools) return invalid("tool_choice", "tool_choice may only be specified while providing tools.");
  const parallel = choice["disable_parallel_tool_use"] !== true;
  if (kind === "none") return { callable: [], required: false, parallel };
  if (kind === "auto") return { callable: tools, required: false, parallel };
  if (kind === "tool" && !listed.names.has(choice["name"]))
    return invalid("tool_choice.name", "Tool not found in provided tools.");
  const callable = kind === "any" ? tools : tools.filter((tool) => tool.name === choice["name"]);
  if (callable.length === 0)
    return invalid("tool_choice", "The simulated provider calls only tools with an 'input_schema'.");
  return { callable, required: true, parallel };
}

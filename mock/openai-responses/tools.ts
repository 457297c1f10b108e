import { isJsonObject, type JsonObject } from "../json.ts";
import {
  checkMembers,
  isBoolean,
  isList,
  isObject,
  isText,
  listAt,
  memberTable,
  type Check,
  type MemberTable,
} from "../member-table.ts";
import type { Tool, ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { missing, unsupported, wordingAt } from "./wording.ts";

const isToolName: Check = (value) => typeof value === "string" && /^[\w-]{1,64}$/.test(value);
const NAME = ["name", "1 to 64 letters, digits, underscores or hyphens", isToolName] as const;

/** Tools that the caller runs, with their members. */
const OWN: ReadonlyMap<string, MemberTable> = new Map([
  [
    "function",
    memberTable(
      ["type", "a string", isText],
      NAME,
      ["description", "a string", isText],
      ["parameters", "a JSON Schema", isObject],
      ["strict", "a boolean", isBoolean],
      ["async", "a boolean", isBoolean],
      ["defer_loading", "a boolean", isBoolean],
      ["allowed_callers", "a list", isList],
      ["output_schema", "a JSON Schema", isObject],
    ),
  ],
  [
    "custom",
    memberTable(
      ["type", "a string", isText],
      NAME,
      ["description", "a string", isText],
      ["format", "an object", isObject],
      ["async", "a boolean", isBoolean],
      ["defer_loading", "a boolean", isBoolean],
      ["allowed_callers", "a list", isList],
    ),
  ],
]);

/** Tools that OpenAI runs or defines; taken as they are, and never called. */
const HOSTED: ReadonlySet<string> = new Set([
  "namespace",
  "tool_search",
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11",
  "file_search",
  "code_interpreter",
  "computer",
  "computer_use_preview",
  "mcp",
  "image_generation",
  "local_shell",
  "shell",
  "apply_patch",
  "programmatic_tool_calling",
]);

export interface ResponsesTools extends ToolUse {
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

/** Reads `tools`, `tool_choice` and `parallel_tool_calls`. */
export function readTools(body: JsonObject): ResponsesTools | Problem {
  const listed = listAt(body, "tools");
  const tools: Tool[] = [];
  for (const [index, value] of listed.entries()) {
    const tool = readTool(value, `tools[${index}]`);
    if (tool === null) continue;
    if ("status" in tool) return tool;
    if (tools.some((earlier) => earlier.name === tool.name))
      return invalid(`tools[${index}].name`, `Tool names must be unique; 'tools[${index}]' repeats one.`);
    tools.push(tool);
  }
  const choice = choose(body["tool_choice"] ?? "auto", tools, listed.length > 0);
  if ("status" in choice) return choice;
  const characters = listed.length === 0 ? 0 : JSON.stringify(listed).length;
  return { ...choice, parallel: body["parallel_tool_calls"] !== false, tokens: Math.ceil(characters / 4) };
}

/** `null` for a hosted tool. */
function readTool(value: unknown, at: string): Tool | Problem | null {
  const type = isJsonObject(value) && typeof value["type"] === "string" ? value["type"] : "";
  if (HOSTED.has(type)) return null;
  const table = OWN.get(type);
  if (!isJsonObject(value) || table === undefined) return unsupported(`${at}.type`, [...OWN.keys(), ...HOSTED]);
  const problem = checkMembers(value, { table, required: ["name"], lenient: false }, wordingAt(at));
  if (problem !== null) return problem;
  return {
    type: type === "custom" ? "custom" : "function",
    name: typeof value["name"] === "string" ? value["name"] : "",
    parameters: value["parameters"] ?? { type: "object" },
    // Unlike chat completions, responses are strict unless told otherwise, but then only as far as the schema allows.
    strict: value["strict"] === true,
  };
}

type Choice = Pick<ToolUse, "callable" | "required">;

function choose(choice: unknown, tools: readonly Tool[], hasTools: boolean): Choice | Problem {
  if (choice === "none") return { callable: [], required: false };
  if (choice === "auto") return { callable: tools, required: false };
  if (!hasTools) return invalid("tool_choice", "Tool choices other than 'none' and 'auto' go with 'tools'.");
  if (choice === "required") return required(tools);
  if (!isJsonObject(choice)) return unsupported("tool_choice", ["none", "auto", "required"]);
  const { type } = choice;
  if (type === "allowed_tools") return allowed(choice, tools);
  if (type !== "function" && type !== "custom") {
    return typeof type === "string" && HOSTED.has(type)
      ? required([])
      : unsupported("tool_choice.type", [...OWN.keys(), "allowed_tools", ...HOSTED]);
  }
  if (typeof choice["name"] !== "string") return missing("tool_choice.name");
  const named = tools.filter((tool) => tool.type === type && tool.name === choice["name"]);
  return named.length === 0
    ? invalid("tool_choice", "The tool choice names a tool that is not in the 'tools' parameter.")
    : required(named);
}

function required(callable: readonly Tool[]): Choice | Problem {
  return callable.length === 0
    ? invalid("tool_choice", "The simulated provider calls only tools of the types 'function' and 'custom'.")
    : { callable, required: true };
}

function allowed(choice: JsonObject, tools: readonly Tool[]): Choice | Problem {
  const { mode } = choice;
  if (mode !== "auto" && mode !== "required") return unsupported("tool_choice.mode", ["auto", "required"]);
  const references = listAt(choice, "tools").filter(isJsonObject);
  const callable = tools.filter((tool) =>
    references.some((reference) => reference["type"] === tool.type && reference["name"] === tool.name),
  );
  const own = references.filter((reference) => reference["type"] === "function" || reference["type"] === "custom");
  if (references.length === 0 || callable.length !== own.length)
    return invalid("tool_choice.tools", "'tool_choice.tools' must name tools of 'tools'.");
  return mode === "required" ? required(callable) : { callable, required: false };
}

import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, isFilledText, isObject, isText, listAt, memberTable, oneOf } from "../member-table.ts";
import type { Tool, ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";

const TOOL = memberTable(["type", "'function'", oneOf("function")], ["function", "an object", isObject]);

const FUNCTION = memberTable(
  ["name", "a filled text", isFilledText],
  ["description", "a text", isText],
  ["parameters", "a JSON Schema", isObject],
);

/** Reads `tools`, `strict_tools` and `tool_choice`. */
export function readTools(body: JsonObject): ToolUse | Problem {
  const strict = body["strict_tools"] === true;
  const tools: Tool[] = [];
  for (const [index, value] of listAt(body, "tools").entries()) {
    const tool = readTool(value, `tools[${index}]`, strict);
    if ("status" in tool) return tool;
    tools.push(tool);
  }
  const choice = body["tool_choice"] ?? null;
  if (choice !== null && tools.length === 0)
    return invalid("tool_choice", "invalid request: tool_choice may only be given together with tools.");
  return { callable: choice === "NONE" ? [] : tools, required: choice === "REQUIRED", parallel: true };
}

function readTool(value: unknown, at: string, strict: boolean): Tool | Problem {
  if (!isJsonObject(value)) return invalid(at, "invalid request: must be an object");
  const problem = checkMembers(value, { table: TOOL, required: ["type", "function"], lenient: false }, wordingAt(at));
  if (problem !== null) return problem;
  const called = isJsonObject(value["function"]) ? value["function"] : {};
  const members = { table: FUNCTION, required: ["name", "parameters"], lenient: false };
  const wrong = checkMembers(called, members, wordingAt(`${at}.function`));
  if (wrong !== null) return wrong;
  const name = typeof called["name"] === "string" ? called["name"] : "";
  return { type: "function", name, parameters: called["parameters"], strict };
}

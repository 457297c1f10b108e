import { isJsonObject, type JsonObject } from "../json.ts";
import type { Tool, ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";

/** Reads `tools`, `tool_choice` and `parallel_tool_calls`. */
export function readTools(body: JsonObject): ToolUse | Problem {
  const tools: Tool[] = [];
  const listed: readonly unknown[] = Array.isArray(body["tools"]) ? body["tools"] : [];
  for (const [index, value] of listed.entries()) {
    const tool = readTool(value, `tools[${index}]`);
    if ("status" in tool) return tool;
    if (tools.some((earlier) => earlier.name === tool.name))
      return invalid(`tools[${index}]`, `'tools[${index}]' has the name of an earlier tool.`);
    tools.push(tool);
  }
  const parallel = body["parallel_tool_calls"] !== false;
  const choice = body["tool_choice"] ?? "auto";
  if (tools.length === 0) {
    return choice === "auto" || choice === "none"
      ? { callable: [], required: false, parallel }
      : invalid("tool_choice", "'tool_choice' goes with 'tools'.");
  }
  if (choice === "auto" || choice === "required") return { callable: tools, required: choice === "required", parallel };
  if (choice === "none") return { callable: [], required: false, parallel };
  return readNamedChoice(choice, tools, parallel);
}

function readTool(value: unknown, at: string): Tool | Problem {
  const type = isJsonObject(value) ? value["type"] : undefined;
  if (!isJsonObject(value) || (type !== "function" && type !== "custom"))
    return invalid(`${at}.type`, `'${at}.type' must be function or custom.`);
  const definition = value[type];
  const name = isJsonObject(definition) ? definition["name"] : undefined;
  if (!isJsonObject(definition) || typeof name !== "string" || !/^[\w-]{1,64}$/.test(name)) {
    return invalid(
      `${at}.${type}.name`,
      `'${at}.${type}.name' must be 1 to 64 letters, digits, underscores or hyphens.`,
    );
  }
  const parameters = definition["parameters"] ?? { type: "object" };
  if (!isJsonObject(parameters))
    return invalid(`${at}.${type}.parameters`, `'${at}.${type}.parameters' must be a JSON Schema.`);
  return { type, name, parameters, strict: definition["strict"] === true };
}

function readNamedChoice(choice: unknown, tools: readonly Tool[], parallel: boolean): ToolUse | Problem {
  if (isJsonObject(choice) && choice["type"] === "allowed_tools") {
    const allowed = choice["allowed_tools"];
    const names: readonly unknown[] =
      isJsonObject(allowed) && Array.isArray(allowed["tools"]) ? allowed["tools"].map(nameIn) : [];
    const callable = tools.filter((tool) => names.includes(tool.name));
    if (!isJsonObject(allowed) || callable.length === 0 || callable.length !== names.length) {
      return invalid(
        "tool_choice.allowed_tools.tools",
        "'tool_choice.allowed_tools.tools' must name tools of 'tools'.",
      );
    }
    return { callable, required: allowed["mode"] === "required", parallel };
  }
  const tool = tools.find(
    (candidate) => isJsonObject(choice) && choice["type"] === candidate.type && nameIn(choice) === candidate.name,
  );
  if (tool === undefined) {
    return invalid(
      "tool_choice",
      "'tool_choice' must be none, auto, required, allowed_tools, or name a tool of 'tools'.",
    );
  }
  return { callable: [tool], required: true, parallel };
}

/** The name in `{type: "function", function: {name}}` or the same with `custom`. */
function nameIn(reference: unknown): unknown {
  if (!isJsonObject(reference)) return undefined;
  const body = reference[reference["type"] === "custom" ? "custom" : "function"];
  return isJsonObject(body) ? body["name"] : undefined;
}

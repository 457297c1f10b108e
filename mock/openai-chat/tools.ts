import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { objectAt, objectsAt, textAt } from "../members.ts";
import type { Tool, ToolUse } from "../model/plan.ts";

/** Reads `tools`, `tool_choice` and `parallel_tool_calls`. */
export function readTools(body: JsonObject): ToolUse {
  const tools = objectsAt(body, "tools").map(readTool);
  return { ...choose(body.tool_choice, tools), parallel: body.parallel_tool_calls !== false };
}

function readTool(value: JsonObject): Tool {
  const type = value.type === "custom" ? "custom" : "function";
  const definition = objectAt(value, type);
  return {
    type,
    name: textAt(definition, "name"),
    parameters: definition.parameters ?? { type: "object" },
    strict: definition.strict === true,
  };
}

function choose(
  choice: JsonValue | undefined,
  tools: readonly Tool[],
): Pick<ToolUse, "callable" | "required"> {
  if (choice === "none") return { callable: [], required: false };
  if (!isJsonObject(choice)) return { callable: tools, required: choice === "required" };
  const allowed = objectAt(choice, "allowed_tools");
  if (choice.type !== "allowed_tools") return { callable: named([choice], tools), required: true };
  return {
    callable: named(objectsAt(allowed, "tools"), tools),
    required: allowed.mode === "required",
  };
}

/**
 * The tools that references name: `{type: "function", function: {name}}`, or the same with
 * `custom`.
 */
function named(references: readonly JsonObject[], tools: readonly Tool[]): readonly Tool[] {
  return tools.filter(({ type, name }) =>
    references.some(
      (reference) => reference.type === type && objectAt(reference, type).name === name,
    ),
  );
}

import type { JsonObject } from "../json.ts";
import { objectAt, objectsAt, textAt } from "../members.ts";
import type { Tool, ToolUse } from "../model/plan.ts";

/** Reads `tools`, `strict_tools` and `tool_choice`. */
export function readTools(body: JsonObject): ToolUse {
  const strict = body.strict_tools === true;
  const tools = objectsAt(body, "tools").map((tool): Tool => {
    const called = objectAt(tool, "function");
    return {
      type: "function",
      name: textAt(called, "name"),
      parameters: called.parameters ?? { type: "object" },
      strict,
    };
  });
  const choice = body.tool_choice;
  return {
    callable: choice === "NONE" ? [] : tools,
    required: choice === "REQUIRED",
    parallel: true,
  };
}

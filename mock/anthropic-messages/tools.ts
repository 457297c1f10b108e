import type { JsonObject } from "../json.ts";
import { listAt, objectAt, objectsAt, textAt } from "../members.ts";
import { tokensOfList } from "../model/conversation.ts";
import type { Tool, ToolUse } from "../model/plan.ts";

export interface MessagesTools extends ToolUse {
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

/**
 * Reads `tools` and `tool_choice`. Tools that Anthropic runs or defines have no schema and are
 * never called.
 */
export function readTools(body: JsonObject): MessagesTools {
  const tools = objectsAt(body, "tools").flatMap(readTool);
  const choice = objectAt(body, "tool_choice");
  const { type: kind, name } = choice;
  const named = kind === "tool" ? tools.filter((tool) => tool.name === name) : tools;
  return {
    callable: kind === "none" ? [] : named,
    required: kind === "any" || kind === "tool",
    parallel: choice.disable_parallel_tool_use !== true,
    tokens: tokensOfList(listAt(body, "tools")),
  };
}

function readTool(value: JsonObject): readonly Tool[] {
  const parameters = value.input_schema;
  if (parameters === undefined) return [];
  return [
    { type: "function", name: textAt(value, "name"), parameters, strict: value.strict === true },
  ];
}

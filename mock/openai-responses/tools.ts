import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { listAt, objectsAt, textAt } from "../members.ts";
import { tokensOfList } from "../model/conversation.ts";
import type { Tool, ToolUse } from "../model/plan.ts";

export interface ResponsesTools extends ToolUse {
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`. Tools that the provider runs itself are
 * never called.
 */
export function readTools(body: JsonObject): ResponsesTools {
  const tools = objectsAt(body, "tools").flatMap(readTool);
  return {
    ...choose(body.tool_choice, tools),
    parallel: body.parallel_tool_calls !== false,
    tokens: tokensOfList(listAt(body, "tools")),
  };
}

function readTool(value: JsonObject): readonly Tool[] {
  const { type } = value;
  if (type !== "function" && type !== "custom") return [];
  // Unlike chat completions, responses are strict by default, but then only as far as the schema
  // allows.
  const strict = value.strict === true;
  return [
    {
      type,
      name: textAt(value, "name"),
      parameters: value.parameters ?? { type: "object" },
      strict,
    },
  ];
}

function choose(
  choice: JsonValue | undefined,
  tools: readonly Tool[],
): Pick<ToolUse, "callable" | "required"> {
  if (choice === "none") return { callable: [], required: false };
  if (!isJsonObject(choice)) return { callable: tools, required: choice === "required" };
  if (choice.type !== "allowed_tools") return { callable: named([choice], tools), required: true };
  return {
    callable: named(objectsAt(choice, "tools"), tools),
    required: choice.mode === "required",
  };
}

function named(references: readonly JsonObject[], tools: readonly Tool[]): readonly Tool[] {
  return tools.filter(({ type, name }) =>
    references.some((reference) => reference.type === type && reference.name === name),
  );
}

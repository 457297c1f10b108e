import type { JsonObject } from "../json.ts";
import { listAt, objectAt, objectsAt, textAt } from "../members.ts";
import { tokensOfList } from "../model/conversation.ts";
import type { Tool, ToolUse } from "../model/plan.ts";

export interface ConverseTools extends ToolUse {
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

/** Reads `toolConfig`. Tools that Bedrock runs are never called. */
export function readTools(body: JsonObject): ConverseTools {
  const configuration = objectAt(body, "toolConfig");
  const definitions = objectsAt(configuration, "tools")
    .filter((tool) => Object.hasOwn(tool, "toolSpec"))
    .map((tool) => objectAt(tool, "toolSpec"));
  return {
    ...choose(objectAt(configuration, "toolChoice"), definitions),
    parallel:
      objectAt(objectAt(body, "additionalModelRequestFields"), "tool_choice")
        .disable_parallel_tool_use !== true,
    tokens: tokensOfList(listAt(configuration, "tools")),
  };
}

function choose(
  choice: JsonObject,
  definitions: readonly JsonObject[],
): Pick<ToolUse, "callable" | "required"> {
  const tools = definitions.map(readTool);
  if (Object.hasOwn(choice, "any")) return { callable: tools, required: true };
  if (Object.hasOwn(choice, "tool")) {
    const { name } = objectAt(choice, "tool");
    return { callable: tools.filter((tool) => tool.name === name), required: true };
  }
  // The simulated model reads descriptions that far.
  const forbidden = (definition: JsonObject): boolean =>
    /\bnever call\b/i.test(textAt(definition, "description"));
  return {
    callable: definitions.filter((definition) => !forbidden(definition)).map(readTool),
    required: false,
  };
}

function readTool(definition: JsonObject): Tool {
  const parameters = objectAt(definition, "inputSchema").json ?? { type: "object" };
  return {
    type: "function",
    name: textAt(definition, "name"),
    parameters,
    strict: definition.strict === true,
  };
}

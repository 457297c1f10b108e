import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { listAt, textAt, textsAt } from "../members.ts";
import { tokensOfList } from "../model/conversation.ts";
import type { Tool, ToolUse } from "../model/plan.ts";
import { message, messagesAt } from "./members.ts";

export interface GeminiTools extends ToolUse {
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

/** Reads `tools` and `toolConfig`. Tools that Google runs are never called. */
export function readTools(body: JsonObject): GeminiTools {
  const listed = isJsonObject(body.tools) ? [body.tools] : listAt(body, "tools");
  const tools = listed.flatMap((tool) =>
    messagesAt(message(tool), "functionDeclarations").map(readDeclaration),
  );
  const calling = message(message(body.toolConfig).functionCallingConfig);
  const mode = textAt(calling, "mode").toUpperCase();
  const names = textsAt(calling, "allowedFunctionNames");
  const named = names.length === 0 ? tools : tools.filter(({ name }) => names.includes(name));
  return {
    callable: mode === "NONE" ? [] : named,
    required: mode === "ANY",
    parallel: true,
    tokens: tokensOfList(listed),
  };
}

function readDeclaration(declaration: JsonObject): Tool {
  const { parameters, parametersJsonSchema } = declaration;
  const schema = parametersJsonSchema ?? lowerTypes(parameters) ?? { type: "object" };
  return { type: "function", name: textAt(declaration, "name"), parameters: schema, strict: false };
}

/** Types of the older schemas are written in capitals. */
export function lowerTypes(schema: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(schema)) return schema.map((item: JsonValue) => lowerTypes(item) ?? null);
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === "type" && typeof value === "string" ? value.toLowerCase() : lowerTypes(value),
    ]),
  );
}

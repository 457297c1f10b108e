import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import {
  isBoolean,
  isFilledText,
  isList,
  isObject,
  isText,
  listAt,
  listOf,
  memberTable,
  textAt,
} from "../member-table.ts";
import type { Tool, ToolUse } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessage } from "./members.ts";

/** Tools that Google runs; they are taken and never called. */
const HOSTED = ["googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "fileSearch", "googleMaps"];

const TOOL = memberTable(
  ["functionDeclarations", "a list", isList],
  ["computerUse", "an object", isObject],
  ...HOSTED.map((name) => [name, "an object", isObject] as const),
);

const DECLARATION = memberTable(
  ["name", "a name of a function", (value) => typeof value === "string" && /^[a-zA-Z_][\w.:-]{0,127}$/.test(value)],
  ["description", "a string", isText],
  ["parameters", "an object", isObject],
  ["parametersJsonSchema", "an object", isObject],
  ["response", "an object", isObject],
  ["responseJsonSchema", "an object", isObject],
  ["behavior", "a string", isText],
);

const TOOL_CONFIG = memberTable(
  ["functionCallingConfig", "an object", isObject],
  ["retrievalConfig", "an object", isObject],
  ["includeServerSideToolInvocations", "a boolean", isBoolean],
);
const CALLING = memberTable(
  ["mode", "a mode", isFilledText],
  ["allowedFunctionNames", "a list of strings", listOf(isText)],
  ["streamFunctionCallArguments", "a boolean", isBoolean],
);

export interface GeminiTools extends ToolUse {
  /** Whether there are functions to call. */
  readonly hasFunctions: boolean;
  /** Estimated tokens of their definitions. */
  readonly tokens: number;
}

/** Reads `tools` and `toolConfig`. */
export function readTools(body: JsonObject): GeminiTools | Problem {
  const listed: readonly unknown[] = isJsonObject(body["tools"]) ? [body["tools"]] : listAt(body, "tools");
  const tools: Tool[] = [];
  for (const [index, item] of listed.entries()) {
    const read = readMessage(item, TOOL, `tools[${index}]`);
    if ("problem" in read) return read.problem;
    for (const [place, value] of listAt(read.members, "functionDeclarations").entries()) {
      const tool = readDeclaration(value, `tools[${index}].function_declarations[${place}]`);
      if ("status" in tool) return tool;
      if (tools.some(({ name }) => name === tool.name)) {
        return invalid(`tools[${index}]`, `Duplicate function declaration found: ${tool.name.slice(0, 60)}`);
      }
      tools.push(tool);
    }
  }
  const use = readConfig(body["toolConfig"], tools);
  if ("status" in use) return use;
  const characters = listed.length === 0 ? 0 : JSON.stringify(listed).length;
  return { ...use, hasFunctions: tools.length > 0, tokens: Math.ceil(characters / 4) };
}

function readDeclaration(value: unknown, path: string): Tool | Problem {
  const read = readMessage(value, DECLARATION, path);
  if ("problem" in read) return read.problem;
  const { parameters, parametersJsonSchema } = read.members;
  if (parameters !== undefined && parametersJsonSchema !== undefined) {
    return invalid(path, "parameters and parameters_json_schema are mutually exclusive");
  }
  const name = textAt(read.members, "name");
  if (name === "") return invalid(`${path}.name`, "required field is not set");
  const schema = parametersJsonSchema ?? lowerTypes(parameters) ?? { type: "object" };
  return { type: "function", name, parameters: schema, strict: false };
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

function readConfig(config: unknown, tools: readonly Tool[]): ToolUse | Problem {
  const free: ToolUse = { callable: tools, required: false, parallel: true };
  if (config === undefined || config === null) return free;
  const outer = readMessage(config, TOOL_CONFIG, "tool_config");
  if ("problem" in outer) return outer.problem;
  const calling = outer.members["functionCallingConfig"];
  if (calling === undefined) return free;
  const path = "tool_config.function_calling_config";
  const inner = readMessage(calling, CALLING, path);
  if ("problem" in inner) return inner.problem;
  const mode = textAt(inner.members, "mode").toUpperCase();
  const names = listAt(inner.members, "allowedFunctionNames");
  if (!["", "AUTO", "ANY", "NONE", "VALIDATED"].includes(mode)) return invalid(`${path}.mode`, "Invalid value");
  if (names.length > 0 && mode !== "ANY" && mode !== "VALIDATED") {
    return invalid(path, "Allowed function names should only be set when the mode is ANY or VALIDATED.");
  }
  if (names.some((name) => !tools.some((tool) => tool.name === name))) {
    return invalid(`${path}.allowed_function_names`, "The name is not among the function declarations.");
  }
  if (mode === "ANY" && tools.length === 0)
    return invalid(path, "Function calling mode ANY needs function declarations.");
  if (mode === "NONE") return { ...free, callable: [] };
  const callable = names.length === 0 ? tools : tools.filter(({ name }) => names.includes(name));
  return { callable, required: mode === "ANY", parallel: true };
}

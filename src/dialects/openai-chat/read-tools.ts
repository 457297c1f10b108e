import type { Capability } from "../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type {
  GenerateRequest,
  Tool,
  ToolCallPart,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { cacheMark, isPlainMark } from "../anthropic-messages/read-messages.ts";
import {
  MAXIMUM_DEPTH,
  flagOrNull,
  isDeeperThan,
  memberIn,
  ownValue,
  parseExactJsonText,
  textOf,
  textOrNull,
} from "../json.ts";
import { otherModel, type Kinds } from "../kinds.ts";
import {
  CALLED_FUNCTION_MEMBERS,
  FUNCTION_MEMBERS,
  OFFERED_TOOL_MEMBERS,
  PART_NEEDS,
  TOOL_CALL_MEMBERS,
  TOOL_MEMBERS,
} from "./request-facts.ts";
import { hasUnknownMember, type RequestReading } from "../request-reading.ts";
import { namedToolFeature, singleCallFeature } from "../translate-request.ts";

/** Kinds of tools that this protocol's speakers offer, and what each one lets the model do. */
const TOOL_NEEDS: Readonly<Record<string, Capability>> = {
  function: "tools",
  custom: "custom_tools",
  web_search: "web_search",
  web_search_preview: "web_search",
  browser_search: "web_search",
  file_search: "file_search",
  code_interpreter: "code_execution",
  mcp: "mcp",
  image_generation: "image_output",
  "openrouter:web_search": "web_search",
  "openrouter:web_fetch": "web_search",
  "openrouter:datetime": "tools",
};

function toolNeeds(type: string): Capability | null {
  return ownValue(TOOL_NEEDS, type) ?? null;
}

/** Tools whose settings name the model that the provider calls. */
const MODEL_TOOLS = ["openrouter:advisor"];

function unknownTool(type: string, path: string): ServiceError {
  if (MODEL_TOOLS.includes(type)) return otherModel(path);
  return invalidRequest(
    "unknown_tool_type",
    `${path} must be one of ${Object.keys(TOOL_NEEDS).join(", ")}`,
    path,
  );
}

export const CHAT_KINDS: Kinds = {
  toolNeeds,
  types: {
    ...PART_NEEDS,
    json_object: "json_object",
    json_schema: "json_schema",
    allowed_tools: null,
    approximate: null,
    content: null,
    ephemeral: null,
    grammar: null,
  },
  unknownTool,
  unknownType: (path) =>
    invalidRequest("unknown_content_part", `${path} is not a type that this router supports`, path),
};

/** Tools and the choice among them. */
export function readTools(
  body: JsonObject,
  reading: RequestReading,
): Pick<GenerateRequest, "tools" | "toolChoice" | "parallelToolCalls"> {
  const { tools, parallel_tool_calls: parallel } = body;
  const read: Tool[] = [];
  if (Array.isArray(tools) && tools.length > 0) {
    reading.use("conversation", "tools");
    for (const [index, value] of tools.entries()) {
      const tool = readTool(value, `tools[${index}]`, reading);
      if (tool !== null) read.push(tool);
    }
  }
  if (parallel === false) reading.use(singleCallFeature(tools), "parallel_tool_calls");
  return {
    tools: read,
    toolChoice: readChoice(body, read, reading),
    parallelToolCalls: flagOrNull(parallel),
  };
}

/** `null` for a tool that is no function. An unknown kind cannot be approved, so it is refused. */
function readTool(tool: JsonValue, path: string, reading: RequestReading): Tool | null {
  const definition = memberIn(tool, "function");
  const type = isJsonObject(tool)
    ? (tool.type ?? (isJsonObject(definition) ? "function" : undefined))
    : undefined;
  const capability = typeof type === "string" ? toolNeeds(type) : null;
  if (capability === null) {
    reading.refuse(unknownTool(textOf(type), `${path}.type`));
    return null;
  }
  reading.need(capability, path);
  if (type !== "function" || !isJsonObject(definition)) {
    reading.useNative(`${path}.type`);
    return null;
  }
  const { name, description, parameters, strict } = definition;
  if (strict === true) reading.use("tool_strict", `${path}.function.strict`);
  if (isJsonObject(tool)) {
    reading.useUnknown(tool, OFFERED_TOOL_MEMBERS, path);
    if (!isPlainMark(tool.cache_control)) reading.useNative(`${path}.cache_control`);
  }
  reading.useUnknown(definition, FUNCTION_MEMBERS, `${path}.function`);
  return {
    name: textOf(name),
    description: textOrNull(description),
    parameters: isJsonObject(parameters) ? parameters : null,
    strict: flagOrNull(strict),
    cache: isJsonObject(tool) ? cacheMark(tool) : null,
  };
}

function readChoice(
  body: JsonObject,
  tools: readonly Tool[],
  reading: RequestReading,
): ToolChoice | null {
  const { tool_choice: choice } = body;
  if (choice == null) return null;
  if (choice === "auto" || choice === "none") {
    if (tools.length > 0) return { mode: choice };
    // Without tools there is nothing to choose, and most protocols refuse the member.
    if (choice === "auto") reading.dropped.add("hint_dropped");
    return null;
  }
  const parsed = readToolChoice(choice);
  if (parsed?.required === true && reading.has("reasoning"))
    reading.use("forced_tool_with_reasoning", "tool_choice");
  // A choice of a tool that the request does not bring is the provider's to judge.
  const isKnown =
    tools.length > 0 &&
    parsed?.names.every((name) => tools.some((tool) => tool.name === name)) === true;
  if (!isKnown) {
    reading.useNative("tool_choice");
    return null;
  }
  reading.use(
    parsed.mode === "named" ? namedToolFeature(body.tools) : `tool_choice_${parsed.mode}`,
    "tool_choice",
  );
  const [name = ""] = parsed.names;
  if (parsed.mode === "required") return { mode: "required" };
  if (parsed.mode === "named") return { mode: "named", name };
  return { mode: "allowed", names: parsed.names, required: parsed.required };
}

/**
 * A choice other than `auto` and `none`, in the two shapes that canon can hold; `null` for every
 * other.
 */
interface NamedTools {
  readonly mode: "required" | "named" | "allowed";
  readonly names: readonly string[];
  /** One of the tools must be called. */
  readonly required: boolean;
}

export function readToolChoice(choice: JsonValue): NamedTools | null {
  if (choice === "required") return { mode: "required", names: [], required: true };
  if (!isJsonObject(choice)) return null;
  if (choice.type === "function" && !hasUnknownMember(choice, TOOL_MEMBERS)) {
    const name = functionName(choice);
    return name === null ? null : { mode: "named", names: [name], required: true };
  }
  const allowed = choice.allowed_tools;
  if (
    choice.type !== "allowed_tools" ||
    hasUnknownMember(choice, ALLOWED_CHOICE_MEMBERS) ||
    !isJsonObject(allowed)
  ) {
    return null;
  }
  const { mode, tools } = allowed;
  if (
    hasUnknownMember(allowed, ALLOWED_MEMBERS) ||
    (mode !== "auto" && mode !== "required") ||
    !Array.isArray(tools)
  ) {
    return null;
  }
  const names = tools.flatMap((tool) => {
    const isFunction =
      isJsonObject(tool) && tool.type === "function" && !hasUnknownMember(tool, TOOL_MEMBERS);
    return (isFunction ? functionName(tool) : null) ?? [];
  });
  if (names.length === 0 || names.length < tools.length) return null;
  return { mode: "allowed", names, required: mode === "required" };
}

const ALLOWED_CHOICE_MEMBERS = ["type", "allowed_tools"];
const ALLOWED_MEMBERS = ["mode", "tools"];
const NAME_MEMBER = ["name"];

function functionName(tool: JsonObject): string | null {
  const definition = tool.function;
  if (!isJsonObject(definition) || hasUnknownMember(definition, NAME_MEMBER)) return null;
  return textOrNull(definition.name);
}

/** The name of a function that a request brings; empty for a tool of another kind. */
export function toolName(tool: JsonValue): string {
  const definition = isJsonObject(tool) ? tool.function : null;
  return textOf(isJsonObject(definition) ? definition.name : null);
}

/** Whether the model has to call some tool. */
export function forcesTool(choice: JsonValue | undefined): boolean {
  return choice !== undefined && readToolChoice(choice)?.required === true;
}

/** The calls of an assistant message in the history. */
export function readCalls(
  calls: JsonValue | undefined,
  path: string,
  reading: RequestReading,
): readonly ToolCallPart[] {
  if (calls == null) return [];
  const parts: ToolCallPart[] = [];
  for (const [index, call] of (Array.isArray(calls) ? calls : [calls]).entries()) {
    const part = readCall(call, `${path}[${index}]`, reading);
    if (part === null) reading.useNative(`${path}[${index}]`);
    else parts.push(part);
  }
  return parts;
}

/** `null` where it is no call of a function, or says something that canon does not hold. */
function readCall(call: JsonValue, path: string, reading: RequestReading): ToolCallPart | null {
  if (!isJsonObject(call) || (call.type ?? "function") !== "function") return null;
  const { function: called, id, index } = call;
  const isKnown = reading.useUnknown(call, TOOL_CALL_MEMBERS, path, "assistant");
  if (!isKnown || !isJsonObject(called)) return null;
  const member = `${path}.function`;
  if (!reading.useUnknown(called, CALLED_FUNCTION_MEMBERS, member, "assistant")) return null;
  if (index != null) reading.dropped.add("item_id_dropped");
  reading.called(textOf(id));
  return {
    kind: "tool_call",
    id: textOrNull(id) ?? "",
    name: textOrNull(called.name) ?? "",
    arguments: readArguments(textOrNull(called.arguments) ?? "", `${member}.arguments`, reading),
    cache: null,
  };
}

/** Other protocols want an object where this one takes any text. */
function readArguments(text: string, path: string, reading: RequestReading): string {
  if (text.trim() === "") {
    reading.dropped.add("tool_arguments_normalised");
    return "{}";
  }
  if (reading.forTranslation && !isCallable(parseExactJsonText(text))) {
    const sentence = `${path} must be the text of a JSON object: an endpoint that may get the request takes nothing else`;
    reading.refuse(invalidRequest("invalid_tool_arguments", sentence, path));
  }
  return text;
}

function isCallable(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && !JSON.isRawJSON(value) && !isDeeperThan(value, MAXIMUM_DEPTH);
}

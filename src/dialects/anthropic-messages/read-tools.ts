import type { GenerateRequest, Tool, ToolChoice } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { type RequestReading, saysNothing, shownName } from "../fields.ts";
import { cacheMark, isPlainMark } from "./read-blocks.ts";
import { namedToolFeature, singleCallFeature } from "../translate-request.ts";
import { textOf, flagOrNull, textOrNull } from "../json.ts";

/** Members of a client's own tool that canon can take in, or may leave out. */
const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  "type",
  "name",
  "description",
  "input_schema",
  "strict",
  "cache_control",
]);

/**
 * Members that help the model or the transport: how arguments are cut into pieces, when a tool is
 * loaded, examples.
 */
const HINTS: ReadonlySet<string> = new Set([
  "eager_input_streaming",
  "defer_loading",
  "input_examples",
]);

/** The tools that the caller runs. */
export function readTools(tools: JsonValue | undefined, reading: RequestReading): readonly Tool[] {
  const read: Tool[] = [];
  if (!Array.isArray(tools)) return read;
  for (const [index, value] of tools.entries()) {
    const tool = isJsonObject(value) ? readTool(value, `tools[${index}]`, reading) : null;
    if (tool !== null) read.push(tool);
  }
  return read;
}

/** `null` for a tool that the protocol itself defines. */
function readTool(tool: JsonObject, path: string, reading: RequestReading): Tool | null {
  const type = textOf(tool["type"]) || "custom";
  if (type !== "custom") {
    // Which capability it needs is read by kind (`block-facts.ts`).
    reading.use("native_messages", `${path}.type`);
    return null;
  }
  reading.need("tools", path);
  for (const name in tool) {
    const value = tool[name];
    if (TOOL_MEMBERS.has(name) || value === null || value === undefined) continue;
    if (HINTS.has(name)) {
      if (!isDefault(value)) reading.dropped.add("hint_dropped");
    } else if (name === "allowed_callers" && isDirect(value)) continue;
    else if (saysNothing(value)) reading.dropped.add("empty_member_dropped");
    else reading.use("native_messages", `${path}.${shownName(name)}`);
  }
  const { cache_control: mark, strict, name, description, input_schema: parameters } = tool;
  if (!isPlainMark(mark)) reading.use("native_messages", `${path}.cache_control`);
  if (strict === true) reading.use("tool_strict", `${path}.strict`);
  return {
    name: textOf(name),
    description: textOrNull(description),
    parameters: isJsonObject(parameters) ? parameters : null,
    strict: flagOrNull(strict),
    cache: cacheMark(tool),
  };
}

/** Whether a hint says no more than its absence would. */
function isDefault(value: JsonValue): boolean {
  return value === false || (Array.isArray(value) && value.length === 0);
}

/** Whether only the model itself may call the tool, as without the member. */
function isDirect(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((caller: JsonValue) => caller === "direct");
}

const CHOICE_MEMBERS: ReadonlySet<string> = new Set(["type", "name", "disable_parallel_tool_use"]);

/**
 * `tool_choice`, and whether several calls may be made at once.
 *
 * @param all the request's list of tools. @param tools those that the caller runs; a choice among
 * others is the provider's to judge.
 */
export function readToolChoice(
  choice: JsonValue | undefined,
  all: JsonValue | undefined,
  tools: readonly Tool[],
  reading: RequestReading,
): Pick<GenerateRequest, "toolChoice" | "parallelToolCalls"> {
  if (!isJsonObject(choice)) return { toolChoice: null, parallelToolCalls: null };
  const type = textOf(choice["type"]);
  reading.useUnknown(choice, CHOICE_MEMBERS, "tool_choice", "native_messages");
  const { name, disable_parallel_tool_use: single } = choice;
  if (single === true) reading.use(singleCallFeature(all), "tool_choice.disable_parallel_tool_use");
  const isKnown = type === "any" ? tools.length > 0 : tools.some((tool) => tool.name === name);
  if (type === "any")
    reading.use(isKnown ? "tool_choice_required" : "native_messages", "tool_choice");
  else if (type === "tool")
    reading.use(isKnown ? namedToolFeature(all) : "native_messages", "tool_choice");
  else if (type !== "auto" && type !== "none") reading.use("native_messages", "tool_choice.type");
  const toolChoice = toolChoiceOf(type, textOf(name));
  return { toolChoice, parallelToolCalls: typeof single === "boolean" ? !single : null };
}

function toolChoiceOf(type: string, name: string): ToolChoice | null {
  switch (type) {
    case "any":
      return { mode: "required" };
    case "tool":
      return { mode: "named", name };
    case "auto":
    case "none":
      return { mode: type };
    default:
      return null;
  }
}

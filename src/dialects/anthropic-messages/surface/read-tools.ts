import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { RequestReading } from "../../request-reading.ts";
import { typeOf } from "../type-of.ts";
import { TOOL_TYPE_LIST, toolTypeNeeds } from "./block-facts.ts";
import { isPlainMark } from "./read-blocks.ts";
import { namedToolFeature, singleCallFeature } from "../../translation/one-tool.ts";
import { saysNothing, shownName } from "../../fields.ts";

/** Members of a client's own tool that canon can take in, or may leave out. */
const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  "type",
  "name",
  "description",
  "input_schema",
  "strict",
  "cache_control",
  "eager_input_streaming",
]);

/** What the list of tools needs. An unknown kind cannot be approved, so it is refused by name of its place. */
export function readTools(tools: JsonValue | undefined, asked: RequestReading): ServiceError | null {
  if (!Array.isArray(tools)) return null;
  for (let index = 0; index < tools.length; index += 1) {
    const tool = tools[index];
    if (!isJsonObject(tool)) continue;
    const problem = readTool(tool, `tools[${index}]`, asked);
    if (problem !== null) return problem;
  }
  return null;
}

function readTool(tool: JsonObject, path: string, asked: RequestReading): ServiceError | null {
  const type = typeOf(tool) || "custom";
  if (type === "custom") {
    asked.need("tools", path);
    if (tool["strict"] === true) asked.use("tool_strict", `${path}.strict`);
    for (const name in tool) {
      if (!TOOL_MEMBERS.has(name) && !saysNothing(tool[name]) && !isDefault(name, tool[name]))
        asked.use("native_messages", `${path}.${shownName(name)}`);
    }
    if (!isPlainMark(tool["cache_control"])) asked.use("native_messages", `${path}.cache_control`);
    return null;
  }
  const place = `${path}.type`;
  if (type.startsWith("advisor_")) {
    return invalidRequest(
      "unsupported_routing_field",
      `${place} lets the provider ask another model: routes.yaml says which models may see a request`,
      place,
    );
  }
  const needs = toolTypeNeeds(type);
  if (needs === null) return invalidRequest("unknown_tool_type", `${place} must be one of ${TOOL_TYPE_LIST}`, place);
  asked.need(needs, place);
  asked.use("native_messages", place);
  return null;
}

/** Whether a member that only the protocol itself has says no more than its absence would. */
export function isDefault(name: string, value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return true;
  if (!Array.isArray(value)) return false;
  return value.length === 0 || (name === "allowed_callers" && value.length === 1 && value[0] === "direct");
}

const CHOICE_MEMBERS: ReadonlySet<string> = new Set(["type", "name", "disable_parallel_tool_use"]);

/**
 * Reads `tool_choice`; says whether it forces a call.
 *
 * @param tools the request's; a choice among others than these is the provider's to judge.
 */
export function readToolChoice(
  choice: JsonValue | undefined,
  tools: JsonValue | undefined,
  asked: RequestReading,
): boolean {
  if (!isJsonObject(choice)) return false;
  const type = typeOf(choice);
  asked.useUnknown(choice, CHOICE_MEMBERS, "tool_choice", "native_messages");
  if (choice["disable_parallel_tool_use"] === true) {
    asked.use(singleCallFeature(tools), "tool_choice.disable_parallel_tool_use");
  }
  const names = toolNames(tools);
  const isKnown = type === "any" ? names.size > 0 : names.has(choice["name"]);
  if (type === "any") asked.use(isKnown ? "tool_choice_required" : "native_messages", "tool_choice");
  else if (type === "tool") asked.use(isKnown ? namedToolFeature(tools) : "native_messages", "tool_choice");
  else if (type !== "auto" && type !== "none") asked.use("native_messages", "tool_choice.type");
  return type === "any" || type === "tool";
}

/** Names of the tools that the caller runs. */
function toolNames(tools: JsonValue | undefined): ReadonlySet<JsonValue | undefined> {
  const names = new Set<JsonValue | undefined>();
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (isJsonObject(tool) && (typeOf(tool) || "custom") === "custom") names.add(tool["name"]);
  }
  return names;
}

import type { GenerateRequest, Tool, ToolChoice } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { hasUnknownMember, type RequestReading } from "../fields.ts";
import { namedToolFeature, singleCallFeature } from "../translate-request.ts";
import { flagOrNull, textOf, textOrNull } from "../json.ts";

const FUNCTION_MEMBERS: ReadonlySet<string> = new Set([
  "type",
  "name",
  "description",
  "parameters",
  "strict",
]);
/** Of a tool that is not deferred, which is what leaving the member out means. */
const PRESENT_MEMBERS: ReadonlySet<string> = new Set([...FUNCTION_MEMBERS, "defer_loading"]);
const NAMED_CHOICE_MEMBERS: ReadonlySet<string> = new Set(["type", "name"]);
const ALLOWED_CHOICE_MEMBERS: ReadonlySet<string> = new Set(["type", "mode", "tools"]);

/** The tools, the choice among them and their parallel use. */
export function readTools(
  { tools: all, tool_choice: choice, parallel_tool_calls: parallel }: JsonObject,
  reading: RequestReading,
): Pick<GenerateRequest, "tools" | "toolChoice" | "parallelToolCalls"> {
  const tools: Tool[] = [];
  for (const [index, value] of (Array.isArray(all) ? all : []).entries()) {
    const tool = readTool(value, `tools[${index}]`, reading);
    if (tool !== null) tools.push(tool);
  }
  if (parallel === false) reading.use(singleCallFeature(all), "parallel_tool_calls");
  const toolChoice = readChoice(choice, all, tools, reading);
  // The protocol's default requests nothing.
  return { tools, toolChoice, parallelToolCalls: parallel === false ? false : null };
}

/** `null` for a tool that is no function. An unknown kind cannot be approved, so it is refused. */
function readTool(tool: JsonValue | undefined, path: string, reading: RequestReading): Tool | null {
  if (!isJsonObject(tool)) return null;
  if (tool["type"] !== "function") {
    // Which capability it needs is read by kind (`kinds.ts`).
    reading.use("native_responses", `${path}.type`);
    return null;
  }
  reading.need("tools", `${path}.type`);
  const { name, description, parameters, strict, defer_loading: isDeferred } = tool;
  if (strict === true) reading.use("tool_strict", `${path}.strict`);
  reading.useUnknown(
    tool,
    isDeferred === false ? PRESENT_MEMBERS : FUNCTION_MEMBERS,
    path,
    "native_responses",
  );
  return {
    name: textOf(name),
    description: textOrNull(description),
    parameters: isJsonObject(parameters) ? parameters : null,
    strict: flagOrNull(strict),
    cache: null,
  };
}

/**
 * @param all the request's list of tools. @param tools its functions: a choice of another tool is
 * the provider's to judge.
 */
function readChoice(
  choice: JsonValue | undefined,
  all: JsonValue | undefined,
  tools: readonly Tool[],
  reading: RequestReading,
): ToolChoice | null {
  if (choice === undefined || choice === null || choice === "auto") return null;
  if (choice === "none") return { mode: choice };
  const isOffered = (name: string): boolean => tools.some((tool) => tool.name === name);
  if (choice === "required" && tools.length > 0) {
    reading.use("tool_choice_required", "tool_choice");
    return { mode: choice };
  }
  if (isNamedChoice(choice) && isOffered(choice.name)) {
    reading.use(namedToolFeature(all), "tool_choice");
    return { mode: "named", name: choice.name };
  }
  const allowed = readAllowed(choice);
  if (allowed !== null && allowed.names.every(isOffered)) {
    reading.use("tool_choice_allowed", "tool_choice");
    return allowed;
  }
  reading.use("native_responses", "tool_choice");
  return null;
}

/** `null` for every choice that is no list of functions. */
function readAllowed(choice: JsonValue): Extract<ToolChoice, { readonly mode: "allowed" }> | null {
  if (
    !isJsonObject(choice) ||
    choice["type"] !== "allowed_tools" ||
    hasUnknownMember(choice, ALLOWED_CHOICE_MEMBERS)
  ) {
    return null;
  }
  const { tools, mode } = choice;
  if (!Array.isArray(tools) || tools.length === 0 || (mode !== "auto" && mode !== "required"))
    return null;
  const names = tools.filter(isNamedChoice).map(({ name }) => name);
  return names.length < tools.length
    ? null
    : { mode: "allowed", names, required: mode === "required" };
}

/** `{"type": "function", "name"}`: the choice of one function, or one that is allowed. */
function isNamedChoice(
  value: JsonValue | undefined,
): value is { readonly type: "function"; readonly name: string } {
  if (!isJsonObject(value) || value["type"] !== "function" || typeof value["name"] !== "string")
    return false;
  return !hasUnknownMember(value, NAMED_CHOICE_MEMBERS);
}

/** Whether the model must call some tool. */
export function forcesTool(choice: JsonValue | undefined): boolean {
  if (choice === "required" || isNamedChoice(choice)) return true;
  return (
    isJsonObject(choice) && choice["type"] === "allowed_tools" && choice["mode"] === "required"
  );
}

import type { Capability } from "../../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { RequestReading } from "../../request-reading.ts";
import { hasUnknownMember } from "../../fields.ts";
import { namedToolFeature, singleCallFeature } from "../../translation/one-tool.ts";

/** Kinds of tools with the capability that each needs (docs/protocols.md#tools-of-responses). */
const TOOL_NEEDS: Readonly<Record<string, Capability>> = {
  function: "tools",
  namespace: "tools",
  tool_search: "tools",
  custom: "custom_tools",
  web_search: "web_search",
  x_search: "web_search",
  file_search: "file_search",
  code_interpreter: "code_execution",
  shell: "code_execution",
  local_shell: "code_execution",
  apply_patch: "code_execution",
  programmatic_tool_calling: "code_execution",
  computer: "computer_use",
  mcp: "mcp",
  image_generation: "image_output",
};

/** Kinds whose names grow a version or a word at their end, such as `web_search_preview_2025_03_11`. */
const PREFIXES = ["web_search", "computer"] as const;

const FUNCTION_MEMBERS: ReadonlySet<string> = new Set(["type", "name", "description", "parameters", "strict"]);
const NAMED_CHOICE_MEMBERS: ReadonlySet<string> = new Set(["type", "name"]);
const ALLOWED_CHOICE_MEMBERS: ReadonlySet<string> = new Set(["type", "mode", "tools"]);

/** What the tools, the choice among them and their parallel use ask. */
export function askTools(body: JsonObject, asked: RequestReading): ServiceError | null {
  const problem = askToolList(body["tools"], "tools", asked);
  if (problem !== null) return problem;
  if (body["parallel_tool_calls"] === false) asked.use(singleCallFeature(body["tools"]), "parallel_tool_calls");
  askChoice(body["tool_choice"], body["tools"], asked);
  return null;
}

/** Reads one list of tools. An unknown kind cannot be approved, so it is refused by the name of its place. */
export function askToolList(tools: JsonValue | undefined, path: string, asked: RequestReading): ServiceError | null {
  if (!Array.isArray(tools)) return null;
  for (const [index, tool] of tools.entries()) {
    const problem = askTool(tool, `${path}[${index}]`, asked);
    if (problem !== null) return problem;
  }
  return null;
}

function askTool(tool: JsonValue, path: string, asked: RequestReading): ServiceError | null {
  const type = isJsonObject(tool) ? tool["type"] : undefined;
  const capability = typeof type === "string" ? toolNeed(type) : null;
  if (!isJsonObject(tool) || capability === null) {
    const known = Object.keys(TOOL_NEEDS).join(", ");
    return invalidRequest("unknown_tool_type", `${path}.type must be one of ${known}`, `${path}.type`);
  }
  asked.need(capability, `${path}.type`);
  if (type !== "function") {
    asked.use("native_responses", `${path}.type`);
    return type === "namespace" ? askToolList(tool["tools"], `${path}.tools`, asked) : null;
  }
  if (tool["strict"] === true) asked.use("tool_strict", `${path}.strict`);
  if (tool["defer_loading"] === false) return askPlainFunction({ ...tool, defer_loading: null }, path, asked);
  return askPlainFunction(tool, path, asked);
}

function askPlainFunction(tool: JsonObject, path: string, asked: RequestReading): null {
  asked.useUnknown(tool, FUNCTION_MEMBERS, path, "native_responses");
  return null;
}

function toolNeed(type: string): Capability | null {
  if (Object.hasOwn(TOOL_NEEDS, type)) return TOOL_NEEDS[type] ?? null;
  const prefix = PREFIXES.find((word) => type.startsWith(`${word}_`));
  return prefix === undefined ? null : (TOOL_NEEDS[prefix] ?? null);
}

function functionNames(tools: JsonValue | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  if (!Array.isArray(tools)) return names;
  for (const tool of tools) {
    if (isJsonObject(tool) && tool["type"] === "function" && typeof tool["name"] === "string") names.add(tool["name"]);
  }
  return names;
}

function askChoice(choice: JsonValue | undefined, offered: JsonValue | undefined, asked: RequestReading): void {
  if (choice === undefined || choice === null || choice === "auto" || choice === "none") return;
  const names = functionNames(offered);
  // A choice of a tool that the request does not bring is the provider's to judge.
  if (choice === "required")
    return asked.use(names.size > 0 ? "tool_choice_required" : "native_responses", "tool_choice");
  if (isNamedChoice(choice)) {
    return asked.use(names.has(choice.name) ? namedToolFeature(offered) : "native_responses", "tool_choice");
  }
  if (!isJsonObject(choice) || choice["type"] !== "allowed_tools" || hasUnknownMember(choice, ALLOWED_CHOICE_MEMBERS)) {
    return asked.use("native_responses", "tool_choice");
  }
  const { tools, mode } = choice;
  const isPlain =
    Array.isArray(tools) && tools.length > 0 && tools.every((tool) => isNamedChoice(tool) && names.has(tool.name));
  if (!isPlain || (mode !== "auto" && mode !== "required")) return asked.use("native_responses", "tool_choice");
  asked.use("tool_choice_allowed", "tool_choice");
}

/** `{"type": "function", "name"}`: the choice of one function, or one that is allowed. */
export function isNamedChoice(
  value: JsonValue | undefined,
): value is { readonly type: "function"; readonly name: string } {
  if (!isJsonObject(value) || value["type"] !== "function" || typeof value["name"] !== "string") return false;
  return !hasUnknownMember(value, NAMED_CHOICE_MEMBERS);
}

/** Whether the model must call some tool. */
export function forcesTool(choice: JsonValue | undefined): boolean {
  if (choice === "required" || isNamedChoice(choice)) return true;
  return isJsonObject(choice) && choice["type"] === "allowed_tools" && choice["mode"] === "required";
}

import type { Capability } from "../../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { Asked } from "../../asked.ts";
import { FUNCTION_MEMBERS, TOOL_MEMBERS } from "../fields.ts";
import { askUnknownMember, hasUnknownMember } from "../../fields.ts";
import { namedToolFeature, singleCallFeature } from "../../translation/one-tool.ts";

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
};

/** What tools and the choice among them ask. An unknown kind cannot be approved, so it is refused by name of its place. */
export function askTools(body: JsonObject, asked: Asked): ServiceError | null {
  const { tools } = body;
  const names = new Set<string>();
  if (Array.isArray(tools) && tools.length > 0) {
    asked.use("conversation", "tools");
    for (const [index, tool] of tools.entries()) {
      const problem = askTool(tool, `tools[${index}]`, asked, names);
      if (problem !== null) return problem;
    }
  }
  if (body["parallel_tool_calls"] === false) asked.use(singleCallFeature(tools), "parallel_tool_calls");
  const choice = body["tool_choice"];
  if (choice === undefined || choice === null) return null;
  askChoice(choice, names, tools, asked);
  if (forcesTool(choice) && asked.has("reasoning")) asked.use("forced_tool_with_reasoning", "tool_choice");
  return null;
}

function askTool(tool: JsonValue, path: string, asked: Asked, names: Set<string>): ServiceError | null {
  const definition = isJsonObject(tool) ? tool["function"] : undefined;
  const type = isJsonObject(tool) ? (tool["type"] ?? (isJsonObject(definition) ? "function" : undefined)) : undefined;
  const capability = typeof type === "string" && Object.hasOwn(TOOL_NEEDS, type) ? TOOL_NEEDS[type] : undefined;
  if (capability === undefined) {
    const known = Object.keys(TOOL_NEEDS).join(", ");
    return invalidRequest("unknown_tool_type", `${path}.type must be one of ${known}`, `${path}.type`);
  }
  asked.need(capability, path);
  if (type !== "function" || !isJsonObject(definition)) {
    asked.use("native_chat", `${path}.type`);
    return null;
  }
  if (definition["strict"] === true) asked.use("tool_strict", `${path}.function.strict`);
  if (isJsonObject(tool)) askUnknownMember(tool, TOOL_MEMBERS, path, "native_chat", asked);
  askUnknownMember(definition, FUNCTION_MEMBERS, `${path}.function`, "native_chat", asked);
  if (typeof definition["name"] === "string") names.add(definition["name"]);
  return null;
}

function askChoice(choice: JsonValue, names: ReadonlySet<string>, tools: JsonValue | undefined, asked: Asked): void {
  if (choice === "auto" || choice === "none") return;
  const parsed = readToolChoice(choice);
  // A choice of a tool that the request does not bring is the provider's to judge.
  const isKnown = parsed !== null && parsed.names.every((name) => names.has(name)) && names.size > 0;
  if (!isKnown) return asked.use("native_chat", "tool_choice");
  asked.use(parsed.mode === "named" ? namedToolFeature(tools) : `tool_choice_${parsed.mode}`, "tool_choice");
}

/** A choice other than `auto` and `none`, in the two shapes that canon has a place for; `null` for every other. */
export interface NamedTools {
  readonly mode: "required" | "named" | "allowed";
  readonly names: readonly string[];
  /** One of the tools must be called. */
  readonly required: boolean;
}

export function readToolChoice(choice: JsonValue): NamedTools | null {
  if (choice === "required") return { mode: "required", names: [], required: true };
  if (!isJsonObject(choice)) return null;
  if (choice["type"] === "function" && !hasUnknownMember(choice, TOOL_MEMBERS)) {
    const name = functionName(choice);
    return name === null ? null : { mode: "named", names: [name], required: true };
  }
  const allowed = choice["allowed_tools"];
  if (
    choice["type"] !== "allowed_tools" ||
    hasUnknownMember(choice, ALLOWED_CHOICE_MEMBERS) ||
    !isJsonObject(allowed)
  ) {
    return null;
  }
  const { mode, tools } = allowed;
  if (hasUnknownMember(allowed, ALLOWED_MEMBERS) || (mode !== "auto" && mode !== "required") || !Array.isArray(tools)) {
    return null;
  }
  const names = tools.flatMap((tool) => {
    const isFunction = isJsonObject(tool) && tool["type"] === "function" && !hasUnknownMember(tool, TOOL_MEMBERS);
    return (isFunction ? functionName(tool) : null) ?? [];
  });
  if (names.length === 0 || names.length < tools.length) return null;
  return { mode: "allowed", names, required: mode === "required" };
}

const ALLOWED_CHOICE_MEMBERS: ReadonlySet<string> = new Set(["type", "allowed_tools"]);
const ALLOWED_MEMBERS: ReadonlySet<string> = new Set(["mode", "tools"]);
const NAME_MEMBER: ReadonlySet<string> = new Set(["name"]);

function functionName(tool: JsonObject): string | null {
  const definition = tool["function"];
  if (!isJsonObject(definition) || hasUnknownMember(definition, NAME_MEMBER)) return null;
  return typeof definition["name"] === "string" ? definition["name"] : null;
}

/** Whether the model has to call some tool. */
export function forcesTool(choice: JsonValue | undefined): boolean {
  return choice !== undefined && readToolChoice(choice)?.required === true;
}

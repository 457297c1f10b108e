import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { CacheMark, Tool, ToolChoice } from "../../../canon/generate/message.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import type { Draft } from "./draft.ts";

/** The tools, or `undefined` where there are none. Where only some may be called, only those are sent. */
export function formatTools({ tools, toolChoice }: GenerateRequest, { dropped }: Draft): JsonValue | undefined {
  if (tools.length === 0) return undefined;
  if (toolChoice?.mode !== "allowed") return tools.map(formatTool);
  const allowed = tools.filter(({ name }) => toolChoice.names.includes(name));
  if (allowed.length < tools.length) dropped.add("allowed_tools_filtered");
  return allowed.length === 0 ? undefined : allowed.map(formatTool);
}

function formatTool({ name, description, parameters, strict, cache }: Tool): JsonObject {
  return {
    name,
    ...(description === null ? {} : { description }),
    // Arguments are always an object, and the protocol wants to read so.
    input_schema: { type: "object", ...(parameters ?? { properties: {} }) },
    ...(strict === null ? {} : { strict }),
    ...formatMark(cache),
  };
}

/** `undefined` where nothing is said that the absence of the member would not say. */
export function formatToolChoice(
  { toolChoice, parallelToolCalls }: GenerateRequest,
  tools: JsonValue | undefined,
): JsonValue | undefined {
  if (tools === undefined) {
    // Without tools the provider refuses the member; a call that must be made and cannot is for it to refuse.
    if (toolChoice === null || toolChoice.mode === "auto" || toolChoice.mode === "none") return undefined;
    if (toolChoice.mode === "allowed" && !toolChoice.required) return undefined;
  }
  if (toolChoice === null) return parallelToolCalls === false ? { type: "auto", ...parallel(false) } : undefined;
  if (toolChoice.mode === "none") return { type: "none" };
  return { ...choiceOf(toolChoice), ...parallel(parallelToolCalls) };
}

function choiceOf(choice: ToolChoice): JsonObject {
  switch (choice.mode) {
    case "auto":
      return { type: "auto" };
    case "none":
      return { type: "none" };
    case "required":
      return { type: "any" };
    case "named":
      return { type: "tool", name: choice.name };
    case "allowed":
      return { type: choice.required ? "any" : "auto" };
  }
}

function parallel(allowed: boolean | null): JsonObject {
  return allowed === null ? {} : { disable_parallel_tool_use: !allowed };
}

/** The member that marks the end of what a provider may keep. */
export function formatMark(cache: CacheMark | null): JsonObject {
  if (cache === null) return {};
  return { cache_control: { type: "ephemeral", ...(cache.ttl === null ? {} : { ttl: cache.ttl }) } };
}

import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { Tool, ToolChoice } from "../../../canon/generate/message.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { cachePoint, type Draft } from "./format-parts.ts";
import { hasToolHistory } from "./format-turns.ts";
import { offeredTools } from "./offered-tools.ts";

/**
 * Stands in `toolConfig` where the history has calls and no tool is offered: the protocol demands one then. An answer that calls it is a
 * failure.
 */
const PLACEHOLDER: JsonObject = {
  toolSpec: {
    name: "unavailable",
    description: "Stands for tools that cannot be called any more. Never call it.",
    inputSchema: { json: { type: "object", properties: {} } },
  },
};

/** Names of tools that the protocol takes. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Writes `toolConfig`, and what only some models take beside it. */
export function formatTools(request: GenerateRequest, draft: Draft): void {
  const { tools, toolChoice, turns, parallelToolCalls } = request;
  const offered = offeredTools(request);
  if (offered.length < tools.length)
    draft.dropped.add(toolChoice?.mode === "none" ? "tools_withheld" : "allowed_tools_filtered");
  if (offered.length === 0) {
    // A call that must be made and cannot: there is no member that could say so.
    if (isForced(toolChoice)) draft.dropped.add("hint_dropped");
    if (hasToolHistory(turns)) {
      draft.dropped.add("tool_placeholder_sent");
      draft.body["toolConfig"] = { tools: [PLACEHOLDER] };
    }
    return;
  }
  if (!offered.every(({ name }) => NAME.test(name)))
    draft.refuse(
      "invalid_tool_name",
      "The name of a tool must be 1 to 64 letters, digits, underscores or hyphens for an endpoint that may get the request",
    );
  const choice = formatChoice(toolChoice);
  draft.body["toolConfig"] = {
    tools: offered.flatMap((tool) => [formatTool(tool), ...cachePoint(tool.cache)]),
    ...(choice === null ? {} : { toolChoice: choice }),
  };
  if (parallelToolCalls === false)
    draft.additional["tool_choice"] = { ...additionalChoice(toolChoice), disable_parallel_tool_use: true };
}

function formatTool({ name, description, parameters, strict }: Tool): JsonObject {
  return {
    toolSpec: {
      name,
      ...(description === null || description === "" ? {} : { description }),
      // Arguments are always an object, and the protocol wants to read so.
      inputSchema: { json: { type: "object", ...(parameters ?? { properties: {} }) } },
      ...(strict === true ? { strict } : {}),
    },
  };
}

/** `null` where nothing is said that the absence of the member would not say: not all models know it. */
function formatChoice(choice: ToolChoice | null): JsonObject | null {
  if (choice?.mode === "named") return { tool: { name: choice.name } };
  return isForced(choice) ? { any: {} } : null;
}

/** The same for models that have a switch for one call at a time: the choice stands beside the ban. */
function additionalChoice(choice: ToolChoice | null): JsonObject {
  if (choice?.mode === "named") return { type: "tool", name: choice.name };
  return { type: isForced(choice) ? "any" : "auto" };
}

function isForced(choice: ToolChoice | null): boolean {
  if (choice === null) return false;
  return choice.mode === "allowed" ? choice.required : choice.mode === "required" || choice.mode === "named";
}

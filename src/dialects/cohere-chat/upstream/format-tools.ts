import type { ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { Tool, ToolChoice } from "../../../canon/generate/message.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { lacking, type Draft } from "./draft.ts";

/** Writes `tools`, `tool_choice` and `strict_tools`. */
export function formatTools(request: GenerateRequest, { body, dropped }: Draft): ServiceError | null {
  const { toolChoice, parallelToolCalls } = request;
  const tools = offered(request);
  if (tools.length < request.tools.length) dropped.add("allowed_tools_filtered");
  if (tools.some(({ cache }) => cache !== null)) dropped.add("cache_mark_dropped");
  if (tools.length === 0) {
    // Both speak of calls that cannot be made.
    if (toolChoice !== null || parallelToolCalls === false) dropped.add("hint_dropped");
    return null;
  }
  if (toolChoice?.mode === "named") return lacking("tool choice that names one tool");
  if (parallelToolCalls === false && toolChoice?.mode !== "none") {
    return lacking("way to switch parallel tool calls off");
  }
  body["tools"] = tools.map(formatTool);
  const word = wordFor(toolChoice);
  if (word !== null) body["tool_choice"] = word;
  const strict = tools.filter((tool) => tool.strict === true);
  if (strict.length === 0) return null;
  // All or none: the promise that was asked for is kept, and the others get it as well.
  body["strict_tools"] = true;
  if (strict.length < tools.length) dropped.add("tool_strictness_widened");
  return null;
}

/** Where only some tools may be called, only those are sent. */
function offered({ tools, toolChoice }: GenerateRequest): readonly Tool[] {
  return toolChoice?.mode === "allowed" ? tools.filter(({ name }) => toolChoice.names.includes(name)) : tools;
}

function formatTool({ name, description, parameters }: Tool): JsonObject {
  return {
    type: "function",
    function: {
      name,
      ...(description === null ? {} : { description }),
      // The protocol demands a schema; a function without arguments has an object without members.
      parameters: parameters ?? { type: "object", properties: {} },
    },
  };
}

/** `null`: the model decides, for which the protocol has no word. */
function wordFor(choice: ToolChoice | null): string | null {
  if (choice?.mode === "none") return "NONE";
  const isForced = choice?.mode === "required" || (choice?.mode === "allowed" && choice.required);
  return isForced ? "REQUIRED" : null;
}

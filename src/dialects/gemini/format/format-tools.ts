import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { Tool, ToolChoice } from "../../../canon/generate/message.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { dropMark, type Draft } from "./draft.ts";

/** Writes `tools` and `toolConfig`. Schemas go whole: `parameters` would take a dialect of OpenAPI only. */
export function formatTools({ tools, toolChoice }: GenerateRequest, draft: Draft): void {
  if (tools.length > 0) {
    draft.body["tools"] = [{ functionDeclarations: tools.map((tool) => formatTool(tool, draft)) }];
  }
  const isStrict = tools.some(({ strict }) => strict === true);
  const isFree = toolChoice === null || toolChoice.mode === "auto";
  // Calls that are forced, limited to names or forbidden keep to their schemas without being asked.
  if (isStrict && !isFree) draft.dropped.add("hint_dropped");
  else if (isStrict && tools.some(({ strict }) => strict !== true)) draft.dropped.add("tool_strictness_widened");
  const config = callingConfig(tools.length === 0, toolChoice, isStrict);
  if (config !== null) draft.body["toolConfig"] = { functionCallingConfig: config };
}

function formatTool({ name, description, parameters, cache }: Tool, draft: Draft): JsonObject {
  dropMark(cache, draft);
  return {
    name,
    ...(description === null ? {} : { description }),
    ...(parameters === null ? {} : { parametersJsonSchema: parameters }),
  };
}

/** `null` where nothing is said that the absence of the member would not say. A call that must be made and cannot is for the provider to refuse. */
function callingConfig(isWithoutTools: boolean, choice: ToolChoice | null, isStrict: boolean): JsonObject | null {
  const free = isStrict ? { mode: "VALIDATED" } : null;
  switch (choice?.mode) {
    case undefined:
      return free;
    case "auto":
      return isWithoutTools ? null : (free ?? { mode: "AUTO" });
    case "none":
      return isWithoutTools ? null : { mode: "NONE" };
    case "required":
      return { mode: "ANY" };
    case "named":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
    case "allowed":
      // AUTO takes no names; VALIDATED is free to answer in text too.
      return { mode: choice.required ? "ANY" : "VALIDATED", allowedFunctionNames: choice.names };
  }
}

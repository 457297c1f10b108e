import type { Capability } from "../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";

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

/** What a list of tools needs. A kind that nobody has heard of cannot be approved, so it is refused by name of its place. */
export function toolNeeds(tools: JsonValue | undefined, needs: Set<Capability>): ServiceError | null {
  if (!Array.isArray(tools)) return null;
  for (const [index, tool] of tools.entries()) {
    const type = isJsonObject(tool)
      ? (tool["type"] ?? (isJsonObject(tool["function"]) ? "function" : undefined))
      : undefined;
    const capability = typeof type === "string" && Object.hasOwn(TOOL_NEEDS, type) ? TOOL_NEEDS[type] : undefined;
    if (capability === undefined) {
      const known = Object.keys(TOOL_NEEDS).join(", ");
      return invalidRequest(
        "unknown_tool_type",
        `tools[${index}].type must be one of ${known}`,
        `tools[${index}].type`,
      );
    }
    needs.add(capability);
  }
  return null;
}

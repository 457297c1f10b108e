import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { readToolChoice } from "../surface/read-tools.ts";
import { MEMBER_REWRITTEN, type Changes, type EditableBody, without } from "./body-members.ts";

/** Tools and the choice among them. */
export function fitTools(body: EditableBody, flags: readonly string[], changes: Changes): void {
  if (flags.includes("no_tool_strict")) dropStrictness(body, changes);
  if (flags.includes("no_allowed_tools")) filterAllowed(body, changes);
  if (flags.includes("no_tool_choice")) dropChoice(body, changes);
}

/** Functions that are not strict say so by saying nothing. */
function dropStrictness(body: EditableBody, changes: Changes): void {
  const { tools } = body;
  if (!Array.isArray(tools)) return;
  body["tools"] = tools.map((tool: JsonValue) => {
    const definition = isJsonObject(tool) ? tool["function"] : null;
    // A function that insists was refused by name; should one get here, the provider has to refuse it.
    if (!isJsonObject(tool) || !isJsonObject(definition) || definition["strict"] === true) return tool;
    const fitted = without(definition, "strict");
    if (fitted === definition) return tool;
    changes.edits |= MEMBER_REWRITTEN;
    return { ...tool, function: fitted };
  });
}

/** A choice among some of the tools, as a request that has no others. */
function filterAllowed(body: EditableBody, changes: Changes): void {
  const { tools, tool_choice: choice } = body;
  const allowed = choice === undefined || choice === null ? null : readToolChoice(choice);
  if (allowed?.mode !== "allowed" || !Array.isArray(tools)) return;
  const filtered = tools.filter((tool: JsonValue) => isJsonObject(tool) && allowed.names.includes(nameOf(tool)));
  // A choice of tools that are not there is for the provider to judge.
  if (filtered.length < new Set(allowed.names).size) return;
  body["tools"] = filtered;
  body["tool_choice"] = allowed.required ? "required" : "auto";
  changes.dropped.add("allowed_tools_filtered");
}

function nameOf(tool: JsonObject): string {
  const definition = tool["function"];
  const name = isJsonObject(definition) ? definition["name"] : null;
  return typeof name === "string" ? name : "";
}

/** `auto` is what happens unasked; `none` is kept by not offering any tool. Whatever else is left stays, for the provider to refuse. */
function dropChoice(body: EditableBody, changes: Changes): void {
  const choice = body["tool_choice"];
  if (choice === "none") {
    if (body["tools"] !== undefined) changes.dropped.add("tools_withheld");
    delete body["tools"];
    delete body["parallel_tool_calls"];
  }
  if (choice === null || choice === "auto" || choice === "none") {
    delete body["tool_choice"];
    changes.edits |= MEMBER_REWRITTEN;
  }
}

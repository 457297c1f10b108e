import type { Tool, ToolChoice } from "../../../canon/generate/message.ts";
import type { Members } from "../../members.ts";
import { isDefault } from "../surface/read-tools.ts";
import { cacheMark } from "./to-turns.ts";

/** Members of a tool that only the protocol itself has; `parse` has seen that they say no more than their absence. */
const NATIVE_MEMBERS = ["type", "defer_loading", "allowed_callers", "input_examples"];

export function readTools(body: Members): readonly Tool[] {
  return body.objects("tools").map((tool) => {
    for (const name of NATIVE_MEMBERS) tool.take(name);
    // Only how the arguments are cut into pieces depends on it.
    if (!isDefault("eager_input_streaming", tool.take("eager_input_streaming"))) tool.ledger.lose("hint_dropped");
    const read: Tool = {
      name: tool.text("name") ?? "",
      description: tool.text("description"),
      parameters: tool.whole("input_schema"),
      strict: tool.flag("strict"),
      cache: cacheMark(tool),
    };
    tool.close();
    return read;
  });
}

/** `tool_choice`, and whether several calls may be made at once. */
export function readChoice(body: Members): { readonly choice: ToolChoice | null; readonly parallel: boolean | null } {
  const members = body.object("tool_choice");
  if (members === null) return { choice: null, parallel: null };
  const type = members.word("type", ["auto", "any", "tool", "none"]);
  const name = members.text("name");
  const single = members.flag("disable_parallel_tool_use");
  members.close();
  return { choice: toolChoice(type, name), parallel: single === null ? null : !single };
}

function toolChoice(type: "auto" | "any" | "tool" | "none" | null, name: string | null): ToolChoice | null {
  switch (type) {
    case "any":
      return { mode: "required" };
    case "tool":
      return { mode: "named", name: name ?? "" };
    case "auto":
    case "none":
      return { mode: type };
    case null:
      return null;
  }
}

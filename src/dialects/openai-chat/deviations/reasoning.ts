import { MEMBER_REWRITTEN, type Changes, type EditableBody } from "./changes.ts";

/** The effort where the provider looks for it: beside what else a caller who knows the provider's own member has said there. */
export function fitReasoning(body: EditableBody, flags: readonly string[], changes: Changes): void {
  const effort = body["reasoning_effort"];
  if (!flags.includes("reasoning_object") || typeof effort !== "string") return;
  // Both members together are refused; the provider's own one is the one that the caller wrote for it.
  body["reasoning"] ??= { effort };
  delete body["reasoning_effort"];
  changes.edits |= MEMBER_REWRITTEN;
}

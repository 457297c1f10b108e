import { NO_EDITS } from "../../../canon/generate/edit.ts";
import { type Changes, type EditableBody, leaveOut, rename } from "./body-members.ts";
import { fitMessages, fitReasoning, shortenCallIds } from "./messages.ts";
import { fitTools } from "./tools.ts";

/**
 * Makes a body of the protocol one that a provider with such flags takes (`DIALECTS["openai-chat"].flags`). Relays and translations
 * both end here, so that a flag means the same for both. What a flag withdraws has been refused before; what is left is said in other words, or
 * left out and recorded.
 */
export function applyFlags(body: EditableBody, flags: readonly string[]): Changes {
  const changes: Changes = { stripped: [], dropped: new Set(), edits: NO_EDITS };
  if (flags.length === 0) return changes;
  leaveOut(body, flags, changes);
  rename(body, flags, changes);
  fitReasoning(body, flags, changes);
  fitTools(body, flags, changes);
  fitMessages(body, flags, changes);
  if (flags.includes("short_call_ids")) shortenCallIds(body, changes);
  return changes;
}

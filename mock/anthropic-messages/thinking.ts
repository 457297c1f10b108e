import type { JsonObject } from "../json.ts";
import { objectAt, textAt } from "../members.ts";
import type { MessagesConversation } from "./messages.ts";

export interface Thinking {
  /** The request allows thinking. */
  readonly isOn: boolean;
  /** The model does think before this answer. */
  readonly thinks: boolean;
  /** The text of the thinking is not shown, only its signature. */
  readonly isOmitted: boolean;
}

/** Reads `thinking`. */
export function readThinking(body: JsonObject, conversation: MessagesConversation): Thinking {
  const thinking = objectAt(body, "thinking");
  const kind = textAt(thinking, "type");
  const isOn = kind !== "" && kind !== "disabled";
  const forcesTool = ["any", "tool"].includes(textAt(objectAt(body, "tool_choice"), "type"));
  return {
    isOn,
    thinks: isOn && !forcesTool && thinksNow(kind, conversation),
    isOmitted: thinking.display === "omitted",
  };
}

/**
 * A turn that began without thinking goes on without it: Anthropic turns manual thinking off for
 * such a request without a notice. Only adaptive thinking may begin within a turn.
 */
function thinksNow(kind: string, conversation: MessagesConversation): boolean {
  if (kind === "between_tools") return conversation.endsWithToolResult;
  return kind === "adaptive" || !conversation.endsWithToolResult || conversation.turnBeganThinking;
}

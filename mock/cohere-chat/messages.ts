import type { JsonObject } from "../json.ts";
import { objectAt, objectsAt, textAt } from "../members.ts";
import { TOKENS_PER_ATTACHMENT, type Conversation } from "../model/conversation.ts";

/** Reads `messages`. */
export function readMessages(body: JsonObject): Conversation {
  const messages = objectsAt(body, "messages");
  return {
    messages: messages.length,
    tokens: messages.reduce((sum, message) => sum + Math.ceil(charactersOf(message) / 4) + 4, 0),
    endsWithToolResult: messages.at(-1)?.role === "tool",
  };
}

function charactersOf(message: JsonObject): number {
  let characters = textAt(message, "content").length + textAt(message, "tool_plan").length;
  for (const part of objectsAt(message, "content")) {
    const text = part.text ?? part.thinking;
    characters += typeof text === "string" ? text.length : TOKENS_PER_ATTACHMENT * 4;
  }
  for (const call of objectsAt(message, "tool_calls"))
    characters += textAt(objectAt(call, "function"), "arguments").length;
  return characters;
}

import type { JsonObject } from "../json.ts";
import { objectsAt, textAt } from "../members.ts";
import { TOKENS_PER_ATTACHMENT, type Conversation } from "../model/conversation.ts";

/** Reads `messages`. */
export function readMessages(body: JsonObject): Conversation {
  const messages = objectsAt(body, "messages");
  let characters = 0;
  let attachments = 0;
  for (const message of messages) {
    characters += textAt(message, "content").length;
    for (const part of objectsAt(message, "content")) {
      const text = part.text ?? part.refusal;
      if (typeof text === "string") characters += text.length;
      else attachments += 1;
    }
  }
  const last = messages.at(-1);
  return {
    messages: messages.length,
    tokens: Math.ceil(characters / 4) + messages.length * 4 + attachments * TOKENS_PER_ATTACHMENT,
    endsWithToolResult: last?.role === "tool",
  };
}

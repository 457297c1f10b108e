import type { JsonObject } from "../json.ts";
import { listAt, objectAt, objectsAt, textAt } from "../members.ts";
import { tokensOfList, type Conversation } from "../model/conversation.ts";
import { isSealed, isSigned } from "../model/signature.ts";
import { invalid, type Problem } from "../problem.ts";

/** Reads `messages` and `system`. Reasoning that another provider signed is refused. */
export function readMessages(body: JsonObject): Conversation | Problem {
  const messages = objectsAt(body, "messages");
  for (const [index, message] of messages.entries()) {
    for (const [position, block] of objectsAt(message, "content").entries()) {
      const problem = checkReasoning(
        block,
        `messages.${index}.content.${position}.reasoningContent`,
      );
      if (problem !== null) return problem;
    }
  }
  const last = messages.at(-1) ?? {};
  return {
    messages: messages.length,
    tokens: tokensOfList(messages) + messages.length * 4 + tokensOfList(listAt(body, "system")),
    endsWithToolResult: objectsAt(last, "content").some((block) =>
      Object.hasOwn(block, "toolResult"),
    ),
  };
}

function checkReasoning(block: JsonObject, at: string): Problem | null {
  if (!Object.hasOwn(block, "reasoningContent")) return null;
  const reasoning = objectAt(block, "reasoningContent");
  if (typeof reasoning.redactedContent === "string") {
    const sealed = Buffer.from(reasoning.redactedContent, "base64").toString();
    return isSealed("redacted-content", sealed)
      ? null
      : invalid(at, "Invalid `data` in `redacted_thinking` block");
  }
  const text = objectAt(reasoning, "reasoningText");
  return isSigned("reasoning-content", textAt(text, "text"), text.signature)
    ? null
    : invalid(at, "Invalid `signature` in `thinking` block");
}

import type { JsonObject } from "../json.ts";
import { objectsAt, textAt } from "../members.ts";
import { TOKENS_PER_ATTACHMENT, tokensOfText, type Conversation } from "../model/conversation.ts";
import { isSealed, isSigned } from "../model/signature.ts";
import { invalid, type Problem } from "../problem.ts";

export interface MessagesConversation extends Conversation {
  /** The turn that the answer goes on with began with thinking. */
  readonly turnBeganThinking: boolean;
}

interface Message {
  readonly role: string;
  readonly blocks: readonly JsonObject[];
}

/** Reads `messages` and `system`. Thinking that another provider signed is refused. */
export function readMessages(body: JsonObject): MessagesConversation | Problem {
  const messages = objectsAt(body, "messages").map((message) => ({
    role: textAt(message, "role"),
    blocks: blocksAt(message, "content"),
  }));
  const problem = messages.map(checkSignatures).find((found) => found !== null);
  if (problem !== undefined) return problem;
  const spoken = messages.filter(({ role }) => role !== "system");
  const last = spoken.at(-1);
  const read = [...messages, { blocks: blocksAt(body, "system") }].flatMap(({ blocks }) => blocks);
  return {
    messages: messages.length,
    tokens: read.reduce((sum, block) => sum + tokensOf(block), 0) + messages.length * 4,
    endsWithToolResult: last?.role === "user" && hasResult(last),
    turnBeganThinking: turnBeganThinking(spoken),
  };
}

/** The blocks of a member; a text is one. */
function blocksAt(object: JsonObject, name: string): readonly JsonObject[] {
  const text = object[name];
  return typeof text === "string" ? [{ type: "text", text }] : objectsAt(object, name);
}

function hasResult({ blocks }: Message): boolean {
  return blocks.some(({ type }) => type === "tool_result");
}

function checkSignatures({ blocks }: Message, index: number): Problem | null {
  for (const [position, block] of blocks.entries()) {
    const at = `messages.${index}.content.${position}`;
    if (
      block.type === "thinking" &&
      !isSigned("thinking", textAt(block, "thinking"), block.signature)
    )
      return invalid(at, "Invalid `signature` in `thinking` block");
    if (block.type === "redacted_thinking" && !isSealed("redacted-thinking", block.data))
      return invalid(at, "Invalid `data` in `redacted_thinking` block");
  }
  return null;
}

function tokensOf(block: JsonObject): number {
  const { type } = block;
  if (type === "image" || type === "document") return TOKENS_PER_ATTACHMENT;
  if (type === "tool_result")
    return blocksAt(block, "content").reduce((sum, part) => sum + tokensOf(part), 0);
  const text = block[type === "thinking" ? "thinking" : "text"];
  return tokensOfText(typeof text === "string" ? text : JSON.stringify(block));
}

/** Looks at the first answer after the last message of the caller that was no result of a tool. */
function turnBeganThinking(messages: readonly Message[]): boolean {
  const lastQuestion = messages.findLastIndex(
    (message) => message.role === "user" && !hasResult(message),
  );
  const first = messages[lastQuestion + 1]?.blocks[0]?.type;
  return first === "thinking" || first === "redacted_thinking";
}

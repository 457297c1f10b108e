import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, isTextOrList, listAt, memberTable, oneOf } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { readBlock, type Holder } from "./blocks.ts";
import { wordingAt } from "./error.ts";
import type { Edition, Version } from "./version.ts";

/** What the answer depends on; the texts themselves are not kept. */
export interface Conversation {
  readonly messages: number;
  /** Estimated: four characters a token, and four tokens a message. */
  readonly tokens: number;
  /** The conversation ends with the result of a tool. */
  readonly endsWithToolResult: boolean;
  /** The turn that the answer goes on with began with thinking. */
  readonly turnBeganThinking: boolean;
  /** The conversation ends with the beginning of the answer. */
  readonly isPrefilled: boolean;
}

const MEMBERS = memberTable(
  ["role", "'user', 'assistant' or 'system'", oneOf("user", "assistant", "system")],
  ["content", "a valid string or a list of blocks", isTextOrList],
);

interface Message {
  readonly role: string;
  /** Types of the blocks. */
  readonly types: readonly string[];
  readonly tokens: number;
}

/** Reads `system`: a string or blocks of text. */
export function readSystem(system: unknown, { version }: Edition): { readonly tokens: number } | Problem {
  if (typeof system === "string") return { tokens: Math.ceil(system.length / 4) };
  const blocks: readonly unknown[] = Array.isArray(system) ? system : [];
  return readBlocks(blocks, "system", "system", version);
}

/**
 * Checks `messages` as Anthropic does: members, blocks, signatures, and that every use of a tool has its result in the next message.
 * Messages of one role may follow each other, and either role may come first.
 */
export function readMessages(value: unknown, edition: Edition): Conversation | Problem {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length === 0) return invalid("messages", "at least one message is required");
  const messages: Message[] = [];
  for (const [index, item] of list.entries()) {
    const message = readMessage(item, `messages.${index}`, index === list.length - 1, edition.version);
    if ("status" in message) return message;
    messages.push(message);
  }
  const pairing = checkPairs(list.filter(isJsonObject));
  if (pairing !== null) return pairing;
  const spoken = messages.filter((message) => message.role !== "system");
  const last = spoken.at(-1);
  const isPrefilled = last?.role === "assistant";
  const prefill = isPrefilled ? checkPrefill(list.at(-1)) : null;
  if (prefill !== null) return prefill;
  return {
    messages: messages.length,
    tokens: messages.reduce((sum, message) => sum + message.tokens, 0) + messages.length * 4,
    endsWithToolResult: last?.role === "user" && last.types.includes("tool_result"),
    turnBeganThinking: turnBeganThinking(spoken),
    isPrefilled,
  };
}

function readMessage(item: unknown, path: string, isLast: boolean, version: Version): Message | Problem {
  if (!isJsonObject(item)) return invalid(path, "Input should be an object");
  const members = { table: MEMBERS, required: ["role", "content"], lenient: false };
  const problem = checkMembers(item, members, wordingAt(path));
  if (problem !== null) return problem;
  const { content } = item;
  const role = item["role"] === "assistant" ? "assistant" : item["role"] === "system" ? "system" : "user";
  if (typeof content === "string" ? content === "" : listAt(item, "content").length === 0) {
    return isLast && role === "assistant"
      ? { role, types: [], tokens: 0 }
      : invalid(path, "all messages must have non-empty content except for the optional final assistant message");
  }
  if (typeof content === "string") return { role, types: ["text"], tokens: Math.ceil(content.length / 4) };
  const blocks = readBlocks(listAt(item, "content"), role, `${path}.content`, version);
  return "status" in blocks ? blocks : { role, ...blocks };
}

function readBlocks(
  list: readonly unknown[],
  holder: Holder,
  path: string,
  version: Version,
): { readonly types: readonly string[]; readonly tokens: number } | Problem {
  const types: string[] = [];
  let tokens = 0;
  for (const [index, value] of list.entries()) {
    const block = readBlock(value, holder, `${path}.${index}`, version);
    if ("status" in block) return block;
    types.push(block.type);
    tokens += block.tokens;
  }
  return { types, tokens };
}

interface Turn {
  readonly role: unknown;
  /** Index of its first message. */
  readonly index: number;
  readonly blocks: readonly JsonObject[];
}

/** Messages of one role that follow each other are one turn. */
function turnsOf(messages: readonly JsonObject[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    const blocks = listAt(message, "content").filter(isJsonObject);
    const last = turns.at(-1);
    if (last !== undefined && last.role === role)
      turns[turns.length - 1] = { ...last, blocks: [...last.blocks, ...blocks] };
    else turns.push({ role, index, blocks });
  }
  return turns;
}

function checkPairs(messages: readonly JsonObject[]): Problem | null {
  let open = new Set<unknown>();
  let askedAt = 0;
  for (const { role, index, blocks } of turnsOf(messages)) {
    const results = blocks.filter((block) => block["type"] === "tool_result");
    for (const [place, result] of results.entries()) {
      if (open.delete(result["tool_use_id"])) continue;
      return invalid(
        `messages.${index}.content.${place}`,
        "unexpected `tool_use_id` found in `tool_result` blocks. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
      );
    }
    // Results come before anything else that the caller has to say.
    const areFirst = blocks.slice(0, results.length).every((block) => block["type"] === "tool_result");
    if (open.size > 0 || !areFirst) return unanswered(askedAt);
    if (role !== "assistant") continue;
    const ids = blocks.filter((block) => block["type"] === "tool_use").map((block) => block["id"]);
    open = new Set(ids);
    if (open.size < ids.length) return invalid(`messages.${index}`, "`tool_use` ids must be unique");
    askedAt = index;
  }
  return open.size > 0 ? unanswered(askedAt) : null;
}

function unanswered(index: number): Problem {
  return invalid(
    `messages.${index}`,
    "`tool_use` ids were found without `tool_result` blocks immediately after. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
  );
}

function checkPrefill(message: unknown): Problem | null {
  const content = isJsonObject(message) ? message["content"] : undefined;
  const last: unknown = Array.isArray(content) ? content.at(-1) : { text: content };
  const text = isJsonObject(last) ? last["text"] : undefined;
  return typeof text === "string" && text !== text.trimEnd()
    ? invalid("messages", "final assistant content cannot end with trailing whitespace")
    : null;
}

/** Looks at the first answer after the last message of the caller that was no result of a tool. */
function turnBeganThinking(messages: readonly Message[]): boolean {
  const asked = messages.findLastIndex((message) => message.role === "user" && !message.types.includes("tool_result"));
  const [first] = messages[asked + 1]?.types ?? [];
  return first === "thinking" || first === "redacted_thinking";
}

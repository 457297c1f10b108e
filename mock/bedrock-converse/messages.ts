import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, isList, listAt, memberTable, oneOf, textAt } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { readBlock, type Block, type Holder } from "./blocks.ts";
import { wordingAt } from "./error.ts";

/** What the answer depends on; the texts themselves are not kept. */
export interface Conversation {
  readonly messages: number;
  /** Estimated: four characters a token, and four tokens a message. */
  readonly tokens: number;
  /** The conversation ends with the result of a tool. */
  readonly endsWithToolResult: boolean;
  /** There are calls of tools, or results. */
  readonly hasTools: boolean;
}

interface Message {
  readonly role: string;
  readonly blocks: readonly Block[];
}

const MEMBERS = memberTable(
  ["role", "'user' or 'assistant'", oneOf("user", "assistant")],
  ["content", "a list", isList],
);

/** Checks the conversation as Bedrock does: roles alternate beginning with the user's, and every use of a tool has its result in the next message. */
export function readMessages(body: JsonObject): Conversation | Problem {
  const list = listAt(body, "messages");
  if (list.length === 0) return invalid("messages", "A conversation must have at least one message. Try again.");
  const messages: Message[] = [];
  for (const [index, item] of list.entries()) {
    const message = readMessage(item, `messages.${index}`);
    if ("status" in message) return message;
    if (message.role !== (index % 2 === 0 ? "user" : "assistant"))
      return invalid(
        `messages.${index}`,
        "A conversation must alternate between user and assistant roles, and start with a user message.",
      );
    messages.push(message);
  }
  const problem = checkPairs(messages) ?? checkDocuments(messages);
  if (problem !== null) return problem;
  const last = messages.at(-1);
  const kinds = messages.flatMap(({ blocks }) => blocks.map(({ kind }) => kind));
  return {
    messages: messages.length,
    tokens: sizeOf(list) + messages.length * 4,
    endsWithToolResult: last?.role === "user" && last.blocks.some(({ kind }) => kind === "toolResult"),
    hasTools: kinds.includes("toolUse") || kinds.includes("toolResult"),
  };
}

/** Reads `system`. */
export function readSystem(body: JsonObject): { readonly tokens: number } | Problem {
  const list = listAt(body, "system");
  const blocks = readBlocks(list, "system", "system");
  return "status" in blocks ? blocks : { tokens: sizeOf(list) };
}

function sizeOf(list: readonly unknown[]): number {
  return list.length === 0 ? 0 : Math.ceil(JSON.stringify(list).length / 4);
}

function readMessage(item: unknown, path: string): Message | Problem {
  if (!isJsonObject(item)) return invalid(path, "Member must be a structure");
  const problem = checkMembers(
    item,
    { table: MEMBERS, required: ["role", "content"], lenient: false },
    wordingAt(path),
  );
  if (problem !== null) return problem;
  const role = textAt(item, "role");
  const list = listAt(item, "content");
  if (list.length === 0)
    return invalid(
      `${path}.content`,
      "The content field in the Message object is empty. Add a ContentBlock object to the content field and try again.",
    );
  const blocks = readBlocks(list, role === "assistant" ? "assistant" : "user", `${path}.content`);
  return "status" in blocks ? blocks : { role, blocks };
}

export function readBlocks(list: readonly unknown[], holder: Holder, path: string): readonly Block[] | Problem {
  const blocks: Block[] = [];
  for (const [index, value] of list.entries()) {
    const at = `${path}.${index}`;
    const block = readBlock(value, holder, at);
    if ("status" in block) return block;
    if (block.kind === "cachePoint" && index === 0) return invalid(at, "A cache point must follow what it marks.");
    const inner = isJsonObject(block.value) ? listAt(block.value, "content") : [];
    const within = block.kind === "toolResult" ? readBlocks(inner, "toolResult", `${at}.toolResult.content`) : [];
    if ("status" in within) return within;
    blocks.push(block);
  }
  return blocks;
}

function idsIn(message: Message | undefined, kind: "toolUse" | "toolResult"): readonly string[] {
  return (message?.blocks ?? []).flatMap(({ kind: of, value }) =>
    of === kind && isJsonObject(value) && value["type"] !== "server_tool_use" ? [textAt(value, "toolUseId")] : [],
  );
}

function checkPairs(messages: readonly Message[]): Problem | null {
  for (const [index, message] of messages.entries()) {
    const used = idsIn(message, "toolUse");
    if (new Set(used).size < used.length)
      return invalid(`messages.${index}`, "The toolUse ids of a turn must be unique.");
    if (message.role !== "user") {
      const answered = new Set(idsIn(messages[index + 1], "toolResult"));
      // The last turn of the conversation waits for its results.
      if (index + 1 < messages.length && used.some((id) => !answered.has(id)))
        return invalid(
          `messages.${index + 1}.content`,
          "Expected toolResult blocks for all toolUse blocks of the previous turn.",
        );
      continue;
    }
    const asked = new Set(idsIn(messages[index - 1], "toolUse"));
    const results = idsIn(message, "toolResult");
    if (results.some((id) => !asked.has(id)) || new Set(results).size < results.length)
      return invalid(
        `messages.${index}.content`,
        "The toolResult blocks exceed or do not match the toolUse blocks of the previous turn.",
      );
  }
  return null;
}

function checkDocuments(messages: readonly Message[]): Problem | null {
  const names = new Set<string>();
  for (const [index, { blocks }] of messages.entries()) {
    const documents = blocks.filter(({ kind }) => kind === "document");
    if (documents.length > 0 && !blocks.some(({ kind }) => kind === "text"))
      return invalid(`messages.${index}.content`, "A document must be accompanied by a text block.");
    for (const { value } of documents) {
      const name = isJsonObject(value) ? textAt(value, "name") : "";
      if (names.has(name))
        return invalid(`messages.${index}.content`, "Duplicate document file names are not allowed.");
      names.add(name);
    }
  }
  return null;
}

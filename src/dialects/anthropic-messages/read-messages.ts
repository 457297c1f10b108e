import type {
  AssistantPart,
  InputPart,
  TextPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { RequestReading } from "../fields.ts";
import { blockFacts } from "./block-facts.ts";
import { isInput, isSaid, isText, plainText, readBlocks } from "./read-blocks.ts";
import type { Version } from "./fields.ts";
import { textOf } from "../json.ts";

const MESSAGE_MEMBERS: ReadonlySet<string> = new Set(["role", "content"]);

/** The system text and the messages, in their order. Tool results become turns of their own. */
export function readConversation(
  body: JsonObject,
  reading: RequestReading,
  version: Version,
): readonly Turn[] {
  const { system, messages } = body;
  const turns: Turn[] = [];
  const instructions = readTexts(system, "system", reading, version);
  if (instructions.length > 0)
    turns.push({ role: "system", authority: "system", content: instructions });
  if (!Array.isArray(messages)) return turns;
  let begun = false;
  // An iterator of entries costs more than all else that is done with a plain message.
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (!isJsonObject(message)) continue;
    const path = `messages[${index}]`;
    readMessage(message, path, turns, reading, version);
    if (message["role"] !== "system") begun = true;
    else if (begun) reading.use("mid_conversation_system", path);
  }
  const member = conversationMember(body, messages);
  if (member !== null) reading.use("conversation", member);
  noteLast(messages, reading);
  return turns;
}

function readMessage(
  message: JsonObject,
  path: string,
  turns: Turn[],
  reading: RequestReading,
  version: Version,
): void {
  const { role, content } = message;
  reading.useUnknown(message, MESSAGE_MEMBERS, path, "native_messages", role ?? null);
  if (role === "user" && typeof content === "string") {
    turns.push({ role, name: null, content: [plainText(content)] });
  } else if (role === "user") {
    readUser(content, `${path}.content`, turns, reading, version);
  } else if (role === "assistant") {
    turns.push({ role, name: null, content: readSaid(content, path, reading, version) });
  } else if (role === "system") {
    turns.push({
      role,
      authority: role,
      content: readTexts(content, `${path}.content`, reading, version),
    });
  } else {
    reading.use("native_messages", `${path}.role`);
  }
}

function readSaid(
  content: JsonValue | undefined,
  path: string,
  reading: RequestReading,
  version: Version,
): readonly AssistantPart[] {
  if (typeof content === "string") return [plainText(content)];
  return readBlocks(content, "assistant", `${path}.content`, reading, version).filter(isSaid);
}

/** A text or a list of text blocks; none where it is empty. */
function readTexts(
  value: JsonValue | undefined,
  path: string,
  reading: RequestReading,
  version: Version,
): readonly TextPart[] {
  if (typeof value === "string") return value === "" ? [] : [plainText(value)];
  return readBlocks(value, "system", path, reading, version).filter(isText);
}

function readUser(
  content: JsonValue | undefined,
  path: string,
  turns: Turn[],
  reading: RequestReading,
  version: Version,
): void {
  const blocks = readBlocks(content, "user", path, reading, version);
  if (blocks.length === 0) reading.dropped.add("empty_text_dropped");
  let parts: InputPart[] = [];
  let results: ToolResult[] = [];
  for (const block of blocks) {
    // Each list holds what stands together; the other kind begins a turn of its own.
    if (block.kind === "tool_result") {
      if (results.length === 0) turns.push({ role: "tool", results });
      results.push(block.result);
      parts = [];
    } else if (isInput(block)) {
      if (parts.length === 0) turns.push({ role: "user", name: null, content: parts });
      parts.push(block);
      results = [];
    }
  }
}

/** The first member that makes the request more than one text; `null` where it is one. */
function conversationMember(body: JsonObject, messages: readonly JsonValue[]): string | null {
  const { system, tools } = body;
  if (Array.isArray(tools) && tools.length > 0) return "tools";
  if (Array.isArray(system) ? system.length > 0 : typeof system === "string" && system !== "")
    return "system";
  const [first, second] = messages;
  if (second !== undefined) return "messages[1]";
  return isJsonObject(first) && first["role"] === "user" && isOneText(first["content"])
    ? null
    : "messages[0]";
}

function isOneText(content: JsonValue | undefined): boolean {
  if (typeof content === "string") return true;
  if (!Array.isArray(content) || content.length !== 1) return false;
  const [block] = content;
  return isJsonObject(block) && block["type"] === "text";
}

/**
 * An assistant message at the end is the beginning of the answer, for the model to go on from. One
 * that holds a server's tool calls is an answer that was paused; its sender wants the same again,
 * and any model can continue it.
 */
function noteLast(messages: readonly JsonValue[], reading: RequestReading): void {
  const last = messages.at(-1);
  if (!isJsonObject(last) || last["role"] !== "assistant") return;
  const { content } = last;
  const paused = Array.isArray(content) && content.some(isServerBlock);
  if (!paused) reading.need("prefill", `messages[${messages.length - 1}]`);
}

function isServerBlock(block: JsonValue): boolean {
  const facts = isJsonObject(block) ? blockFacts(textOf(block["type"])) : null;
  return facts !== null && facts.contexts.length === 0;
}

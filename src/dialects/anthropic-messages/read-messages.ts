import type {
  CacheMark,
  DataSource,
  FilePart,
  ImagePart,
  InputPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { textToBase64 } from "../../canon/json/text-base64.ts";
import { isSummary, readSigned, redactedSignature } from "./reasoning.ts";
import {
  BLOCKS,
  SERVER_TOOLS,
  VERSIONS,
  blocksOf,
  removedInVersion,
  type BlockContext,
} from "./request-facts.ts";
import { flagOrNull, listOf, memberIn, ownValue, textOf, textOrNull } from "../json.ts";
import type { RequestReading } from "../request-reading.ts";
import { textPart } from "../request-draft.ts";

const MESSAGE_MEMBERS = ["role", "content"];

/** The system text and the messages, in their order. Tool results become turns of their own. */
export function readConversation(body: JsonObject, reading: RequestReading): readonly Turn[] {
  const { system, messages } = body;
  const turns: Turn[] = [];
  const instructions = readTexts(system, "system", reading);
  if (instructions.length > 0)
    turns.push({ role: "system", authority: "system", content: instructions });
  if (!Array.isArray(messages)) return turns;
  let begun = false;
  // An iterator of entries would cost more than the rest of the work for a plain message.
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (!isJsonObject(message)) continue;
    const path = `messages[${index}]`;
    readMessage(message, path, turns, reading);
    if (message.role !== "system") begun = true;
    else if (begun) reading.use("mid_conversation_system", path);
  }
  const member = conversationMember(body, messages);
  if (member !== null) reading.use("conversation", member);
  noteLast(messages, reading);
  // System text alone is not a conversation, but some protocols would answer it.
  if (reading.forTranslation && turns.every(({ role }) => role === "system"))
    reading.refuseMember("missing_field", "messages", "must hold something to answer");
  return turns;
}

function readMessage(message: JsonObject, path: string, turns: Turn[], reading: RequestReading) {
  const { role, content } = message;
  reading.useUnknown(message, MESSAGE_MEMBERS, path, role ?? null);
  if (role === "user" && typeof content === "string") {
    turns.push({ role, name: null, content: [textPart(content)] });
  } else if (role === "user") {
    readUser(content, `${path}.content`, turns, reading);
  } else if (role === "assistant") {
    const answer =
      typeof content === "string"
        ? [textPart(content)]
        : readBlocks(content, role, `${path}.content`, reading).filter(isAssistantPart);
    turns.push({ role, name: null, content: answer });
  } else if (role === "system") {
    turns.push({
      role,
      authority: role,
      content: readTexts(content, `${path}.content`, reading),
    });
  } else {
    reading.useNative(`${path}.role`);
  }
}

/** A text or a list of text blocks; an empty text has none. */
function readTexts(value: JsonMember, path: string, reading: RequestReading): readonly TextPart[] {
  if (typeof value === "string") return value === "" ? [] : [textPart(value)];
  return readBlocks(value, "system", path, reading).filter((block) => block.kind === "text");
}

function readUser(content: JsonMember, path: string, turns: Turn[], reading: RequestReading) {
  const blocks = readBlocks(content, "user", path, reading);
  if (blocks.length === 0) reading.dropped.add("empty_text_dropped");
  let parts: InputPart[] = [];
  let results: ToolResult[] = [];
  for (const block of blocks) {
    // Adjacent blocks of one kind are one turn; the other kind begins a new one.
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

/** The first member that makes the request more than one text; `null` if it is one text. */
function conversationMember(body: JsonObject, messages: readonly JsonValue[]): string | null {
  const { system, tools } = body;
  if (listOf(tools).length > 0) return "tools";
  if (Array.isArray(system) ? system.length > 0 : typeof system === "string" && system !== "")
    return "system";
  const [first, second] = messages;
  if (second !== undefined) return "messages[1]";
  return isJsonObject(first) && first.role === "user" && isSingleText(first.content)
    ? null
    : "messages[0]";
}

function isSingleText(content: JsonMember): boolean {
  if (typeof content === "string") return true;
  if (!Array.isArray(content) || content.length !== 1) return false;
  const [block] = content;
  return isJsonObject(block) && block.type === "text";
}

/**
 * An assistant message at the end is the beginning of the answer, which the model continues. One
 * with a server's tool calls is a paused answer, which any model can continue.
 */
function noteLast(messages: readonly JsonValue[], reading: RequestReading) {
  const last = messages.at(-1);
  if (!isJsonObject(last) || last.role !== "assistant") return;
  if (!listOf(last.content).some(isServerBlock))
    reading.need("prefill", `messages[${messages.length - 1}]`);
}

function isServerBlock(block: JsonValue) {
  return ownValue(BLOCKS, textOf(memberIn(block, "type")))?.contexts.length === 0;
}

/** A block that canon can hold in its position. */
type Block =
  | TextPart
  | ImagePart
  | FilePart
  | ReasoningPart
  | ToolCallPart
  | { readonly kind: "tool_result"; readonly result: ToolResult };

const isInput = (block: Block) =>
  block.kind === "text" || block.kind === "image" || block.kind === "file";
const isAssistantPart = (block: Block) =>
  block.kind === "text" || block.kind === "reasoning" || block.kind === "tool_call";

/** The blocks of a list that canon can hold; a list may be absent. */
function readBlocks(
  blocks: JsonMember,
  context: BlockContext,
  path: string,
  reading: RequestReading,
): readonly Block[] {
  const read: Block[] = [];
  if (!Array.isArray(blocks)) return read;
  for (let index = 0; index < blocks.length; index += 1) {
    const value = blocks[index];
    const block = isJsonObject(value)
      ? readBlock(value, context, `${path}[${index}]`, reading)
      : null;
    if (block !== null) read.push(block);
  }
  return read;
}

function readBlock(
  block: JsonObject,
  context: BlockContext,
  path: string,
  reading: RequestReading,
): Block | null {
  const type = textOf(block.type);
  const facts = ownValue(BLOCKS, type);
  if (facts === undefined) {
    // It cannot be approved: only a route that forwards unknown members accepts it.
    reading.useNative(path);
    const rule = `must be one of ${blocksOf(context)}`;
    reading.noteUnknownKind("unknown_content_part", `${path}.type`, rule);
    return null;
  }
  if (facts.needs !== null) reading.need(facts.needs, path);
  if (!facts.contexts.includes(context)) {
    // Calls of server tools are distinguished by name; their results by type.
    const needs = ownValue(SERVER_TOOLS, textOf(block.name));
    if (type === "server_tool_use" && needs !== undefined) reading.need(needs, path);
    reading.useNative(path);
    if (type === "document" && context === "assistant" && reading.version === VERSIONS[1]) {
      reading.refuseRequest(
        removedInVersion(path, "must not be a document in an assistant message"),
      );
    }
    return null;
  }
  reading.useUnknown(block, facts.members, path, context);
  if (!isPlainMark(block.cache_control)) reading.useNative(`${path}.cache_control`);
  return readKind(type, block, context, path, reading);
}

function readKind(
  type: string,
  block: JsonObject,
  context: BlockContext,
  path: string,
  reading: RequestReading,
): Block {
  switch (type) {
    case "image":
    case "document": {
      if (context === "tool_result") reading.use("tool_result_files", path);
      if (memberIn(block.citations, "enabled") === true) reading.useNative(`${path}.citations`);
      const source = readSource(block, path, reading);
      const cache = cacheMark(block);
      return type === "image"
        ? { kind: "image", source, detail: null, cache }
        : { kind: "file", source, name: textOrNull(block.title), cache };
    }
    case "thinking":
    case "redacted_thinking":
      return readThinking(type, block, path, reading);
    case "tool_use": {
      const { caller, input } = block;
      const [id, name] = [textOf(block.id), textOf(block.name)];
      if (isJsonObject(caller) && (caller.type !== "direct" || Object.keys(caller).length > 1))
        reading.useNative(`${path}.caller`);
      reading.noteCall(id);
      // Printed only for a translation.
      const args = reading.forTranslation ? JSON.stringify(isJsonObject(input) ? input : {}) : "{}";
      return { kind: "tool_call", id, name, arguments: args, cache: cacheMark(block) };
    }
    case "tool_result":
      return { kind: "tool_result", result: readResult(block, path, reading) };
    default:
      return readText(block, context, path, reading);
  }
}

function readText(
  block: JsonObject,
  context: BlockContext,
  path: string,
  reading: RequestReading,
): TextPart {
  const { citations, text } = block;
  if (listOf(citations).length > 0) {
    reading.dropped.add("citations_dropped");
    if (context === "user" && reading.version === VERSIONS[1]) {
      reading.refuseRequest(
        removedInVersion(`${path}.citations`, "must be empty on a user's text"),
      );
    }
  }
  return { kind: "text", text: textOf(text), cache: cacheMark(block) };
}

function readThinking(
  type: string,
  block: JsonObject,
  path: string,
  reading: RequestReading,
): ReasoningPart {
  const isShown = type === "thinking";
  const member = block[isShown ? "signature" : "data"];
  const signed = readSigned(member);
  if (signed !== null) reading.signed(signed.family, path);
  const signature = signed?.signature ?? null;
  return {
    kind: "reasoning",
    text: isShown ? textOf(block.thinking) : "",
    summary: isShown && isSummary(member),
    signature: isShown || signature === null ? signature : redactedSignature(signature),
    family: signed?.family ?? null,
  };
}

function readResult(block: JsonObject, path: string, reading: RequestReading): ToolResult {
  const { content, tool_use_id: callId, is_error: isError } = block;
  reading.noteResult(textOf(callId), `${path}.tool_use_id`);
  return {
    callId: textOf(callId),
    content:
      typeof content === "string"
        ? [textPart(content)]
        : readBlocks(content, "tool_result", `${path}.content`, reading).filter(isInput),
    isError: flagOrNull(isError),
    cache: cacheMark(block),
  };
}

/**
 * Where the bytes of an image or document come from. A file kept at the provider is refused by kind
 * (`MESSAGES_KINDS`).
 */
function readSource(block: JsonObject, path: string, reading: RequestReading): DataSource {
  const kind = block.type === "image" ? "image" : "document";
  const source: JsonObject = isJsonObject(block.source) ? block.source : {};
  const { type, url, media_type: mediaType, data } = source;
  if (type === "url") reading.use(kind === "image" ? "image_url" : "file_url", `${path}.source`);
  if (isJsonObject(block.source) && !isPlainSource(source, kind))
    reading.useNative(`${path}.source`);
  if (typeof url === "string") return { kind: "url", url };
  const bytes = textOf(data);
  return {
    kind: "base64",
    mediaType: textOf(mediaType) || (kind === "image" ? "" : "text/plain"),
    data: type === "text" && reading.forTranslation ? textToBase64(bytes) : bytes,
  };
}

/** Whether canon can hold the source. */
function isPlainSource(source: JsonObject, kind: "image" | "document"): boolean {
  const { type } = source;
  const members = type === "url" ? URL_MEMBERS : VALUE_MEMBERS;
  for (const name in source) if (!members.includes(name) && source[name] !== null) return false;
  if (type === "url") return true;
  if (kind === "image") return type === "base64";
  return type === "base64"
    ? source.media_type === "application/pdf"
    : type === "text" && (source.media_type ?? "text/plain") === "text/plain";
}

const URL_MEMBERS = ["type", "url"];
const VALUE_MEMBERS = ["type", "media_type", "data"];

/** The mark of a block, a result or a tool. */
export function cacheMark({ cache_control: mark }: JsonObject): CacheMark | null {
  if (!isJsonObject(mark)) return null;
  const { ttl } = mark;
  return { ttl: ttl === "5m" || ttl === "1h" ? ttl : null };
}

/** Whether canon has the cache mark. */
export function isPlainMark(mark: JsonMember): boolean {
  if (!isJsonObject(mark)) return true;
  for (const name in mark) {
    const value = mark[name];
    if (name === "type" && value === "ephemeral") continue;
    if (name === "ttl" && (value == null || value === "5m" || value === "1h")) continue;
    return false;
  }
  return true;
}

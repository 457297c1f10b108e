import type { ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { RequestReading } from "../../request-reading.ts";
import { typeOf } from "../type-of.ts";
import { blockFacts } from "./block-facts.ts";
import { readBlocks } from "./read-blocks.ts";
import type { Version } from "./version.ts";

const MESSAGE_MEMBERS: ReadonlySet<string> = new Set(["role", "content"]);

/** What the conversation asks for: the system text, the messages, their blocks, their order. */
export function readConversation(body: JsonObject, asked: RequestReading, version: Version): ServiceError | null {
  const { system, messages } = body;
  if (Array.isArray(system)) {
    const problem = readBlocks(system, "system", "system", asked, version);
    if (problem !== null) return problem;
  }
  if (!Array.isArray(messages)) return null;
  let begun = false;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (!isJsonObject(message)) continue;
    const path = `messages[${index}]`;
    const problem = readMessage(message, path, asked, version);
    if (problem !== null) return problem;
    if (message["role"] !== "system") begun = true;
    else if (begun) asked.use("mid_conversation_system", path);
  }
  const context = conversationMember(body, messages);
  if (context !== null) asked.use("conversation", context);
  readLast(messages, asked);
  return null;
}

function readMessage(message: JsonObject, path: string, asked: RequestReading, version: Version): ServiceError | null {
  asked.useUnknown(message, MESSAGE_MEMBERS, path, "native_messages");
  const { role, content } = message;
  if (!Array.isArray(content)) return null;
  const context = role === "assistant" || role === "system" ? role : "user";
  return readBlocks(content, context, `${path}.content`, asked, version);
}

/** The first member that makes the request more than one text; `null` where it is one. */
function conversationMember(body: JsonObject, messages: readonly JsonValue[]): string | null {
  const { system, tools } = body;
  if (Array.isArray(tools) && tools.length > 0) return "tools";
  if (Array.isArray(system) ? system.length > 0 : typeof system === "string" && system !== "") return "system";
  const [first, second] = messages;
  if (second !== undefined) return "messages[1]";
  return isJsonObject(first) && first["role"] === "user" && isText(first["content"]) ? null : "messages[0]";
}

function isText(content: JsonValue | undefined): boolean {
  if (typeof content === "string") return true;
  if (!Array.isArray(content) || content.length !== 1) return false;
  const [block] = content;
  return isJsonObject(block) && block["type"] === "text";
}

/**
 * An assistant message at the end is the beginning of the answer, for the model to go on from. One that holds a server's tool calls
 * is an answer that was paused; its sender wants the same again, and any model may be asked for that.
 */
function readLast(messages: readonly JsonValue[], asked: RequestReading): void {
  const last = messages.at(-1);
  if (!isJsonObject(last) || last["role"] !== "assistant") return;
  const { content } = last;
  const paused = Array.isArray(content) && content.some(isServerBlock);
  if (!paused) asked.need("prefill", `messages[${messages.length - 1}]`);
}

function isServerBlock(block: JsonValue): boolean {
  const facts = isJsonObject(block) ? blockFacts(typeOf(block)) : null;
  return facts !== null && facts.contexts.length === 0;
}

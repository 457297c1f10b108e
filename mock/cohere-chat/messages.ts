import { isJsonObject, type JsonObject } from "../json.ts";
import { listAt, textAt } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";

/** What the answer depends on; the texts themselves are not kept. */
export interface Conversation {
  readonly messages: number;
  /** Estimated: four characters a token, and four tokens a message. */
  readonly tokens: number;
  /** The conversation ends with the result of a tool. */
  readonly endsWithToolResult: boolean;
}

/** Kinds of parts of each role's content. */
const PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["system", ["text"]],
  ["user", ["text", "image_url"]],
  ["assistant", ["text", "thinking"]],
  ["tool", ["text", "document"]],
]);

/** Members of each role's messages. */
const MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["system", ["role", "content"]],
  ["user", ["role", "content"]],
  ["assistant", ["role", "content", "tool_plan", "tool_calls", "citations"]],
  ["tool", ["role", "content", "tool_call_id"]],
]);

/** Tokens counted for an image or a document. */
const TOKENS_PER_ATTACHMENT = 100;

/** Checks `messages` as Cohere does, including that every result of a tool answers a call. */
export function readMessages(value: unknown): Conversation | Problem {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [];
  if (messages.length === 0) return invalid("messages", "invalid request: list of messages must not be empty.");
  const calls = new Set<string>();
  let tokens = 0;
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const size = isJsonObject(message)
      ? readMessage(message, at, calls)
      : invalid(at, "invalid request: must be an object");
    if (typeof size !== "number") return size;
    tokens += size;
  }
  const last = messages.at(-1);
  const role = isJsonObject(last) ? last["role"] : null;
  if (role === "assistant" || role === "system")
    return invalid("messages", "invalid request: the last message must be of the role user or tool.");
  return { messages: messages.length, tokens, endsWithToolResult: role === "tool" };
}

/** @returns the message's tokens. */
function readMessage(message: JsonObject, at: string, calls: Set<string>): number | Problem {
  const role = textAt(message, "role");
  const members = MEMBERS.get(role);
  if (members === undefined)
    return invalid(`${at}.role`, `invalid request: must be one of ${[...MEMBERS.keys()].join(", ")}`);
  const unknown = Object.keys(message).find((name) => !members.includes(name));
  if (unknown !== undefined) return invalid(at, "invalid request: unknown field");
  if (role === "tool" && !calls.has(textAt(message, "tool_call_id")))
    return invalid(`${at}.tool_call_id`, "invalid request: tool call id not found in previous tool calls.");
  const called = readCalls(message, at, calls);
  if (typeof called !== "number") return called;
  const plan = textAt(message, "tool_plan");
  const said = readContent(message["content"], role, at);
  if (typeof said !== "number") return said;
  if (said === 0 && plan === "" && called === 0 && role !== "tool")
    return invalid(at, "invalid request: message must not be empty in a turn.");
  return Math.ceil((said + plan.length + called) / 4) + 4;
}

/** @returns the size of the content, in characters. */
function readContent(content: unknown, role: string, at: string): number | Problem {
  if (typeof content === "string") return content.length;
  if (content === undefined || content === null) {
    return role === "assistant" ? 0 : invalid(`${at}.content`, "invalid request: the member is required");
  }
  const parts: readonly unknown[] = Array.isArray(content) ? content : [null];
  let size = 0;
  for (const [index, part] of parts.entries()) {
    const type = isJsonObject(part) ? textAt(part, "type") : "";
    if (!isJsonObject(part) || PARTS.get(role)?.includes(type) !== true) {
      return invalid(`${at}.content[${index}]`, `invalid request: parts of ${role} messages must be of a known type`);
    }
    const payload = part[type];
    if (type === "text" || type === "thinking") {
      if (typeof payload !== "string")
        return invalid(`${at}.content[${index}].${type}`, "invalid request: must be a text");
      size += payload.length;
    } else {
      if (!isJsonObject(payload) || (type === "image_url" && !isAddress(payload["url"])))
        return invalid(`${at}.content[${index}].${type}`, "invalid request: must be an object, an image's with a url");
      size += TOKENS_PER_ATTACHMENT * 4;
    }
  }
  return size;
}

/** Where an image is, or its bytes. */
function isAddress(url: unknown): boolean {
  return typeof url === "string" && /^(https?:\/\/|data:image\/[\w.+-]+;base64,)/.test(url);
}

/** @returns the size of the calls, in characters. */
function readCalls(message: JsonObject, at: string, ids: Set<string>): number | Problem {
  let size = 0;
  for (const [index, call] of listAt(message, "tool_calls").entries()) {
    const place = `${at}.tool_calls[${index}]`;
    const called = isJsonObject(call) ? call["function"] : null;
    if (!isJsonObject(call) || !isJsonObject(called) || textAt(call, "id") === "" || textAt(called, "name") === "")
      return invalid(place, "invalid request: must have an id, and a function with a name");
    if (typeof called["arguments"] !== "string")
      return invalid(`${place}.function.arguments`, "invalid request: must be a text");
    ids.add(textAt(call, "id"));
    size += called["arguments"].length;
  }
  return size;
}

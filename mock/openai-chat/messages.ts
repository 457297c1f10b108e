import { isJsonObject, type JsonObject } from "../json.ts";
import { invalid, type Problem } from "../problem.ts";

/** What the answer depends on; the texts themselves are not kept. */
export interface Conversation {
  readonly messages: number;
  /** Estimated: four characters a token, and four tokens a message. */
  readonly tokens: number;
  /** The conversation ends with the result of a tool. */
  readonly endsWithToolResult: boolean;
}

/** Part types of each role's content. */
const PARTS: ReadonlyMap<unknown, ReadonlySet<unknown>> = new Map([
  ["developer", new Set(["text"])],
  ["system", new Set(["text"])],
  ["user", new Set(["text", "image_url", "input_audio", "file"])],
  ["assistant", new Set(["text", "refusal"])],
  ["tool", new Set(["text"])],
]);

/** Tokens counted for an image, a sound or a file. */
const TOKENS_PER_ATTACHMENT = 100;

/** Checks `messages` as OpenAI does, including that every tool result answers a call and every call is answered. */
export function readMessages(value: unknown): Conversation | Problem {
  if (!Array.isArray(value) || value.length === 0)
    return invalid("messages", "'messages' must be a list with at least one message.");
  const messages: readonly unknown[] = value;
  let characters = 0;
  let attachments = 0;
  let open = new Set<unknown>();
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (!isJsonObject(message)) return invalid(at, `'${at}' must be an object.`);
    if (!PARTS.has(message["role"]))
      return invalid(`${at}.role`, `'${at}.role' must be one of ${[...PARTS.keys()].join(", ")}.`);
    const size = sizeOf(message, at);
    if ("status" in size) return size;
    characters += size.characters;
    attachments += size.attachments;
    if (message["role"] === "tool") {
      if (!open.delete(message["tool_call_id"])) {
        return invalid(
          `${at}.tool_call_id`,
          `'${at}' with role 'tool' must answer a call in 'tool_calls' of the assistant message before it, and each call once.`,
        );
      }
      continue;
    }
    if (open.size > 0)
      return invalid(at, `'${at}' must be a tool message: a call in the 'tool_calls' before it has no answer yet.`);
    const calls = readCalls(message, at);
    if ("status" in calls) return calls;
    open = calls.ids;
  }
  if (open.size > 0)
    return invalid(
      "messages",
      "The last assistant message has 'tool_calls' without an answer; add a tool message for each.",
    );
  const last = messages.at(-1);
  return {
    messages: messages.length,
    tokens: Math.ceil(characters / 4) + messages.length * 4 + attachments * TOKENS_PER_ATTACHMENT,
    endsWithToolResult: isJsonObject(last) && last["role"] === "tool",
  };
}

interface Size {
  readonly characters: number;
  readonly attachments: number;
}

function sizeOf(message: JsonObject, at: string): Size | Problem {
  const { role, content } = message;
  if (typeof content === "string") return { characters: content.length, attachments: 0 };
  if (content === null || content === undefined) {
    const mayBeEmpty =
      role === "assistant" &&
      (Array.isArray(message["tool_calls"]) ||
        typeof message["refusal"] === "string" ||
        isJsonObject(message["audio"]));
    return mayBeEmpty
      ? { characters: 0, attachments: 0 }
      : invalid(`${at}.content`, `'${at}.content' must be a string or a list of parts.`);
  }
  if (!Array.isArray(content)) return invalid(`${at}.content`, `'${at}.content' must be a string or a list of parts.`);
  const parts: readonly unknown[] = content;
  let characters = 0;
  let attachments = 0;
  for (const [index, part] of parts.entries()) {
    const place = `${at}.content[${index}]`;
    if (!isJsonObject(part) || PARTS.get(role)?.has(part["type"]) !== true) {
      return invalid(`${place}.type`, `'${place}.type' must be one of ${[...(PARTS.get(role) ?? [])].join(", ")}.`);
    }
    const { type } = part;
    if (typeof type !== "string") return invalid(`${place}.type`, `'${place}.type' must be a string.`);
    const payload = part[type];
    if (type === "text" || type === "refusal") {
      if (typeof payload !== "string") return invalid(`${place}.${type}`, `'${place}.${type}' must be a string.`);
      characters += payload.length;
    } else {
      if (!isJsonObject(payload)) return invalid(`${place}.${type}`, `'${place}.${type}' must be an object.`);
      attachments += 1;
    }
  }
  return { characters, attachments };
}

function readCalls(message: JsonObject, at: string): { readonly ids: Set<unknown> } | Problem {
  const ids = new Set<unknown>();
  const calls = message["tool_calls"];
  if (calls === undefined || calls === null) return { ids };
  if (message["role"] !== "assistant" || !Array.isArray(calls) || calls.length === 0) {
    return invalid(
      `${at}.tool_calls`,
      `'${at}.tool_calls' must be a list with at least one call, in a message with role 'assistant'.`,
    );
  }
  const list: readonly unknown[] = calls;
  for (const [index, call] of list.entries()) {
    const place = `${at}.tool_calls[${index}]`;
    if (!isJsonObject(call) || typeof call["id"] !== "string")
      return invalid(`${place}.id`, `'${place}.id' must be a string.`);
    const body = call[call["type"] === "custom" ? "custom" : "function"];
    const text = isJsonObject(body) ? body[call["type"] === "custom" ? "input" : "arguments"] : undefined;
    if (!isJsonObject(body) || typeof body["name"] !== "string" || typeof text !== "string") {
      return invalid(
        place,
        `'${place}' must have the type 'function' with 'function.name' and 'function.arguments' as strings, or 'custom' with 'custom.name' and 'custom.input'.`,
      );
    }
    ids.add(call["id"]);
  }
  return { ids };
}

import { type EditSet, editSet, NO_EDITS } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import type { Relay } from "../dialect.ts";
import { editedBody } from "../relay.ts";
import { type EditableBody, MEMBER_REWRITTEN, requestUsage, takeOut } from "./body-members.ts";
import { applyFlags } from "./message-deviations.ts";
import { CHAT_FIELDS } from "./fields.ts";
import { untagMessage } from "./reasoning.ts";

const STORE_FALSE_SENT = editSet("store_false_sent");
const OUTPUT_LIMIT_SET = editSet("output_limit_set");
const SIGNATURES_RESTORED = editSet("signatures_restored");

/**
 * The caller's body as the provider gets it: another model name, `store: false`, usage requested on
 * streams, our own and the identity members taken out, and what policies oblige us to. Everything
 * else travels as it came, members of nested objects included.
 */
export const editChatRequest: Relay["edit"] = (request, endpoint, provider, mode, edits) => {
  const edited = editedBody(CHAT_FIELDS, request, endpoint, mode, edits);
  const { body, stripped } = edited;
  let made = edited.edits;
  if (mode === "forward" && request.dropped?.includes("effort_member_renamed") === true) {
    // A route that forwards vendors' members sends the effort where the caller wrote it.
    body["reasoning"] = { effort: body["reasoning_effort"] };
    delete body["reasoning_effort"];
  }
  if (request.shape.signatureFamilies.length > 0) {
    body["messages"] = untagged(request.body["messages"]);
    made |= SIGNATURES_RESTORED;
  }
  if (edits.maxOutputTokens !== null && capOutput(body, edits.maxOutputTokens))
    made |= OUTPUT_LIMIT_SET;
  // Providers that keep conversations do so by default (docs/protocols.md#stored-state).
  if (provider.flags.includes("no_store_field")) takeOut(body, "store", stripped);
  else {
    if (body["store"] !== false) made |= STORE_FALSE_SENT;
    body["store"] = false;
  }
  made |= requestUsage(body, request, provider.flags, stripped);
  made |= fitRelayed(body, stripped);
  const changes = applyFlags(body, provider.flags);
  return {
    body,
    stripped: [...stripped, ...changes.stripped],
    edits: made | changes.edits,
    headers: [],
    dropped: [...changes.dropped].toSorted(),
  };
};

/**
 * Fits what every provider of the protocol refuses and what means the same in another form: two
 * output limits, an empty list of tools, an empty list of parts. The rest goes on as the caller
 * wrote it.
 */
function fitRelayed(body: EditableBody, stripped: string[]): EditSet {
  let made = NO_EDITS;
  const { max_tokens: old, max_completion_tokens: limit, tools, messages } = body;
  if (typeof old === "number" && typeof limit === "number") {
    // A caller that sets both means the lower one.
    body["max_completion_tokens"] = Math.min(old, limit);
    delete body["max_tokens"];
    made |= MEMBER_REWRITTEN;
  }
  if (Array.isArray(tools) && tools.length === 0) {
    takeOut(body, "tools", stripped);
    // Only allowed where tools are (platform.openai.com/docs/api-reference/chat/create).
    if (body["tool_choice"] === "auto" || body["tool_choice"] === "none")
      takeOut(body, "tool_choice", stripped);
    takeOut(body, "parallel_tool_calls", stripped);
  }
  if (Array.isArray(messages) && messages.some(isWithoutParts)) {
    body["messages"] = messages.map((message: JsonValue) =>
      isJsonObject(message) && isWithoutParts(message) ? { ...message, content: "" } : message,
    );
    made |= MEMBER_REWRITTEN;
  }
  return made;
}

function isWithoutParts(message: JsonValue): boolean {
  if (!isJsonObject(message) || message["role"] === "assistant") return false;
  return Array.isArray(message["content"]) && message["content"].length === 0;
}

/**
 * Messages with signatures as their provider knows them; the decision has made sure that it is the
 * one that gets them.
 */
function untagged(messages: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(messages)) return messages;
  return messages.map((message: JsonValue) =>
    isJsonObject(message) ? untagMessage(message) : message,
  );
}

/**
 * The member that is used now, and the one that it replaced. Providers refuse a request that sets
 * both.
 */
const LIMIT_FIELDS = ["max_completion_tokens", "max_tokens"] as const;

/**
 * Lowers the limit in whichever member the caller set it; where there is none, it is set in the one
 * that the caller names. Says whether it changed.
 */
function capOutput(body: Record<string, JsonValue | undefined>, limit: number): boolean {
  let limited = false;
  let changed = false;
  for (const name of LIMIT_FIELDS) {
    const requested = body[name];
    if (typeof requested !== "number") continue;
    body[name] = Math.min(requested, limit);
    limited = true;
    changed ||= requested > limit;
  }
  if (limited) return changed;
  body[Object.hasOwn(body, "max_tokens") ? "max_tokens" : "max_completion_tokens"] = limit;
  return true;
}

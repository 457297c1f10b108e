import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { Changes, EditableBody } from "./changes.ts";

/** The only ids of calls that Mistral's servers accept (docs/protocols.md#openai-compatible-providers). */
const SHORT = /^[a-zA-Z0-9]{9}$/;

/** Characters after the prefix `call`. */
const NUMBER_LENGTH = 5;

/**
 * Gives every call of the history an id of nine letters and digits. Ids that are such stay. The others get a number in the order in which
 * they first appear, the same wherever the id stands: histories grow at their end, so that the next request of the conversation has the same
 * ids again and prompt caches go on working.
 */
export function shortenCallIds(body: EditableBody, changes: Changes): void {
  const { messages } = body;
  if (!Array.isArray(messages)) return;
  const kept = new Set(messages.flatMap(idsOf).filter((id) => SHORT.test(id)));
  const made = new Map<string, string>();
  let number = 0;
  const shorten = (id: string): string => {
    if (SHORT.test(id)) return id;
    let short = made.get(id);
    while (short === undefined) {
      number += 1;
      const candidate = `call${number.toString(36).padStart(NUMBER_LENGTH, "0")}`;
      if (!kept.has(candidate)) made.set(id, (short = candidate));
    }
    return short;
  };
  const renamed = messages.map((message) => withIds(message, shorten));
  if (made.size === 0) return;
  body["messages"] = renamed;
  changes.dropped.add("call_ids_rewritten");
}

function idsOf(message: JsonValue): readonly string[] {
  if (!isJsonObject(message)) return [];
  const { tool_calls: calls, tool_call_id: answered } = message;
  const ids = Array.isArray(calls) ? calls.map((call: JsonValue) => (isJsonObject(call) ? call["id"] : null)) : [];
  return [...ids, answered].filter((id) => typeof id === "string");
}

function withIds(message: JsonValue, shorten: (id: string) => string): JsonValue {
  if (!isJsonObject(message)) return message;
  const { tool_calls: calls, tool_call_id: answered } = message;
  const copy: Record<string, JsonValue | undefined> = { ...message };
  if (Array.isArray(calls)) copy["tool_calls"] = calls.map((call: JsonValue) => withId(call, shorten));
  if (typeof answered === "string") copy["tool_call_id"] = shorten(answered);
  return copy;
}

function withId(call: JsonValue, shorten: (id: string) => string): JsonValue {
  if (!isJsonObject(call) || typeof call["id"] !== "string") return call;
  const named: JsonObject = { ...call, id: shorten(call["id"]) };
  return named;
}

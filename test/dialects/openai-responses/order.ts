import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";

/** Parts of an item that are open: where they stand → what has been said. */
interface OpenItem {
  readonly id: unknown;
  readonly type: unknown;
  readonly parts: Map<string, string>;
  arguments: string;
}

const DELTAS: Readonly<Record<string, string>> = {
  "response.output_text.delta": "output_text",
  "response.refusal.delta": "refusal",
  "response.reasoning_text.delta": "reasoning_text",
  "response.reasoning_summary_text.delta": "summary_text",
};
const DONES: Readonly<Record<string, string>> = {
  "response.output_text.done": "text",
  "response.refusal.done": "refusal",
  "response.reasoning_text.done": "text",
  "response.reasoning_summary_text.done": "text",
};
const TERMINALS = new Set(["response.completed", "response.incomplete", "response.failed"]);

/**
 * Checks the order that the protocol's clients require
 * (docs/protocols.md#order-of-responses-events) and returns the first violation, or `null`. It
 * shares no code with the renderer that it checks.
 */
export function breachOfOrder(events: readonly JsonObject[]): string | null {
  const open = new Map<unknown, OpenItem>();
  const done: unknown[] = [];
  let responseId: unknown;
  let ended = false;
  for (const [position, event] of events.entries()) {
    const type = shown(event.type);
    if (ended) return `${type} after the end`;
    if (event.sequence_number !== position)
      return `sequence number ${shown(event.sequence_number)} at ${position}`;
    if (position === 0 && type !== "response.created") return `${type} first`;
    const { response, item, output_index: index } = event;
    if (isJsonObject(response)) {
      responseId ??= response.id;
      if (response.id !== responseId) return "the response's id changed";
      ended = TERMINALS.has(type);
      if (ended && type !== "response.failed" && open.size > 0) return "items left open";
      if (
        ended &&
        JSON.stringify(response.output) !== JSON.stringify(done) &&
        type !== "response.failed"
      ) {
        return "the output is not what was said";
      }
      continue;
    }
    if (type === "response.output_item.added" && isJsonObject(item)) {
      if (index !== done.length || open.size > 0) return "an item out of turn";
      open.set(index, { id: item.id, type: item.type, parts: new Map(), arguments: "" });
      continue;
    }
    const owner = open.get(index);
    if (owner === undefined) return `${type} of an item that is not open`;
    if (type === "response.output_item.done" && isJsonObject(item)) {
      if (item.id !== owner.id || item.type !== owner.type) return "the item's identity changed";
      if (owner.parts.size > 0) return "an item was done before its parts";
      open.delete(index);
      done.push(item);
      continue;
    }
    if (event.item_id !== owner.id) return `${type} names another item`;
    const breach = breachInItem(type, event, owner);
    if (breach !== null) return breach;
  }
  return ended ? null : "no end";
}

function breachInItem(type: string, event: JsonObject, owner: OpenItem): string | null {
  const { part } = event;
  const key = `${shown(event.content_index)} ${shown(event.summary_index)}`;
  if (type === "response.content_part.added" || type === "response.reasoning_summary_part.added") {
    if (owner.parts.size > 0) return "a part within a part";
    owner.parts.set(key, "");
    return null;
  }
  if (type === "response.content_part.done" || type === "response.reasoning_summary_part.done") {
    const said = owner.parts.get(key);
    const whole = isJsonObject(part) ? (part.text ?? part.refusal) : undefined;
    return owner.parts.delete(key) && said === whole
      ? null
      : "a part that was not what its deltas said";
  }
  if (type === "response.function_call_arguments.delta") {
    owner.arguments += shown(event.delta);
    return owner.type === "function_call" ? null : "arguments of what is no call";
  }
  if (type === "response.function_call_arguments.done") {
    return event.arguments === owner.arguments
      ? null
      : "arguments that were not what their deltas said";
  }
  if (type === "response.output_text.annotation.added")
    return owner.parts.has(key) ? null : "an annotation of no part";
  if (Object.hasOwn(DELTAS, type)) {
    const said = owner.parts.get(key);
    if (said === undefined) return `${type} of a part that is not open`;
    owner.parts.set(key, said + shown(event.delta));
    return null;
  }
  const member = DONES[type];
  if (member === undefined) return `unknown event ${type}`;
  return owner.parts.get(key) === event[member]
    ? null
    : `${type} that was not what its deltas said`;
}

function shown(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

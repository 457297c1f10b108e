import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { AnswerContext } from "../dialect.ts";
import { requestEcho, RESOURCE_MEMBERS } from "./resource.ts";

/**
 * Whether a provider's resource has every member that clients of Open Responses demand, in itself
 * and in its text parts.
 */
export function isFullResource(response: JsonObject): boolean {
  return (
    RESOURCE_MEMBERS.every((name) => Object.hasOwn(response, name)) &&
    isFullOutput(response["output"])
  );
}

/**
 * The provider's resource with the members that it left out; those that it has stay as they are,
 * and in their order.
 */
export function fillResource(response: JsonObject, context: AnswerContext): JsonObject {
  const now = context.now();
  const defaults: JsonObject = {
    ...requestEcho(context.request.body),
    id: `resp_${context.answerId}`,
    object: "response",
    created_at: now,
    completed_at: response["status"] === "completed" ? now : null,
    incomplete_details: null,
    model: context.model,
    output: [],
    error: null,
    usage: null,
  };
  const filled: Record<string, JsonObject[string]> = { ...response };
  for (const name of RESOURCE_MEMBERS)
    if (!Object.hasOwn(response, name)) filled[name] = defaults[name] ?? null;
  const { output } = filled;
  if (Array.isArray(output)) filled["output"] = output.map(fillItem);
  filled["request_id"] = context.requestId;
  return filled;
}

/**
 * Lists that clients of Open Responses demand of a text part; providers that have nothing to say
 * there leave them out, or say `null`.
 */
const PART_LISTS = ["annotations", "logprobs"] as const;

/** Events that carry a text's probabilities, a part, or an item. */
const TEXT_EVENTS: ReadonlySet<string> = new Set([
  "response.output_text.delta",
  "response.output_text.done",
]);
const PART_EVENTS: ReadonlySet<string> = new Set([
  "response.content_part.added",
  "response.content_part.done",
]);
const ITEM_EVENTS: ReadonlySet<string> = new Set([
  "response.output_item.added",
  "response.output_item.done",
]);

/** Whether an event of the answer has every list that the surface promises. */
export function isFullEvent(type: string, event: JsonObject): boolean {
  if (TEXT_EVENTS.has(type)) return !lacks(event, "logprobs");
  if (PART_EVENTS.has(type)) return isFullPart(event["part"]);
  return !ITEM_EVENTS.has(type) || isFullItem(event["item"]);
}

/** The event with the lists that its provider left out. */
export function fillEvent(type: string, event: JsonObject): JsonObject {
  if (TEXT_EVENTS.has(type)) return lacks(event, "logprobs") ? { ...event, logprobs: [] } : event;
  const { part, item } = event;
  if (PART_EVENTS.has(type) && part !== undefined) return { ...event, part: fillPart(part) };
  return ITEM_EVENTS.has(type) && item !== undefined ? { ...event, item: fillItem(item) } : event;
}

/** Events about a part of an item's content. */
const PART = /^response\.(?:content_part|output_text|refusal|reasoning_text)\./;

/**
 * Positions of items and parts that a provider leaves out (llama.cpp's server,
 * https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md), by the order of the
 * events. Official clients find items by them.
 */
export class EventPositions {
  /** Item id → its position. */
  readonly #items = new Map<JsonValue | undefined, number>();
  #part = 0;

  /** What the event lacks; `null` where it lacks none. Each event once, in their order. */
  missing(type: string, event: JsonObject): JsonObject | null {
    const { item, item_id: id, output_index: index, content_index: content } = event;
    const isItem = isJsonObject(item);
    if (!isItem && id === undefined) return null;
    const name = isItem ? item["id"] : id;
    const known = this.#items.get(name) ?? Math.max(this.#items.size - 1, 0);
    const begins = type === "response.output_item.added";
    const position = typeof index === "number" ? index : begins ? this.#items.size : known;
    if (begins) {
      this.#items.set(name, position);
      this.#part = -1;
    } else if (type === "response.content_part.added") this.#part += 1;
    const lacksPart = PART.test(type) && typeof content !== "number";
    if (typeof index === "number" && !lacksPart) return null;
    return {
      output_index: position,
      ...(lacksPart ? { content_index: Math.max(this.#part, 0) } : {}),
    };
  }
}

/** Whether every item of an output has what the surface promises. */
function isFullOutput(output: JsonValue | undefined): boolean {
  return !Array.isArray(output) || output.every(isFullItem);
}

/** An item with the lists that its text parts lack; every other member stays as it is. */
export function fillItem(item: JsonValue): JsonValue {
  if (!isJsonObject(item) || !Array.isArray(item["content"])) return item;
  return { ...item, content: item["content"].map(fillPart) };
}

function isFullItem(item: JsonValue | undefined): boolean {
  return (
    !isJsonObject(item) || !Array.isArray(item["content"]) || item["content"].every(isFullPart)
  );
}

function isFullPart(part: JsonValue | undefined): boolean {
  return (
    !isJsonObject(part) ||
    part["type"] !== "output_text" ||
    !PART_LISTS.some((name) => lacks(part, name))
  );
}

function fillPart(part: JsonValue): JsonValue {
  if (!isJsonObject(part) || isFullPart(part)) return part;
  const missing = PART_LISTS.filter((name) => lacks(part, name));
  return { ...part, ...Object.fromEntries(missing.map((name) => [name, []])) };
}

function lacks(object: JsonObject, name: string): boolean {
  return object[name] === undefined || object[name] === null;
}

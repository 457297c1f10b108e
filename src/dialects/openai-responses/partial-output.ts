import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { Said } from "./ending.ts";

interface PartialItem {
  item: JsonObject;
  done: boolean;
  /** Content index → the part so far. */
  readonly parts: Map<number, PartialPart>;
  /** Summary index → its text so far. */
  readonly summaries: Map<number, string>;
  /** Arguments or input of a call so far. */
  call: string;
}

interface PartialPart {
  readonly type: "output_text" | "refusal" | "reasoning_text";
  text: string;
}

/** Events that add to a content part, and its kind. */
const PART_DELTAS: ReadonlyMap<string, PartialPart["type"]> = new Map<string, PartialPart["type"]>([
  ["response.output_text.delta", "output_text"],
  ["response.refusal.delta", "refusal"],
  ["response.reasoning_text.delta", "reasoning_text"],
  ["response.reasoning.delta", "reasoning_text"],
]);

/**
 * What a relayed stream has said so far, so that a stream that breaks can end with it
 * (`response.failed` keeps partial items).
 */
export class PartialOutput implements Said {
  readonly #items = new Map<number, PartialItem>();
  calls = false;
  refusal = false;

  /**
   * Takes one event of the stream. Events of items that were not added, and of unknown kinds,
   * change nothing.
   */
  take(type: string, event: JsonObject): void {
    const index = event["output_index"];
    if (typeof index !== "number") return;
    if (type === "response.output_item.added" || type === "response.output_item.done") {
      const { item } = event;
      if (isJsonObject(item)) this.#putAt(index, item, type === "response.output_item.done");
      return;
    }
    const partial = this.#items.get(index);
    const { delta } = event;
    if (partial === undefined || typeof delta !== "string") return;
    const kind = PART_DELTAS.get(type);
    if (kind !== undefined)
      return this.#extend(partial, kind, indexOf(event["content_index"]), delta);
    if (type === "response.reasoning_summary_text.delta") {
      const summary = indexOf(event["summary_index"]);
      partial.summaries.set(summary, (partial.summaries.get(summary) ?? "") + delta);
    } else if (
      type === "response.function_call_arguments.delta" ||
      type === "response.custom_tool_call_input.delta"
    ) {
      partial.call += delta;
    }
  }

  /** The items in their order; those that were not done are marked as incomplete. */
  items(): readonly JsonObject[] {
    const entries = [...this.#items].toSorted(([left], [right]) => left - right);
    return entries.map(([, partial]) => (partial.done ? partial.item : cut(partial)));
  }

  #putAt(index: number, item: JsonObject, done: boolean): void {
    const { type, content } = item;
    if (type === "function_call" || type === "custom_tool_call") this.calls = true;
    if (
      Array.isArray(content) &&
      content.some((part) => isJsonObject(part) && part["type"] === "refusal")
    ) {
      this.refusal = true;
    }
    const known = this.#items.get(index);
    if (known === undefined) {
      this.#items.set(index, { item, done, parts: new Map(), summaries: new Map(), call: "" });
    } else {
      known.item = item;
      known.done = done;
    }
  }

  #extend(partial: PartialItem, type: PartialPart["type"], index: number, text: string): void {
    if (type === "refusal") this.refusal = true;
    const part = partial.parts.get(index);
    if (part === undefined) partial.parts.set(index, { type, text });
    else part.text += text;
  }
}

function indexOf(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : 0;
}

function cut({ item, parts, summaries, call }: PartialItem): JsonObject {
  const { type } = item;
  const texts = [...parts]
    .toSorted(([left], [right]) => left - right)
    .map(([, part]) => printedPart(part));
  const status = { status: "incomplete" };
  if (type === "function_call") return { ...item, ...status, arguments: call };
  if (type === "custom_tool_call") return { ...item, ...status, input: call };
  if (type === "reasoning") {
    const summary = [...summaries].toSorted(([left], [right]) => left - right);
    return {
      ...item,
      ...status,
      summary: summary.map(([, text]) => ({ type: "summary_text", text })),
      ...(texts.length === 0 ? {} : { content: texts }),
    };
  }
  return type === "message" ? { ...item, ...status, content: texts } : { ...item, ...status };
}

function printedPart({ type, text }: PartialPart): JsonObject {
  if (type === "output_text") return { type, text, annotations: [], logprobs: [] };
  return type === "refusal" ? { type, refusal: text } : { type, text };
}

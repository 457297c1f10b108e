import type { OpenBlock } from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";
import {
  callItem,
  ID_PREFIXES,
  messageItem,
  outputTextPart,
  reasoningItem,
  reasoningPart,
  refusalPart,
  summaryPart,
  type ItemStatus,
} from "./items.ts";

/** A part of an item that is being said. */
export interface OpenPart {
  readonly kind: "output_text" | "refusal" | "summary_text" | "reasoning_text";
  text: string;
  readonly annotations: JsonObject[];
  readonly logprobs: JsonObject[];
}

export function openPart(kind: OpenPart["kind"]): OpenPart {
  return { kind, text: "", annotations: [], logprobs: [] };
}

export function printOpenPart({ kind, text, annotations, logprobs }: OpenPart): JsonObject {
  switch (kind) {
    case "output_text":
      return outputTextPart(text, annotations, logprobs);
    case "refusal":
      return refusalPart(text);
    case "summary_text":
      return summaryPart(text);
    case "reasoning_text":
      return reasoningPart(text);
  }
}

/** An output item whose `output_item.done` has not been said. A message may get further parts. */
export class OpenItem {
  readonly id: string;
  readonly index: number;
  readonly kind: keyof typeof ID_PREFIXES;
  readonly #block: OpenBlock;
  /** Finished parts, printed. */
  readonly #parts: JsonObject[] = [];
  part: OpenPart | null = null;
  /** Arguments of a call so far. */
  arguments = "";
  /** Text of reasoning so far. */
  reasoning = "";
  signature: { readonly signature: string; readonly family: string } | null = null;

  constructor(block: OpenBlock, index: number, answerId: string) {
    this.#block = block;
    this.index = index;
    this.kind = kindOf(block);
    this.id = `${ID_PREFIXES[this.kind]}_${answerId}_${index}`;
  }

  /** Index that the open part has, or the next one will have. */
  get partIndex(): number {
    return this.#parts.length;
  }

  /** Ends the open part, and gives it as it is printed. */
  endPart(part: OpenPart): JsonObject {
    const printed = printOpenPart(part);
    this.#parts.push(printed);
    this.part = null;
    return printed;
  }

  /** The item with all that has been said of it, the open part included. */
  print(status: ItemStatus): JsonObject {
    const block = this.#block;
    if (block.kind === "tool_call") return callItem(this.id, status, block.id, block.name, this.arguments);
    if (block.kind === "reasoning") {
      const { signature = null, family = null } = this.signature ?? {};
      return reasoningItem(this.id, status, { text: this.reasoning, summary: block.summary, signature, family });
    }
    const parts = this.part === null ? [...this.#parts] : [...this.#parts, printOpenPart(this.part)];
    return messageItem(this.id, status, parts);
  }

  /** Whether reasoning is reported as a summary. */
  get isSummary(): boolean {
    return this.#block.kind === "reasoning" && this.#block.summary;
  }
}

function kindOf(block: OpenBlock): keyof typeof ID_PREFIXES {
  if (block.kind === "tool_call") return "function_call";
  return block.kind === "reasoning" ? "reasoning" : "message";
}

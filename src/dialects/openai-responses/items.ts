import type { Citation, TokenLogprob, OpenBlock } from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";
import { sealReasoning } from "./sealed-reasoning.ts";

/** Whether an item is being made, is whole, or was cut off. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

/**
 * Kinds of items, and the beginnings of their ids; providers of this protocol check them when a
 * client gives items back.
 */
export const ID_PREFIXES = { message: "msg", reasoning: "rs", function_call: "fc" } as const;

export function messageItem(
  id: string,
  status: ItemStatus,
  content: readonly JsonObject[],
): JsonObject {
  return { type: "message", id, status, role: "assistant", content };
}

export function callItem(
  id: string,
  status: ItemStatus,
  callId: string,
  name: string,
  json: string,
): JsonObject {
  return { type: "function_call", id, status, call_id: callId, name, arguments: json };
}

/** Reasoning as an item shows it. */
interface ShownReasoning {
  readonly text: string;
  readonly summary: boolean;
  readonly signature: string | null;
  readonly family: string | null;
}

/**
 * Full text stands in `content`, text that sums up in `summary`; the signature carries the name of
 * the family that can read it, and full text once more.
 */
export function reasoningItem(
  id: string,
  status: ItemStatus,
  reasoning: ShownReasoning,
): JsonObject {
  const { text, summary, signature, family } = reasoning;
  return {
    type: "reasoning",
    id,
    status,
    summary: summary && text !== "" ? [summaryPart(text)] : [],
    ...(summary || text === "" ? {} : { content: [reasoningPart(text)] }),
    ...(signature === null || family === null
      ? {}
      : { encrypted_content: sealReasoning(family, signature, summary ? "" : text) }),
  };
}

export function outputTextPart(
  text: string,
  annotations: readonly JsonObject[],
  logprobs: readonly JsonObject[],
): JsonObject {
  return { type: "output_text", text, annotations, logprobs };
}

export function refusalPart(refusal: string): JsonObject {
  return { type: "refusal", refusal };
}

function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

export function reasoningPart(text: string): JsonObject {
  return { type: "reasoning_text", text };
}

/**
 * The protocol demands bytes; where a provider gives none the list is empty, which no token has.
 */
export function printLogprob({ token, logprob, bytes, top }: TokenLogprob): JsonObject {
  return {
    token,
    logprob,
    bytes: bytes ?? [],
    top_logprobs: top.map((alternative) => ({ ...alternative, bytes: alternative.bytes ?? [] })),
  };
}

/**
 * A citation of a URL; `null` where there is none to cite. The protocol demands positions: a
 * citation without them stands as an empty span at the end of what has been said.
 *
 * @param said the block's text so far.
 */
export function printCitation(
  { url, title, start, end }: Citation,
  said: string,
): JsonObject | null {
  if (url === null) return null;
  const hasPosition = start !== null && end !== null;
  const last = hasPosition ? 0 : Array.from(said).length;
  return {
    type: "url_citation",
    url,
    title: title ?? "",
    start_index: hasPosition ? start : last,
    end_index: hasPosition ? end : last,
  };
}

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
    if (block.kind === "tool_call")
      return callItem(this.id, status, block.id, block.name, this.arguments);
    if (block.kind === "reasoning") {
      const { signature = null, family = null } = this.signature ?? {};
      return reasoningItem(this.id, status, {
        text: this.reasoning,
        summary: block.summary,
        signature,
        family,
      });
    }
    const parts =
      this.part === null ? [...this.#parts] : [...this.#parts, printOpenPart(this.part)];
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

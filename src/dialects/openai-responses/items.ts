import type { Citation, TokenLogprob } from "../../canon/generate/event.ts";
import type { JsonObject } from "../../canon/json.ts";
import { sealReasoning } from "./sealed-reasoning.ts";

/** Whether an item is being made, is whole, or was cut off. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** Kinds of items, and the beginnings of their ids; providers of this protocol check them when a client gives items back. */
export const ID_PREFIXES = { message: "msg", reasoning: "rs", function_call: "fc" } as const;

export function messageItem(id: string, status: ItemStatus, content: readonly JsonObject[]): JsonObject {
  return { type: "message", id, status, role: "assistant", content };
}

export function callItem(id: string, status: ItemStatus, callId: string, name: string, json: string): JsonObject {
  return { type: "function_call", id, status, call_id: callId, name, arguments: json };
}

/** Reasoning as an item shows it. */
interface ShownReasoning {
  readonly text: string;
  readonly summary: boolean;
  readonly signature: string | null;
  readonly family: string | null;
}

/** Full text stands in `content`, text that sums up in `summary`; the signature carries the name of the family that can read it, and full text once more. */
export function reasoningItem(id: string, status: ItemStatus, reasoning: ShownReasoning): JsonObject {
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

export function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

export function reasoningPart(text: string): JsonObject {
  return { type: "reasoning_text", text };
}

/** The protocol demands bytes; where a provider gives none the list is empty, which no token has. */
export function printLogprob({ token, logprob, bytes, top }: TokenLogprob): JsonObject {
  return {
    token,
    logprob,
    bytes: bytes ?? [],
    top_logprobs: top.map((alternative) => ({ ...alternative, bytes: alternative["bytes"] ?? [] })),
  };
}

/**
 * A citation of a URL; `null` where there is none to cite. The protocol demands positions: a citation without them stands as an empty span
 * at the end of what has been said.
 *
 * @param said the block's text so far.
 */
export function printCitation({ url, title, start, end }: Citation, said: string): JsonObject | null {
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

import type { JsonObject, JsonValue } from "../../canon/json.ts";

/**
 * One piece of reasoning as the items of `reasoning_details` that carry its signature: signed text is one item, a signed summary is
 * followed by what it sums up, and hidden reasoning is its signature alone.
 *
 * @param id the piece's name, which distinguishes the details of one piece from those of the next; `null` where the details are not read again.
 */
export function reasoningDetails(
  { text, summary }: { readonly text: string; readonly summary: boolean },
  signature: string | null,
  id: string | null,
): readonly JsonObject[] {
  const named = id === null ? {} : { id };
  if (signature === null)
    return summary
      ? [{ type: "reasoning.summary", summary: text, ...named }]
      : [{ type: "reasoning.text", text, ...named }];
  const encrypted: JsonObject = { type: "reasoning.encrypted", data: signature, ...named };
  if (text === "") return [encrypted];
  return summary
    ? [{ type: "reasoning.summary", summary: text, ...named }, encrypted]
    : [{ type: "reasoning.text", text, signature, ...named }];
}

/** The name of a message's piece of reasoning, by its number. */
export function pieceName(number: number): string {
  return `reasoning_${number}`;
}

export function isPieceName(value: JsonValue | undefined): boolean {
  return typeof value === "string" && /^reasoning_\d+$/.test(value);
}

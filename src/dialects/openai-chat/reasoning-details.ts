import type { JsonObject } from "../../canon/json.ts";

/**
 * One piece of reasoning as the items of `reasoning_details` that carry its signature: signed text is one item, a signed summary is
 * followed by what it sums up, and hidden reasoning is its signature alone.
 */
export function reasoningDetails(
  { text, summary }: { readonly text: string; readonly summary: boolean },
  signature: string | null,
): readonly JsonObject[] {
  if (signature === null)
    return summary ? [{ type: "reasoning.summary", summary: text }] : [{ type: "reasoning.text", text }];
  const encrypted: JsonObject = { type: "reasoning.encrypted", data: signature };
  if (text === "") return [encrypted];
  return summary
    ? [{ type: "reasoning.summary", summary: text }, encrypted]
    : [{ type: "reasoning.text", text, signature }];
}

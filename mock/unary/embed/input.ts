import type { JsonObject } from "../../json.ts";
import { numberWithin } from "../../members.ts";
import { tokensOf } from "../results.ts";
import type { EmbedBatch } from "./embed.ts";
import { LONGEST_VECTOR } from "./vector.ts";

type Inputs = Omit<EmbedBatch, "dimensions">;

/** The inputs of texts. */
export function textInputs(texts: readonly string[]): Inputs {
  return { count: texts.length, texts, sources: texts, tokens: tokensOf(texts) };
}

/**
 * Reads `input` as OpenAI takes it: a text, a list of texts, a list of token numbers, or a list of
 * such lists.
 */
export function readInput(value: unknown): Inputs {
  const list: readonly unknown[] = Array.isArray(value) && !value.every(isNumber) ? value : [value];
  const tokens = list.filter((item) => Array.isArray(item));
  if (tokens.length === 0) return textInputs(list.filter((item) => typeof item === "string"));
  return {
    count: tokens.length,
    texts: [],
    sources: tokens.map((numbers) => `tokens ${numbers.join(",")}`),
    tokens: tokens.reduce((sum, numbers) => sum + numbers.length, 0),
  };
}

/** The length of vectors that a member requests; `null` where it requests none. */
export function dimensionsAt(object: JsonObject, name: string): number | null {
  return numberWithin(object[name], 1, LONGEST_VECTOR, null);
}

function isNumber(value: unknown): boolean {
  return typeof value === "number";
}

import type { Problem } from "../../problem.ts";
import { tokensOf } from "../results.ts";
import type { EmbedBatch } from "./embed.ts";

type Inputs = Omit<EmbedBatch, "dimensions">;

/** The inputs of texts. */
export function textInputs(texts: readonly string[]): Inputs {
  return { count: texts.length, texts, sources: texts, tokens: tokensOf(texts) };
}

/**
 * Reads `input` as OpenAI takes it: a text, a list of texts, a list of token numbers, or a list of such lists.
 *
 * @param refuse makes the refusal of anything else; nothing may be empty, and text and tokens are not mixed.
 */
export function readInput(value: unknown, refuse: () => Problem): Inputs | Problem {
  const list: readonly unknown[] = Array.isArray(value) && !value.every(isTokenNumber) ? value : [value];
  const texts = list.filter((item) => typeof item === "string" && item !== "").map(String);
  if (texts.length > 0) return texts.length === list.length ? textInputs(texts) : refuse();
  const tokens = list.filter(isTokenList);
  if (tokens.length === 0 || tokens.length !== list.length) return refuse();
  return {
    count: tokens.length,
    texts: [],
    sources: tokens.map((numbers) => `tokens ${numbers.join(",")}`),
    tokens: tokens.reduce((sum, numbers) => sum + numbers.length, 0),
  };
}

function isTokenList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTokenNumber);
}

function isTokenNumber(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0;
}

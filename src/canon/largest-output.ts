import type { ModelRow } from "./table.ts";

/** Tokens of output where neither the request nor the model's row has a limit. */
const UNKNOWN_OUTPUT = 16_384;

/** The most that a model makes, tokens, for a request that names no limit; an allowance where its row does not state it. */
export function largestOutput(model: ModelRow | undefined): number {
  const stated = model?.maxOutputTokens ?? model?.contextWindow;
  return stated ?? Math.max(UNKNOWN_OUTPUT, model?.defaultMaxOutputTokens ?? 0);
}

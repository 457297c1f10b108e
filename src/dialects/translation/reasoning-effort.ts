import { REASONING_EFFORTS, type ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";

/**
 * The effort to ask of a model in place of a budget: that of the largest budget in the model's table that is not above the asked one, or
 * the smallest entry. Only efforts that the model takes as words count, and never `none`: a caller with a budget wants reasoning.
 *
 * @param budget tokens.
 * @param words the dialect's efforts, which a model takes whose row names none.
 * @returns `null` where the table has no such entry.
 */
export function effortOfBudget(
  budget: number,
  table: ModelReasoning | null,
  words: readonly ReasoningEffort[],
): ReasoningEffort | null {
  const taken = table?.efforts ?? words;
  const entries = REASONING_EFFORTS.flatMap((effort) => {
    const tokens = table?.budgets?.[effort];
    return tokens === undefined || effort === "none" || !taken.includes(effort) ? [] : [{ effort, tokens }];
  }).toSorted((left, right) => left.tokens - right.tokens);
  return (entries.findLast(({ tokens }) => tokens <= budget) ?? entries[0])?.effort ?? null;
}

/**
 * The budget to ask of a model in place of an effort that it does not take as a word, in tokens.
 *
 * @param words as for `effortOfBudget`.
 * @returns `null` where the word is to be sent.
 */
export function budgetOfEffort(
  effort: ReasoningEffort,
  table: ModelReasoning | null,
  words: readonly ReasoningEffort[],
): number | null {
  if (effort === "unspecified" || (table?.efforts ?? words).includes(effort)) return null;
  return table?.budgets?.[effort] ?? null;
}

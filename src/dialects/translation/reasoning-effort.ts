import { REASONING_EFFORTS, type ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";

/**
 * The effort to request instead of a budget: that of the largest budget in the model's table that is not above the requested one, or of
 * the smallest entry. Only efforts that the model accepts count, and never `none`: a caller with a budget wants reasoning.
 *
 * @param budget tokens.
 * @param supported the dialect's efforts, for a model whose row names none.
 * @returns `null` where the table has no such entry.
 */
export function effortOfBudget(
  budget: number,
  table: ModelReasoning | null,
  supported: readonly ReasoningEffort[],
): ReasoningEffort | null {
  const taken = table?.efforts ?? supported;
  const entries = REASONING_EFFORTS.flatMap((effort) => {
    const tokens = table?.budgets?.[effort];
    return tokens === undefined || effort === "none" || !taken.includes(effort) ? [] : [{ effort, tokens }];
  }).toSorted((left, right) => left.tokens - right.tokens);
  return (entries.findLast(({ tokens }) => tokens <= budget) ?? entries[0])?.effort ?? null;
}

/**
 * The budget to request instead of an effort that the model does not accept, in tokens.
 *
 * @param supported as for `effortOfBudget`.
 * @returns `null` where the effort itself is to be sent.
 */
export function budgetOfEffort(
  effort: ReasoningEffort,
  table: ModelReasoning | null,
  supported: readonly ReasoningEffort[],
): number | null {
  if (effort === "unspecified" || (table?.efforts ?? supported).includes(effort)) return null;
  return table?.budgets?.[effort] ?? null;
}

import type { AssistantTurn, Turn } from "../canon/generate/generate-request.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../canon/request.ts";
import type { ModelReasoning } from "../canon/table.ts";

/**
 * The effort to request instead of a budget: that of the largest budget in the model's table that
 * is not above the requested one, or of the smallest entry. Only efforts that the model accepts
 * count, and never `none`: a caller with a budget requests reasoning.
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
  const accepted = table?.efforts ?? supported;
  const entries = REASONING_EFFORTS.flatMap((effort) => {
    const tokens = table?.budgets?.[effort];
    return tokens === undefined || effort === "none" || !accepted.includes(effort)
      ? []
      : [{ effort, tokens }];
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

/**
 * Whether the request continues an answer that began without signed reasoning: the history ends
 * with tool results, and the first part after the last user message is not reasoning. Models that
 * think within a budget refuse to think in the middle of such an answer ("Expected `thinking` or
 * `redacted_thinking`, but found `tool_use`": BerriAI/litellm#9020, pydantic/pydantic-ai#2040).
 */
export function continuesWithoutSignedReasoning(turns: readonly Turn[]): boolean {
  let begun: AssistantTurn | null = null;
  let calls = false;
  let isAnsweringTools = false;
  for (const turn of turns) {
    if (turn.role === "assistant") {
      begun ??= turn;
      isAnsweringTools = false;
    } else if (turn.role === "tool") {
      calls = true;
      isAnsweringTools = true;
    } else if (turn.role === "user" && !isAnsweringTools) {
      // A user message ends the answer, unless it is part of one message with tool results.
      begun = null;
      calls = false;
    }
  }
  if (begun === null || !calls) return false;
  // Unsigned reasoning is dropped from the history.
  const first = begun.content.find((part) => part.kind !== "reasoning" || part.signature !== null);
  return first?.kind !== "reasoning";
}

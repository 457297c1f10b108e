import type { ReasoningRequest } from "../../../canon/generate/generate-request.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../../canon/request.ts";
import type { ModelRow } from "../../../canon/table.ts";
import { effortOfBudget } from "../../translation/reasoning-effort.ts";

/** `reasoning` as the protocol takes it: words. `null` where there is nothing to say. */
export function formatReasoning(
  reasoning: ReasoningRequest | null,
  model: ModelRow,
  dropped: Set<DroppedField>,
): JsonObject | null {
  if (reasoning === null) return null;
  const effort = effortWord(reasoning, model, dropped);
  const summary = summaryWord(reasoning.display);
  if (effort === null && summary === null) return null;
  return { ...(effort === null ? {} : { effort }), ...(summary === null ? {} : { summary }) };
}

function effortWord(
  { effort, budget }: ReasoningRequest,
  model: ModelRow,
  dropped: Set<DroppedField>,
): ReasoningEffort | null {
  if (budget !== null) dropped.add("budget_as_effort");
  if (effort !== "unspecified") return effort;
  return budget === null ? null : effortOfBudget(budget, model.reasoning, REASONING_EFFORTS);
}

/** Leaving reasoning out of the answer is what the protocol does unasked. */
function summaryWord(display: ReasoningRequest["display"]): string | null {
  if (display === "summarized") return "auto";
  return display === "omitted" ? null : display;
}

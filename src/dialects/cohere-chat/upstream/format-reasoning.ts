import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { Target } from "../../dialect.ts";
import { lacking, type Draft } from "./draft.ts";

/**
 * Writes `thinking`. The protocol knows on, off and a budget; an effort becomes a budget by the table in routes.yaml, and by nothing else.
 * Models that can think do so unless they are told not to.
 */
export function formatReasoning(
  reasoning: GenerateRequest["reasoning"],
  { model }: Target,
  { body, dropped }: Draft,
): ServiceError | null {
  if (reasoning === null) return null;
  const { effort, adaptive, display } = reasoning;
  if (effort === "none") {
    body["thinking"] = { type: "disabled" };
    return null;
  }
  if (display !== null) dropped.add("reasoning_display_dropped");
  const tabled = effort === "unspecified" ? null : (model.reasoning?.budgets?.[effort] ?? null);
  const budget = reasoning.budget ?? tabled;
  if (budget === null) {
    if (effort !== "unspecified")
      return lacking(`word for the reasoning effort ${effort}, and no budget for it either`);
    if (adaptive) body["thinking"] = { type: "enabled" };
    return null;
  }
  if (budget < 1) {
    return invalidRequest("invalid_reasoning_budget", "The reasoning budget must be at least 1 token");
  }
  if (effort !== "unspecified") dropped.add("effort_as_budget");
  body["thinking"] = { type: "enabled", token_budget: budget };
  return null;
}

import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest, ReasoningRequest } from "../../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { Target } from "../../dialect.ts";
import { budgetOfEffort } from "../../translation/reasoning-effort.ts";
import { continuesUnthought } from "../../translation/unthought-turn.ts";
import { EFFORTS } from "../surface/read-reasoning.ts";
import { BUDGET_ABOVE_LIMIT, LEAST_BUDGET } from "../thinking-budget.ts";
import type { Draft } from "./draft.ts";

/** Writes `thinking` and `output_config.effort`. Efforts become budgets by the table in routes.yaml, and nowhere else. */
export function formatReasoning(request: GenerateRequest, target: Target, draft: Draft): ServiceError | null {
  const { reasoning } = request;
  if (reasoning === null) return null;
  const { body, dropped } = draft;
  if (reasoning.effort === "none") {
    body["thinking"] = { type: "disabled" };
    return null;
  }
  const table = target.model.reasoning;
  const tabled = reasoning.budget === null ? budgetOfEffort(reasoning.effort, table, EFFORTS) : null;
  if (tabled !== null) dropped.add("effort_as_budget");
  else if (reasoning.effort !== "unspecified") body["output_config"] = { effort: reasoning.effort };
  const budget = reasoning.budget ?? tabled;
  if (budget !== null) return formatBudget(budget, request, reasoning, target, draft);
  if (reasoning.adaptive || reasoning.effort !== "unspecified") {
    body["thinking"] = { type: "adaptive", ...displayOf(reasoning, draft) };
  } else if (reasoning.display !== null) {
    dropped.add("reasoning_display_dropped");
  }
  return null;
}

function formatBudget(
  budget: number,
  request: GenerateRequest,
  reasoning: ReasoningRequest,
  target: Target,
  draft: Draft,
): ServiceError | null {
  if (budget < LEAST_BUDGET) {
    return invalidRequest(
      "invalid_reasoning_budget",
      `The reasoning budget must be at least ${LEAST_BUDGET} tokens for an endpoint that may get the request`,
    );
  }
  if (continuesUnthought(request.turns)) {
    draft.dropped.add("reasoning_turned_off");
    draft.body["thinking"] = { type: "disabled" };
    return null;
  }
  if (request.purpose === "generate") {
    const limit = roomFor(budget, request, target, draft);
    if (limit <= budget) {
      return invalidRequest("invalid_reasoning_budget", BUDGET_ABOVE_LIMIT);
    }
  }
  draft.body["thinking"] = { type: "enabled", budget_tokens: budget, ...displayOf(reasoning, draft) };
  return null;
}

/** The output limit. One that nobody asked for makes room for the budget, as far as the model goes: the default is meant for the answer. */
function roomFor(budget: number, request: GenerateRequest, { model }: Target, { body }: Draft): number {
  const written = body["max_tokens"];
  const limit = typeof written === "number" ? written : 0;
  if (request.maxOutputTokens !== null || limit > budget) return limit;
  const raised = Math.min(limit + budget, model.maxOutputTokens ?? limit + budget);
  body["max_tokens"] = raised;
  return raised;
}

/** How reasoning is shown. The protocol sums up in one way only. */
function displayOf({ display }: ReasoningRequest, { dropped }: Draft): JsonObject {
  if (display === null) return {};
  if (display === "concise" || display === "detailed") dropped.add("reasoning_display_dropped");
  return { display: display === "omitted" ? "omitted" : "summarized" };
}

import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import type { Target } from "../dialect.ts";
import { budgetOfEffort, effortOfBudget, continuesUnthought } from "../reasoning-effort.ts";
import type { Draft } from "./format-parts.ts";

/** Efforts that the protocol's own member accepts. */
const EFFORTS: readonly ReasoningEffort[] = ["low", "medium", "high", "xhigh", "max"];

/** The least budget that models with budgets take, tokens. */
const LEAST_BUDGET = 1024;

/**
 * Writes how much to think. The protocol has an effort; whether a model thinks at all, and budgets, are fields of the model. By
 * default they are named as in the messages protocol (`thinking`); a provider's flag names other ones.
 */
export function formatReasoning(request: GenerateRequest, { model, provider }: Target, draft: Draft): void {
  const { reasoning } = request;
  if (reasoning === null) return;
  if (reasoning.display !== null) draft.dropped.add("reasoning_display_dropped");
  const table = model.reasoning;
  const effortField = EFFORT_FIELDS.find(([flag]) => provider.flags.includes(flag));
  if (effortField !== undefined) {
    const effort = effortOf(reasoning.effort, reasoning.budget, table, draft);
    if (effort !== null) effortField[1](effort, draft);
    else if (reasoning.adaptive) draft.dropped.add("hint_dropped");
    return;
  }
  if (reasoning.effort === "none") {
    draft.additional["thinking"] = { type: "disabled" };
    return;
  }
  const tabled = reasoning.budget === null ? budgetOfEffort(reasoning.effort, table, EFFORTS) : null;
  const budget = reasoning.budget ?? tabled;
  if (tabled !== null) draft.dropped.add("effort_as_budget");
  else if (reasoning.effort !== "unspecified") writeEffort(reasoning.effort, request, draft);
  if (budget !== null) writeBudget(budget, request, draft);
  else if (reasoning.adaptive || reasoning.effort !== "unspecified")
    draft.additional["thinking"] = { type: "adaptive" };
}

/** Counting has no member for the effort; the models that have one take it among their own fields. */
function writeEffort(effort: ReasoningEffort, { purpose }: GenerateRequest, { body, additional }: Draft): void {
  if (purpose === "count") additional["output_config"] = { effort };
  else body["outputConfig"] = { effort };
}

function writeBudget(budget: number, request: GenerateRequest, draft: Draft): void {
  const { purpose, maxOutputTokens: limit, turns } = request;
  if (budget < LEAST_BUDGET) {
    draft.refuse(
      "invalid_reasoning_budget",
      `The reasoning budget must be at least ${LEAST_BUDGET} tokens for an endpoint that may get the request`,
    );
  } else if (continuesUnthought(turns)) {
    draft.dropped.add("reasoning_turned_off");
    draft.additional["thinking"] = { type: "disabled" };
    return;
  } else if (purpose === "generate" && limit !== null && limit <= budget) {
    draft.refuse(
      "invalid_reasoning_budget",
      "The reasoning budget must be below the output limit, which it is a part of; raise the limit or ask for less reasoning",
    );
  }
  draft.additional["thinking"] = { type: "enabled", budget_tokens: budget };
}

/** Flags of providers whose models have their own member for the effort, and how it is written. */
const EFFORT_FIELDS: readonly (readonly [string, (effort: ReasoningEffort, draft: Draft) => void])[] = [
  [
    "reasoning_config_field",
    (effort, { additional }) => {
      additional["reasoningConfig"] =
        effort === "none" ? { type: "disabled" } : { type: "enabled", maxReasoningEffort: effort };
    },
  ],
  [
    "reasoning_effort_field",
    (effort, { additional }) => {
      additional["reasoning_effort"] = effort;
    },
  ],
];

/** The effort to send where there are no budgets: a budget becomes the effort of the largest budget of the model's table that it covers. */
function effortOf(
  effort: ReasoningEffort,
  budget: number | null,
  table: ModelReasoning | null,
  draft: Draft,
): ReasoningEffort | null {
  if (budget === null) return effort === "unspecified" ? null : effort;
  draft.dropped.add("budget_as_effort");
  if (effort !== "unspecified") return effort;
  const found = effortOfBudget(budget, table, EFFORTS);
  if (found === null)
    draft.refuse("invalid_reasoning_budget", "No endpoint that may get the request takes a reasoning budget");
  return found;
}

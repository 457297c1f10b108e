import type { ReasoningRequest } from "../../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { ReasoningEffort } from "../../../canon/request.ts";
import type { ModelReasoning } from "../../../canon/table.ts";
import type { Draft } from "./draft.ts";

/** Efforts that the protocol has words for. */
const LEVELS: readonly ReasoningEffort[] = ["minimal", "low", "medium", "high"];

/** The budget with which a model thinks as much as it likes. */
const DYNAMIC = -1;

/**
 * Writes `thinkingConfig`. Models take levels or budgets, never both at once: the table in routes.yaml says which, and a model that takes
 * no words has an empty list of efforts there.
 */
export function formatReasoning(reasoning: ReasoningRequest | null, table: ModelReasoning | null, draft: Draft): void {
  if (reasoning === null) return;
  const { effort, display } = reasoning;
  const amount = amountOf(reasoning, table, draft);
  if (display === "concise" || display === "detailed") draft.dropped.add("reasoning_display_dropped");
  const shown = display === "omitted" || effort === "none" ? {} : { includeThoughts: true };
  const config: JsonObject = { ...amount, ...shown };
  if (Object.keys(config).length > 0) draft.config["thinkingConfig"] = config;
}

function amountOf(
  { effort, budget, adaptive }: ReasoningRequest,
  table: ModelReasoning | null,
  draft: Draft,
): JsonObject {
  if (effort === "none") return { thinkingBudget: table?.budgets?.none ?? 0 };
  if (budget !== null) return { thinkingBudget: budget };
  if (effort === "unspecified") return adaptive && table?.efforts?.length === 0 ? { thinkingBudget: DYNAMIC } : {};
  const tabled = table?.budgets?.[effort];
  if ((table?.efforts ?? LEVELS).includes(effort) || tabled === undefined) return { thinkingLevel: effort };
  draft.dropped.add("effort_as_budget");
  return { thinkingBudget: tabled };
}

import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { COUNT_PATH, MESSAGES_PATH, VERSIONS } from "./fields.ts";
import { type Draft, formatMark, formatTurns } from "./format-turns.ts";
import { NO_PARAMETERS } from "../fit-schema.ts";
import { budgetOfEffort, continuesUnthought } from "../reasoning-effort.ts";
import { EFFORTS, BUDGET_ABOVE_LIMIT, LEAST_BUDGET } from "./reasoning.ts";
import type {
  GenerateRequest,
  ReasoningRequest,
  Tool,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";

/** Prints a request as messages (docs/protocols.md#messages). */
export function formatMessages(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const draft: Draft = { body: { model: target.endpoint.upstreamModel }, dropped: new Set() };
  const { body, dropped } = draft;
  const counts = request.purpose === "count";
  const problem =
    (counts ? null : formatLimit(request, target, draft)) ??
    formatTurns(request.turns, draft) ??
    formatReasoning(request, target, draft);
  if (problem !== null) return problem;
  body["tools"] = formatTools(request, draft);
  body["tool_choice"] = formatToolChoice(request, body["tools"]);
  formatOutput(request, draft);
  if (!counts) formatSampling(request, draft);
  formatHints(request, draft);
  const version = target.provider.flags.includes("version_2026_10_21") ? VERSIONS[1] : VERSIONS[0];
  return {
    path: counts ? COUNT_PATH : MESSAGES_PATH,
    body,
    headers: ["anthropic-version", version],
    dropped: [...dropped],
  };
}

/** The protocol demands a limit; the compiler has made sure that a model on it has a default. */
function formatLimit(
  request: GenerateRequest,
  { model }: Target,
  { body, dropped }: Draft,
): ServiceError | null {
  if (request.maxOutputTokens !== null) {
    body["max_tokens"] = request.maxOutputTokens;
    return null;
  }
  const limit = model.defaultMaxOutputTokens ?? model.maxOutputTokens;
  if (limit === null) {
    return invalidRequest(
      "missing_output_limit",
      "An endpoint that may get the request needs an output limit, and its model has no default; send one",
    );
  }
  body["max_tokens"] = limit;
  dropped.add("output_limit_defaulted");
  return null;
}

function formatOutput({ format }: GenerateRequest, { body, dropped }: Draft): void {
  if (format?.kind !== "json_schema") return;
  if (format.name !== null || format.description !== null || format.strict !== null)
    dropped.add("schema_name_dropped");
  const config = body["output_config"];
  body["output_config"] = {
    ...(isJsonObject(config) ? config : {}),
    format: { type: "json_schema", schema: format.schema },
  };
}

function formatSampling(request: GenerateRequest, { body }: Draft): void {
  if (request.temperature !== null) body["temperature"] = request.temperature;
  if (request.topP !== null) body["top_p"] = request.topP;
  if (request.topK !== null) body["top_k"] = request.topK;
  if (request.stop.length > 0) body["stop_sequences"] = request.stop;
  if (request.stream) body["stream"] = true;
}

/** Tiers of other protocols and their names in this one. */
const TIERS: Readonly<Record<string, string>> = { auto: "auto", default: "standard_only" };

function formatHints({ hints, purpose }: GenerateRequest, { body, dropped }: Draft): void {
  if (hints.promptCacheKey !== null || hints.promptCacheRetention !== null)
    dropped.add("cache_hint_dropped");
  const { serviceTier } = hints;
  if (serviceTier === null || purpose === "count") return;
  const tier = Object.hasOwn(TIERS, serviceTier) ? TIERS[serviceTier] : undefined;
  if (tier !== undefined) body["service_tier"] = tier;
  if (tier !== serviceTier) dropped.add("service_tier_changed");
}

/**
 * Writes `thinking` and `output_config.effort`. Efforts become budgets by the table in routes.yaml,
 * and nowhere else.
 */
function formatReasoning(
  request: GenerateRequest,
  target: Target,
  draft: Draft,
): ServiceError | null {
  const { reasoning } = request;
  if (reasoning === null) return null;
  const { body, dropped } = draft;
  if (reasoning.effort === "none") {
    body["thinking"] = { type: "disabled" };
    return null;
  }
  const table = target.model.reasoning;
  const tabled =
    reasoning.budget === null ? budgetOfEffort(reasoning.effort, table, EFFORTS) : null;
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
  draft.body["thinking"] = {
    type: "enabled",
    budget_tokens: budget,
    ...displayOf(reasoning, draft),
  };
  return null;
}

/**
 * The output limit. One that was not requested makes room for the budget, as far as the model goes:
 * the default is meant for the answer.
 */
function roomFor(
  budget: number,
  request: GenerateRequest,
  { model }: Target,
  { body }: Draft,
): number {
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

/**
 * The tools, or `undefined` where there are none. Where only some may be called, only those are
 * sent.
 */
function formatTools(
  { tools, toolChoice }: GenerateRequest,
  { dropped }: Draft,
): JsonValue | undefined {
  if (tools.length === 0) return undefined;
  if (toolChoice?.mode !== "allowed") return tools.map(formatTool);
  const allowed = tools.filter(({ name }) => toolChoice.names.includes(name));
  if (allowed.length < tools.length) dropped.add("allowed_tools_filtered");
  return allowed.length === 0 ? undefined : allowed.map(formatTool);
}

function formatTool({ name, description, parameters, strict, cache }: Tool): JsonObject {
  return {
    name,
    ...(description === null ? {} : { description }),
    input_schema: parameters ?? NO_PARAMETERS,
    ...(strict === null ? {} : { strict }),
    ...formatMark(cache),
  };
}

/** `undefined` where nothing is said that the absence of the member would not say. */
function formatToolChoice(
  { toolChoice, parallelToolCalls }: GenerateRequest,
  tools: JsonValue | undefined,
): JsonValue | undefined {
  // Without tools the provider refuses the member.
  if (tools === undefined) return undefined;
  if (toolChoice === null)
    return parallelToolCalls === false ? { type: "auto", ...parallel(false) } : undefined;
  if (toolChoice.mode === "none") return { type: "none" };
  return { ...choiceOf(toolChoice), ...parallel(parallelToolCalls) };
}

function choiceOf(choice: ToolChoice): JsonObject {
  switch (choice.mode) {
    case "auto":
      return { type: "auto" };
    case "none":
      return { type: "none" };
    case "required":
      return { type: "any" };
    case "named":
      return { type: "tool", name: choice.name };
    case "allowed":
      return { type: choice.required ? "any" : "auto" };
  }
}

function parallel(allowed: boolean | null): JsonObject {
  return allowed === null ? {} : { disable_parallel_tool_use: !allowed };
}

import type { ServiceError } from "../../canon/error.ts";
import type { GenerateRequest, Tool, ToolChoice } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import { Draft, cachePoint, formatTurns, hasToolHistory, offeredTools } from "./format-turns.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { NO_PARAMETERS } from "../fit-schema.ts";
import {
  budgetOfEffort,
  continuesWithoutSignedReasoning,
  dropCacheHints,
  effortOfBudget,
  sentTier,
} from "../reasoning-effort.ts";

/**
 * Prints a request for Bedrock's Converse, ConverseStream or CountTokens
 * (docs/protocols.md#bedrock-converse).
 */
export function formatConverse(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const draft = new Draft();
  const { body, additional, dropped } = draft;
  refuseUnsupported(request, draft);
  formatTurns(request.turns, draft);
  formatTools(request, draft);
  formatReasoning(request, target, draft);
  const counts = request.purpose === "count";
  if (!counts) {
    formatInference(request, draft);
    formatTopK(request, target, draft);
    formatOutput(request, draft);
    formatTier(request, draft);
  } else if (request.format !== null) {
    dropped.add("not_counted");
  }
  dropCacheHints(request, dropped);
  if (Object.keys(additional).length > 0) body.additionalModelRequestFields = additional;
  if (draft.refusal !== null) return draft.refusal;
  const operation = counts ? "count-tokens" : request.stream ? "converse-stream" : "converse";
  return {
    path: `/model/${encodeURIComponent(target.endpoint.upstreamModel)}/${operation}`,
    body: counts ? { input: { converse: body } } : body,
    headers: [],
    dropped: [...dropped],
  };
}

/**
 * The decision keeps such requests away; one that gets here all the same must not lose what it
 * says.
 */
function refuseUnsupported(request: GenerateRequest, draft: Draft): void {
  const unsupported: readonly (readonly [string, JsonValue])[] = [
    ["frequency penalty", request.frequencyPenalty],
    ["presence penalty", request.presencePenalty],
    ["logit bias", request.logitBias],
    ["seed", request.seed],
    ["log probabilities", request.logprobs],
    ["verbosity", request.verbosity],
    ["JSON answers without a schema", request.format?.kind === "json_object" ? true : null],
  ];
  for (const [what, value] of unsupported)
    if (value !== null)
      draft.refuse("feature_not_supported", `The converse protocol has no ${what}`);
}

function formatInference(request: GenerateRequest, { body }: Draft): void {
  const { maxOutputTokens, temperature, topP, stop } = request;
  const inference: Record<string, JsonValue> = {};
  if (maxOutputTokens !== null) inference.maxTokens = maxOutputTokens;
  if (temperature !== null) inference.temperature = temperature;
  if (topP !== null) inference.topP = topP;
  if (stop.length > 0) inference.stopSequences = stop;
  if (Object.keys(inference).length > 0) body.inferenceConfig = inference;
}

/** A field of the model; only model rows that accept the feature get here. */
function formatTopK({ topK }: GenerateRequest, { provider }: Target, { additional }: Draft): void {
  if (topK === null) return;
  if (provider.flags.includes("reasoning_config_field")) additional.inferenceConfig = { topK };
  else additional.top_k = topK;
}

function formatOutput({ format }: GenerateRequest, { body, dropped }: Draft): void {
  if (format?.kind !== "json_schema") return;
  const { name, description, schema, strict } = format;
  if (strict !== null) dropped.add("schema_name_dropped");
  const jsonSchema = {
    // A text by the protocol, so that it need not be able to say every number.
    schema: JSON.stringify(schema),
    name: name ?? undefined,
    description: description ?? undefined,
  };
  const effort = body.outputConfig;
  body.outputConfig = {
    ...(isJsonObject(effort) ? effort : {}),
    textFormat: { type: "json_schema", structure: { jsonSchema } },
  };
}

/** The tiers of other protocols that this one has a value for. */
const TIERS = {
  default: "default",
  standard_only: "default",
  flex: "flex",
  priority: "priority",
};

function formatTier(request: GenerateRequest, { body, dropped }: Draft): void {
  const type = sentTier(request, TIERS, dropped);
  if (type !== undefined) body.serviceTier = { type };
}

/**
 * Stands in `toolConfig` where the history has calls and no tool is offered: the protocol demands
 * one then. An answer that calls it is a failure.
 */
const PLACEHOLDER: JsonObject = {
  toolSpec: {
    name: "unavailable",
    description: "Stands for tools that cannot be called any more. Never call it.",
    inputSchema: { json: NO_PARAMETERS },
  },
};

/** Writes `toolConfig`, and what only some models take beside it. */
function formatTools(request: GenerateRequest, draft: Draft): void {
  const { tools, toolChoice, turns, parallelToolCalls } = request;
  const offered = offeredTools(request);
  if (offered.length < tools.length)
    draft.dropped.add(toolChoice?.mode === "none" ? "tools_withheld" : "allowed_tools_filtered");
  if (offered.length === 0) {
    if (hasToolHistory(turns)) {
      draft.dropped.add("tool_placeholder_sent");
      draft.body.toolConfig = { tools: [PLACEHOLDER] };
    }
    return;
  }
  const choice = formatChoice(toolChoice);
  draft.body.toolConfig = {
    tools: offered.flatMap((tool) => [formatTool(tool), ...cachePoint(tool.cache)]),
    toolChoice: choice ?? undefined,
  };
  if (parallelToolCalls === false)
    draft.additional.tool_choice = {
      ...additionalChoice(toolChoice),
      disable_parallel_tool_use: true,
    };
}

function formatTool({ name, description, parameters, strict }: Tool): JsonObject {
  return {
    toolSpec: {
      name,
      ...(description === null || description === "" ? {} : { description }),
      inputSchema: { json: parameters ?? NO_PARAMETERS },
      ...(strict === true ? { strict } : {}),
    },
  };
}

/**
 * `null` where nothing is said that the absence of the member would not say: not all models know
 * it.
 */
function formatChoice(choice: ToolChoice | null): JsonObject | null {
  if (choice?.mode === "named") return { tool: { name: choice.name } };
  return isForced(choice) ? { any: {} } : null;
}

/**
 * The same for models that have a switch for one call at a time: the choice stands beside the ban.
 */
function additionalChoice(choice: ToolChoice | null): JsonObject {
  if (choice?.mode === "named") return { type: "tool", name: choice.name };
  return { type: isForced(choice) ? "any" : "auto" };
}

function isForced(choice: ToolChoice | null): boolean {
  if (choice === null) return false;
  return choice.mode === "allowed"
    ? choice.required
    : choice.mode === "required" || choice.mode === "named";
}

/** Efforts that the protocol's own member accepts. */
const EFFORTS: readonly ReasoningEffort[] = ["low", "medium", "high", "xhigh", "max"];

/** The least budget that models with budgets take, tokens. */
const LEAST_BUDGET = 1024;

/**
 * Writes how much to think. The protocol has an effort; whether a model thinks at all, and budgets,
 * are fields of the model. By default they are named as in the messages protocol (`thinking`); a
 * provider's flag names other ones.
 */
function formatReasoning(
  request: GenerateRequest,
  { model, provider }: Target,
  draft: Draft,
): void {
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
    draft.additional.thinking = { type: "disabled" };
    return;
  }
  const tabled =
    reasoning.budget === null ? budgetOfEffort(reasoning.effort, table, EFFORTS) : null;
  const budget = reasoning.budget ?? tabled;
  if (tabled !== null) draft.dropped.add("effort_as_budget");
  else if (reasoning.effort !== "unspecified") writeEffort(reasoning.effort, request, draft);
  if (budget !== null) writeBudget(budget, request, draft);
  else if (reasoning.adaptive || reasoning.effort !== "unspecified")
    draft.additional.thinking = { type: "adaptive" };
}

/**
 * Counting has no member for the effort; the models that have one take it among their own fields.
 */
function writeEffort(
  effort: ReasoningEffort,
  { purpose }: GenerateRequest,
  { body, additional }: Draft,
): void {
  if (purpose === "count") additional.output_config = { effort };
  else body.outputConfig = { effort };
}

function writeBudget(budget: number, request: GenerateRequest, draft: Draft): void {
  const { purpose, maxOutputTokens: limit, turns } = request;
  if (budget < LEAST_BUDGET) {
    draft.refuse(
      "invalid_reasoning_budget",
      `The reasoning budget must be at least ${LEAST_BUDGET} tokens for an endpoint that may get the request`,
    );
  } else if (continuesWithoutSignedReasoning(turns)) {
    draft.dropped.add("reasoning_turned_off");
    draft.additional.thinking = { type: "disabled" };
    return;
  } else if (purpose === "generate" && limit !== null && limit <= budget) {
    draft.refuse(
      "invalid_reasoning_budget",
      "The reasoning budget must be below the output limit, which it is a part of; raise the limit or ask for less reasoning",
    );
  }
  draft.additional.thinking = { type: "enabled", budget_tokens: budget };
}

/** Flags of providers whose models have their own member for the effort, and how it is written. */
const EFFORT_FIELDS: readonly (readonly [
  string,
  (effort: ReasoningEffort, draft: Draft) => void,
])[] = [
  [
    "reasoning_config_field",
    (effort, { additional }) => {
      additional.reasoningConfig =
        effort === "none" ? { type: "disabled" } : { type: "enabled", maxReasoningEffort: effort };
    },
  ],
  [
    "reasoning_effort_field",
    (effort, { additional }) => {
      additional.reasoning_effort = effort;
    },
  ],
];

/**
 * The effort to send where there are no budgets: a budget becomes the effort of the largest budget
 * of the model's table that it covers.
 */
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
    draft.refuse(
      "invalid_reasoning_budget",
      "No endpoint that may get the request takes a reasoning budget",
    );
  return found;
}

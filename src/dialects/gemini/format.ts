import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type {
  GenerateRequest,
  OutputFormat,
  ReasoningRequest,
  Tool,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { dropMark, formatTurns, type Draft } from "./format-turns.ts";
import { methodPath, resourceName } from "./read-error.ts";
import { dropCacheHints, dropSchemaName, sentTier } from "../reasoning-effort.ts";

/** Prints a request for generateContent, its stream, or countTokens (docs/protocols.md#gemini). */
export function formatGemini(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const draft: Draft = { body: {}, config: {}, dropped: new Set(), details: new Set() };
  const { model, provider, endpoint } = target;
  const withIds = !provider.flags.includes("no_call_ids");
  const counts = request.purpose === "count";
  const problem =
    formatTurns(request.turns, { withIds, signs: model.signatureFamily !== null }, draft) ??
    (counts ? null : formatSampling(request, draft));
  if (problem !== null) return problem;
  formatTools(request, draft);
  formatOutput(request.format, draft);
  // The counter has no generation settings and no tool choice.
  const isConfigured =
    request.toolChoice !== null || request.tools.some(({ strict }) => strict === true);
  if (counts && (isConfigured || request.reasoning !== null)) draft.dropped.add("not_counted");
  if (!counts) formatReasoning(request.reasoning, model.reasoning, draft);
  formatDetail(draft);
  formatHints(request, draft);
  const method = counts
    ? "countTokens"
    : request.stream
      ? "streamGenerateContent"
      : "generateContent";
  return {
    path: methodPath(endpoint.upstreamModel, method),
    body: counts ? countBody(draft, target) : bodyOf(draft),
    headers: [],
    dropped: [...draft.dropped],
  };
}

function bodyOf({ body, config }: Draft): JsonObject {
  return Object.keys(config).length === 0 ? body : { ...body, generationConfig: config };
}

/** A count covers the input only. */
function countBody(draft: Draft, { endpoint, provider }: Target): JsonObject {
  const { toolConfig: _choice, ...read } = bodyOf(draft);
  if (provider.flags.includes("flat_count_tokens")) return read;
  return { generateContentRequest: { model: resourceName(endpoint.upstreamModel), ...read } };
}

function formatOutput(format: OutputFormat | null, { config, dropped }: Draft): void {
  if (format === null) return;
  config.responseMimeType = "application/json";
  if (format.kind === "json_object") return;
  dropSchemaName(format, dropped);
  config.responseJsonSchema = format.schema;
}

/** Levels of detail by their cost; one is for all images of the request. */
const RESOLUTIONS = { low: "MEDIA_RESOLUTION_LOW", high: "MEDIA_RESOLUTION_HIGH" } as const;

function formatDetail({ details, config, dropped }: Draft): void {
  if (details.has("auto")) dropped.add("image_detail_dropped");
  // The greatest detail requested for any image, so that no image gets less than its own.
  const detail = details.has("high") ? "high" : details.has("low") ? "low" : null;
  if (detail === null) return;
  dropped.add("image_detail_for_all");
  if (detail === "high" || details.size === 1) config.mediaResolution = RESOLUTIONS[detail];
}

/** Tiers of other protocols and their names in this one. */
const TIERS = {
  // The provider's default, as without the member.
  auto: null,
  default: "standard",
  flex: "flex",
  priority: "priority",
};

function formatHints(request: GenerateRequest, { body, dropped }: Draft): void {
  dropCacheHints(request, dropped);
  body.serviceTier = sentTier(request, TIERS, dropped);
}

/** Efforts that the protocol has. */
const LEVELS: readonly ReasoningEffort[] = ["minimal", "low", "medium", "high"];

/** The budget with which a model thinks as much as it likes. */
const DYNAMIC = -1;

/**
 * Writes `thinkingConfig`. Models take levels or budgets, never both at once: the table in
 * routes.yaml says which, and a model that takes no effort values has an empty list of efforts
 * there.
 */
function formatReasoning(
  reasoning: ReasoningRequest | null,
  table: ModelReasoning | null,
  draft: Draft,
): void {
  if (reasoning === null) return;
  const { effort, display } = reasoning;
  const amount = amountOf(reasoning, table, draft);
  if (display === "concise" || display === "detailed")
    draft.dropped.add("reasoning_display_dropped");
  const shown = display === "omitted" || effort === "none" ? {} : { includeThoughts: true };
  const config: JsonObject = { ...amount, ...shown };
  if (Object.keys(config).length > 0) draft.config.thinkingConfig = config;
}

function amountOf(
  { effort, budget, adaptive }: ReasoningRequest,
  table: ModelReasoning | null,
  draft: Draft,
): JsonObject {
  if (effort === "none") return { thinkingBudget: table?.budgets?.none ?? 0 };
  if (budget !== null) return { thinkingBudget: budget };
  if (effort === "unspecified")
    return adaptive && table?.efforts?.length === 0 ? { thinkingBudget: DYNAMIC } : {};
  const tabled = table?.budgets?.[effort];
  if ((table?.efforts ?? LEVELS).includes(effort) || tabled === undefined)
    return { thinkingLevel: effort };
  draft.dropped.add("effort_as_budget");
  return { thinkingBudget: tabled };
}

/** The most stop sequences that the protocol takes. */
const MOST_STOPS = 5;

/** Seeds are 32 bits. */
const GREATEST_SEED = 2 ** 31 - 1;
const LEAST_SEED = -(2 ** 31);

/** Writes the members of `generationConfig` that are numbers and texts of the caller. */
function formatSampling(request: GenerateRequest, draft: Draft): ServiceError | null {
  const { config, dropped } = draft;
  const { seed, stop, logprobs, maxOutputTokens } = request;
  if (stop.length > MOST_STOPS) {
    return invalidRequest(
      "too_many_stop_sequences",
      `An endpoint that may get the request takes at most ${MOST_STOPS} stop sequences`,
    );
  }
  if (seed !== null && (seed > GREATEST_SEED || seed < LEAST_SEED)) {
    return invalidRequest(
      "invalid_seed",
      `An endpoint that may get the request takes seeds from ${LEAST_SEED} to ${GREATEST_SEED}`,
    );
  }
  if (maxOutputTokens !== null) {
    // On the wire zero is the same as no limit at all.
    if (maxOutputTokens < 1) dropped.add("output_limit_raised");
    config.maxOutputTokens = Math.max(maxOutputTokens, 1);
  }
  if (request.temperature !== null) config.temperature = request.temperature;
  if (request.topP !== null) config.topP = request.topP;
  if (request.topK !== null) config.topK = request.topK;
  if (request.frequencyPenalty !== null) config.frequencyPenalty = request.frequencyPenalty;
  if (request.presencePenalty !== null) config.presencePenalty = request.presencePenalty;
  if (seed !== null) config.seed = seed;
  if (stop.length > 0) config.stopSequences = stop;
  if (logprobs !== null) {
    config.responseLogprobs = true;
    if (logprobs > 0) config.logprobs = logprobs;
    dropped.add("token_bytes_unknown");
  }
  return null;
}

/**
 * Writes `tools` and `toolConfig`. Schemas go whole: `parameters` would take a dialect of OpenAPI
 * only.
 */
function formatTools({ tools, toolChoice }: GenerateRequest, draft: Draft): void {
  if (tools.length > 0) {
    draft.body.tools = [{ functionDeclarations: tools.map((tool) => formatTool(tool, draft)) }];
  }
  const isStrict = tools.some(({ strict }) => strict === true);
  const isFree = toolChoice === null || toolChoice.mode === "auto";
  // Calls that are forced, limited to names or forbidden keep to their schemas without a flag.
  if (isStrict && !isFree) draft.dropped.add("hint_dropped");
  else if (isStrict && tools.some(({ strict }) => strict !== true))
    draft.dropped.add("tool_strictness_widened");
  const config = callingConfig(tools.length === 0, toolChoice, isStrict);
  if (config !== null) draft.body.toolConfig = { functionCallingConfig: config };
}

function formatTool({ name, description, parameters, cache }: Tool, draft: Draft): JsonObject {
  dropMark(cache, draft);
  return {
    name,
    description: description ?? undefined,
    parametersJsonSchema: parameters ?? undefined,
  };
}

/**
 * `null` where nothing is said that the absence of the member would not say. A call that must be
 * made and cannot is for the provider to refuse.
 */
function callingConfig(
  isWithoutTools: boolean,
  choice: ToolChoice | null,
  isStrict: boolean,
): JsonObject | null {
  const free = isStrict ? { mode: "VALIDATED" } : null;
  switch (choice?.mode) {
    case undefined:
      return free;
    case "auto":
      return isWithoutTools ? null : (free ?? { mode: "AUTO" });
    case "none":
      return isWithoutTools ? null : { mode: "NONE" };
    case "required":
      return { mode: "ANY" };
    case "named":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
    case "allowed":
      // AUTO takes no names; VALIDATED is free to answer in text too.
      return { mode: choice.required ? "ANY" : "VALIDATED", allowedFunctionNames: choice.names };
  }
}

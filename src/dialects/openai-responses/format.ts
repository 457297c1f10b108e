import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  GenerateRequest,
  Hints,
  OutputFormat,
  ReasoningRequest,
  Tool,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { ENCRYPTED_REASONING, MINIMUM_OUTPUT_TOKENS, OUTPUT_LOGPROBS } from "./fields.ts";
import { SERVICE_TIERS } from "../openai-chat/family.ts";
import { formatInput } from "./format-input.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../canon/request.ts";
import type { ModelRow } from "../../canon/table.ts";
import { effortOfBudget } from "../reasoning-effort.ts";

/**
 * Prints a request in canon as a provider of this protocol takes it. Nothing is kept there
 * (`store: false`); reasoning is requested sealed, so that clients can give it back.
 */
export function formatResponsesRequest(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const unsayable = unsayableMember(request);
  if (unsayable !== null) return unsayable;
  const dropped = new Set<DroppedField>();
  const body: Record<string, JsonValue> = { model: target.endpoint.upstreamModel };
  const { instructions, input, signed } = formatInput(request.turns, dropped);
  body["input"] = input;
  if (instructions !== null) body["instructions"] = instructions;
  if (request.tools.length > 0)
    body["tools"] = request.tools.map((tool) => formatTool(tool, dropped));
  if (request.toolChoice !== null) body["tool_choice"] = formatToolChoice(request.toolChoice);
  if (request.parallelToolCalls !== null) body["parallel_tool_calls"] = request.parallelToolCalls;
  const text = formatText(request.format, request.verbosity, dropped);
  if (text !== null) body["text"] = text;
  const reasoning = formatReasoning(request.reasoning, target.model, dropped);
  if (reasoning !== null) body["reasoning"] = reasoning;
  if (request.purpose === "count") {
    return { path: "/responses/input_tokens", body, headers: [], dropped: [...dropped] };
  }
  addSampling(request, body, dropped);
  addHints(request.hints, body, dropped);
  const sealed =
    (signed || wantsReasoning(request)) && !target.provider.flags.includes("no_include");
  const include = [
    ...(sealed ? [ENCRYPTED_REASONING] : []),
    ...(request.logprobs === null ? [] : [OUTPUT_LOGPROBS]),
  ];
  if (include.length > 0) body["include"] = include;
  body["store"] = false;
  if (request.stream) body["stream"] = true;
  return { path: "/responses", body, headers: [], dropped: [...dropped] };
}

/**
 * The decision keeps requests away whose features the protocol lacks; what slipped through must not
 * vanish.
 */
function unsayableMember({ stop, seed, topK, logitBias }: GenerateRequest): ServiceError | null {
  const name =
    stop.length > 0
      ? "stop"
      : seed !== null
        ? "seed"
        : topK !== null
          ? "top_k"
          : logitBias !== null
            ? "logit_bias"
            : null;
  if (name === null) return null;
  return invalidRequest(
    "unsupported_parameter",
    `${name} has no counterpart in the responses protocol`,
    name,
  );
}

function wantsReasoning({ reasoning }: GenerateRequest): boolean {
  return reasoning !== null && reasoning.effort !== "none";
}

function formatTool(
  { name, description, parameters, strict, cache }: Tool,
  dropped: Set<DroppedField>,
): JsonObject {
  if (cache !== null) dropped.add("cache_mark_dropped");
  // Strictness must be said: this protocol makes functions strict where nothing is.
  return { type: "function", name, description, parameters, strict: strict ?? false };
}

function formatToolChoice(choice: ToolChoice): JsonValue {
  switch (choice.mode) {
    case "auto":
    case "none":
    case "required":
      return choice.mode;
    case "named":
      return { type: "function", name: choice.name };
    case "allowed": {
      const tools = choice.names.map((name) => ({ type: "function", name }));
      return { type: "allowed_tools", mode: choice.required ? "required" : "auto", tools };
    }
  }
}

function formatText(
  format: OutputFormat | null,
  verbosity: string | null,
  dropped: Set<DroppedField>,
): JsonObject | null {
  if (format === null && verbosity === null) return null;
  return {
    ...(format === null ? {} : { format: formatFormat(format, dropped) }),
    ...(verbosity === null ? {} : { verbosity }),
  };
}

function formatFormat(format: OutputFormat, dropped: Set<DroppedField>): JsonObject {
  if (format.kind === "json_object") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  if (name === null) dropped.add("schema_name_made");
  return {
    type: "json_schema",
    name: name ?? "response",
    ...(description === null ? {} : { description }),
    schema,
    ...(strict === null ? {} : { strict }),
  };
}

function addSampling(
  request: GenerateRequest,
  body: Record<string, JsonValue>,
  dropped: Set<DroppedField>,
): void {
  const { temperature, topP, frequencyPenalty, presencePenalty, logprobs, maxOutputTokens } =
    request;
  if (temperature !== null) body["temperature"] = temperature;
  if (topP !== null) body["top_p"] = topP;
  if (frequencyPenalty !== null) body["frequency_penalty"] = frequencyPenalty;
  if (presencePenalty !== null) body["presence_penalty"] = presencePenalty;
  if (logprobs !== null) body["top_logprobs"] = logprobs;
  if (maxOutputTokens === null) return;
  if (maxOutputTokens < MINIMUM_OUTPUT_TOKENS) dropped.add("output_limit_raised");
  body["max_output_tokens"] = Math.max(maxOutputTokens, MINIMUM_OUTPUT_TOKENS);
}

function addHints(hints: Hints, body: Record<string, JsonValue>, dropped: Set<DroppedField>): void {
  const { serviceTier, promptCacheKey, promptCacheRetention } = hints;
  if (promptCacheKey !== null) body["prompt_cache_key"] = promptCacheKey;
  if (promptCacheRetention !== null) body["prompt_cache_retention"] = promptCacheRetention;
  if (serviceTier === null) return;
  if (SERVICE_TIERS.has(serviceTier)) {
    body["service_tier"] = serviceTier;
    return;
  }
  // The nearest value to another protocol's tier is the one without promises.
  body["service_tier"] = "default";
  dropped.add("service_tier_changed");
}

/** `reasoning` as the protocol takes it: enum values. `null` where there is nothing to say. */
function formatReasoning(
  reasoning: ReasoningRequest | null,
  model: ModelRow,
  dropped: Set<DroppedField>,
): JsonObject | null {
  if (reasoning === null) return null;
  const effort = formatEffort(reasoning, model, dropped);
  const summary = formatSummary(reasoning.display);
  if (effort === null && summary === null) return null;
  return { ...(effort === null ? {} : { effort }), ...(summary === null ? {} : { summary }) };
}

function formatEffort(
  { effort, budget }: ReasoningRequest,
  model: ModelRow,
  dropped: Set<DroppedField>,
): ReasoningEffort | null {
  if (budget !== null) dropped.add("budget_as_effort");
  if (effort !== "unspecified") return effort;
  return budget === null ? null : effortOfBudget(budget, model.reasoning, REASONING_EFFORTS);
}

/** Leaving reasoning out of the answer is what the protocol does unasked. */
function formatSummary(display: ReasoningRequest["display"]): string | null {
  if (display === "summarized") return "auto";
  return display === "omitted" ? null : display;
}

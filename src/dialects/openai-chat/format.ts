import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  GenerateRequest,
  OutputFormat,
  Tool,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { applyFlags } from "./message-deviations.ts";
import type { EditableBody } from "./body-members.ts";
import { effortOfBudget } from "../reasoning-effort.ts";
import { SERVICE_TIERS } from "./family.ts";
import { formatTurns } from "./format-turns.ts";

/** What to call a schema that came without a name, which this protocol demands. */
const SCHEMA_NAME = "response";

/** Other protocols' values for one of them. */
const OTHER_TIERS: ReadonlyMap<string, string> = new Map([["standard_only", "default"]]);

/** Prints a request as providers of this protocol take it. */
export function formatChat(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const unsupported = unsupportedField(request);
  if (unsupported !== null) return unsupported;
  const dropped = new Set<DroppedField>();
  const messages = formatTurns(request.turns, target, dropped);
  if ("code" in messages) return messages;
  const body: EditableBody = { model: target.endpoint.upstreamModel, messages: messages.list };
  writeTools(body, request, dropped);
  writeNumbers(body, request);
  if (request.format !== null) body["response_format"] = formatSchema(request.format, dropped);
  writeReasoning(body, request.reasoning, target, dropped);
  if (request.verbosity !== null) body["verbosity"] = request.verbosity;
  writeHints(body, request, dropped);
  const { flags } = target.provider;
  if (!flags.includes("no_store_field")) body["store"] = false;
  if (request.stream) {
    body["stream"] = true;
    if (!flags.includes("no_stream_options")) body["stream_options"] = { include_usage: true };
  }
  for (const field of applyFlags(body, flags).dropped) dropped.add(field);
  return { path: "/chat/completions", body, headers: [], dropped: [...dropped].toSorted() };
}

/**
 * The decision keeps such requests away; one that gets here all the same must not lose what it
 * says.
 */
function unsupportedField(request: GenerateRequest): ServiceError | null {
  const what =
    request.purpose === "count" ? "token counting" : request.topK === null ? null : "top_k";
  if (what === null) return null;
  return invalidRequest("feature_not_supported", `The chat completions protocol has no ${what}`);
}

function writeTools(
  body: EditableBody,
  request: GenerateRequest,
  dropped: Set<DroppedField>,
): void {
  if (request.tools.length === 0) return;
  body["tools"] = request.tools.map((tool) => {
    if (tool.cache !== null) dropped.add("cache_mark_dropped");
    return { type: "function", function: formatTool(tool) };
  });
  if (request.toolChoice !== null) body["tool_choice"] = formatChoice(request.toolChoice);
  if (request.parallelToolCalls !== null) body["parallel_tool_calls"] = request.parallelToolCalls;
}

function formatTool({ name, description, parameters, strict }: Tool): JsonObject {
  return {
    name,
    ...(description === null ? {} : { description }),
    ...(parameters === null ? {} : { parameters }),
    ...(strict === null ? {} : { strict }),
  };
}

function formatChoice(choice: ToolChoice): JsonValue {
  switch (choice.mode) {
    case "auto":
    case "none":
    case "required":
      return choice.mode;
    case "named":
      return { type: "function", function: { name: choice.name } };
    case "allowed":
      return {
        type: "allowed_tools",
        allowed_tools: {
          mode: choice.required ? "required" : "auto",
          tools: choice.names.map((name) => ({ type: "function", function: { name } })),
        },
      };
  }
}

function writeNumbers(body: EditableBody, request: GenerateRequest): void {
  const members: readonly (readonly [string, JsonValue])[] = [
    ["max_completion_tokens", request.maxOutputTokens],
    ["temperature", request.temperature],
    ["top_p", request.topP],
    ["frequency_penalty", request.frequencyPenalty],
    ["presence_penalty", request.presencePenalty],
    ["logit_bias", request.logitBias],
    ["seed", request.seed],
  ];
  for (const [name, value] of members) if (value !== null) body[name] = value;
  if (request.stop.length > 0) body["stop"] = request.stop;
  if (request.logprobs === null) return;
  body["logprobs"] = true;
  if (request.logprobs > 0) body["top_logprobs"] = request.logprobs;
}

function formatSchema(format: OutputFormat, dropped: Set<DroppedField>): JsonObject {
  if (format.kind === "json_object") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  if (name === null) dropped.add("schema_name_made");
  return {
    type: "json_schema",
    json_schema: {
      name: name ?? SCHEMA_NAME,
      ...(description === null ? {} : { description }),
      schema,
      ...(strict === null ? {} : { strict }),
    },
  };
}

function writeReasoning(
  body: EditableBody,
  reasoning: GenerateRequest["reasoning"],
  { model, provider }: Target,
  dropped: Set<DroppedField>,
): void {
  // Such a provider's own member has budgets, and a value that leaves the amount to the model.
  if (reasoning?.effort === "unspecified" && provider.flags.includes("reasoning_object")) {
    const { budget, adaptive, display } = reasoning;
    if (display !== null) dropped.add("reasoning_display_dropped");
    if (budget !== null) body["reasoning"] = { max_tokens: budget };
    else if (adaptive) body["reasoning"] = { enabled: true };
    return;
  }
  const effort = effortOf(reasoning, model.reasoning, dropped);
  if (effort !== "unspecified") body["reasoning_effort"] = effort;
}

/**
 * The value to send: this protocol has no budgets, so one becomes the effort of the largest budget
 * of the model's table that it covers.
 */
function effortOf(
  reasoning: GenerateRequest["reasoning"],
  model: ModelReasoning | null,
  dropped: Set<DroppedField>,
): ReasoningEffort {
  if (reasoning === null) return "unspecified";
  const { effort, budget, adaptive, display } = reasoning;
  if (display !== null) dropped.add("reasoning_display_dropped");
  if (budget !== null) dropped.add("budget_as_effort");
  if (effort !== "unspecified") return effort;
  if (budget !== null) return effortOfBudget(budget, model, REASONING_EFFORTS) ?? "unspecified";
  // How much to think is the model's to decide here where not given.
  if (adaptive) dropped.add("hint_dropped");
  return "unspecified";
}

function writeHints(
  body: EditableBody,
  { hints }: GenerateRequest,
  dropped: Set<DroppedField>,
): void {
  const { serviceTier, promptCacheKey, promptCacheRetention } = hints;
  if (serviceTier !== null) {
    const tier = SERVICE_TIERS.has(serviceTier) ? serviceTier : OTHER_TIERS.get(serviceTier);
    if (tier !== serviceTier) dropped.add("service_tier_changed");
    if (tier !== undefined) body["service_tier"] = tier;
  }
  if (promptCacheKey !== null) body["prompt_cache_key"] = promptCacheKey;
  if (promptCacheRetention !== null) body["prompt_cache_retention"] = promptCacheRetention;
}

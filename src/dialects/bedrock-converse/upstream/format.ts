import type { ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonValue } from "../../../canon/json.ts";
import type { FormattedRequest, Target } from "../../dialect.ts";
import { Draft } from "./format-parts.ts";
import { formatReasoning } from "./format-reasoning.ts";
import { formatTools } from "./format-tools.ts";
import { formatTurns } from "./format-turns.ts";

/** Prints a request for Bedrock's Converse, ConverseStream or CountTokens (docs/protocols.md#bedrock-converse). */
export function formatConverse(request: GenerateRequest, target: Target): FormattedRequest | ServiceError {
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
  const { promptCacheKey, promptCacheRetention } = request.hints;
  if (promptCacheKey !== null || promptCacheRetention !== null) dropped.add("cache_hint_dropped");
  if (Object.keys(additional).length > 0) body["additionalModelRequestFields"] = additional;
  if (draft.refusal !== null) return draft.refusal;
  const operation = counts ? "count-tokens" : request.stream ? "converse-stream" : "converse";
  return {
    path: `/model/${encodeURIComponent(target.endpoint.upstreamModel)}/${operation}`,
    body: counts ? { input: { converse: body } } : body,
    headers: [],
    dropped: [...dropped],
  };
}

/** The decision keeps such requests away; one that gets here all the same must not lose what it says. */
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
    if (value !== null) draft.refuse("feature_not_supported", `The converse protocol has no ${what}`);
}

function formatInference(request: GenerateRequest, { body }: Draft): void {
  const { maxOutputTokens, temperature, topP, stop } = request;
  const inference: Record<string, JsonValue> = {};
  if (maxOutputTokens !== null) inference["maxTokens"] = maxOutputTokens;
  if (temperature !== null) inference["temperature"] = temperature;
  if (topP !== null) inference["topP"] = topP;
  if (stop.length > 0) inference["stopSequences"] = stop;
  if (Object.keys(inference).length > 0) body["inferenceConfig"] = inference;
}

/** A field of the model; only model rows that accept the feature get here. */
function formatTopK({ topK }: GenerateRequest, { provider }: Target, { additional }: Draft): void {
  if (topK === null) return;
  if (provider.flags.includes("reasoning_config_field")) additional["inferenceConfig"] = { topK };
  else additional["top_k"] = topK;
}

function formatOutput({ format }: GenerateRequest, { body, dropped }: Draft): void {
  if (format?.kind !== "json_schema") return;
  const { name, description, schema, strict } = format;
  if (strict !== null) dropped.add("schema_name_dropped");
  const jsonSchema = {
    // A text by the protocol, so that it need not be able to say every number.
    schema: JSON.stringify(schema),
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
  };
  const effort = body["outputConfig"];
  body["outputConfig"] = {
    ...(isJsonObject(effort) ? effort : {}),
    textFormat: { type: "json_schema", structure: { jsonSchema } },
  };
}

/** The tiers of other protocols that this one has a value for. */
const TIERS: ReadonlyMap<string, string> = new Map([
  ["default", "default"],
  ["standard_only", "default"],
  ["flex", "flex"],
  ["priority", "priority"],
]);

function formatTier({ hints: { serviceTier } }: GenerateRequest, { body, dropped }: Draft): void {
  if (serviceTier === null) return;
  const type = TIERS.get(serviceTier);
  if (type !== undefined) body["serviceTier"] = { type };
  if (type !== serviceTier) dropped.add("service_tier_changed");
}

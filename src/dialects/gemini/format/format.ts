import type { ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest, OutputFormat } from "../../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { FormattedRequest, Target } from "../../dialect.ts";
import { methodPath, resourceName } from "../paths.ts";
import type { Draft } from "./draft.ts";
import { formatReasoning } from "./format-reasoning.ts";
import { formatSampling } from "./format-sampling.ts";
import { formatTools } from "./format-tools.ts";
import { formatTurns } from "./format-turns.ts";

/** Prints a request for generateContent, its stream, or countTokens (docs/protocols.md#gemini). */
export function formatGemini(request: GenerateRequest, target: Target): FormattedRequest | ServiceError {
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
  const isConfigured = request.toolChoice !== null || request.tools.some(({ strict }) => strict === true);
  if (counts && (isConfigured || request.reasoning !== null)) draft.dropped.add("not_counted");
  if (!counts) formatReasoning(request.reasoning, model.reasoning, draft);
  formatDetail(draft);
  formatHints(request, draft);
  const method = counts ? "countTokens" : request.stream ? "streamGenerateContent" : "generateContent";
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

/** What is counted is what the model reads; how it may answer is not part of it. */
function countBody(draft: Draft, { endpoint, provider }: Target): JsonObject {
  const { toolConfig: _choice, ...read } = bodyOf(draft);
  if (provider.flags.includes("flat_count_tokens")) return read;
  return { generateContentRequest: { model: resourceName(endpoint.upstreamModel), ...read } };
}

function formatOutput(format: OutputFormat | null, { config, dropped }: Draft): void {
  if (format === null) return;
  config["responseMimeType"] = "application/json";
  if (format.kind === "json_object") return;
  if (format.name !== null || format.description !== null || format.strict !== null) dropped.add("schema_name_dropped");
  config["responseJsonSchema"] = format.schema;
}

/** Levels of detail by their cost; one is for all images of the request. */
const RESOLUTIONS = { low: "MEDIA_RESOLUTION_LOW", high: "MEDIA_RESOLUTION_HIGH" } as const;

function formatDetail({ details, config, dropped }: Draft): void {
  if (details.has("auto")) dropped.add("image_detail_dropped");
  // The greatest detail that any image was asked for, so that none is seen worse than asked.
  const detail = details.has("high") ? "high" : details.has("low") ? "low" : null;
  if (detail === null) return;
  dropped.add("image_detail_for_all");
  if (detail === "high" || details.size === 1) config["mediaResolution"] = RESOLUTIONS[detail];
}

/** The tiers of other protocols that this one has a word for. */
const TIERS: Readonly<Record<string, string>> = { default: "standard", flex: "flex", priority: "priority" };

function formatHints({ hints, purpose }: GenerateRequest, { body, dropped }: Draft): void {
  if (hints.promptCacheKey !== null || hints.promptCacheRetention !== null) dropped.add("cache_hint_dropped");
  const { serviceTier } = hints;
  // Who says `auto` gets what everybody gets who does not ask.
  if (serviceTier === null || serviceTier === "auto" || purpose === "count") return;
  const word = Object.hasOwn(TIERS, serviceTier) ? TIERS[serviceTier] : undefined;
  if (word !== undefined) body["serviceTier"] = word;
  if (word !== serviceTier) dropped.add("service_tier_changed");
}

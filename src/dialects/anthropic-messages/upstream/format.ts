import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { FormattedRequest, Target } from "../../dialect.ts";
import { COUNT_PATH, MESSAGES_PATH } from "../paths.ts";
import { VERSIONS } from "../surface/version.ts";
import { formatReasoning } from "./format-reasoning.ts";
import { formatToolChoice, formatTools } from "./format-tools.ts";
import { formatTurns } from "./format-turns.ts";
import type { Draft } from "./draft.ts";

/** Prints a request as messages (docs/protocols.md#messages). */
export function formatMessages(request: GenerateRequest, target: Target): FormattedRequest | ServiceError {
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
function formatLimit(request: GenerateRequest, { model }: Target, { body, dropped }: Draft): ServiceError | null {
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
  if (format.name !== null || format.description !== null || format.strict !== null) dropped.add("schema_name_dropped");
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

/** The tiers of other protocols that this one has a word for. */
const TIERS: Readonly<Record<string, string>> = { auto: "auto", default: "standard_only" };

function formatHints({ hints, purpose }: GenerateRequest, { body, dropped }: Draft): void {
  if (hints.promptCacheKey !== null || hints.promptCacheRetention !== null) dropped.add("cache_hint_dropped");
  const { serviceTier } = hints;
  if (serviceTier === null || purpose === "count") return;
  const word = Object.hasOwn(TIERS, serviceTier) ? TIERS[serviceTier] : undefined;
  if (word !== undefined) body["service_tier"] = word;
  if (word !== serviceTier) dropped.add("service_tier_changed");
}

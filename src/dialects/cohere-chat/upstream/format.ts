import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { FormattedRequest, Target } from "../../dialect.ts";
import { lacking, type Draft } from "./draft.ts";
import { formatReasoning } from "./format-reasoning.ts";
import { formatSampling } from "./format-sampling.ts";
import { formatTools } from "./format-tools.ts";
import { formatTurns } from "./format-turns.ts";

/** Where providers answer, after their base URL. */
const PATH = "/v2/chat";

/** Prints a request in Cohere's second chat protocol (docs/protocols.md#cohere-chat). */
export function formatCohere(request: GenerateRequest, target: Target): FormattedRequest | ServiceError {
  const draft: Draft = { body: { model: target.endpoint.upstreamModel }, dropped: new Set() };
  const problem =
    unsupportedField(request) ??
    formatTurns(request.turns, target, draft) ??
    formatTools(request, draft) ??
    formatSampling(request, draft) ??
    formatReasoning(request.reasoning, target, draft) ??
    formatOutput(request, draft);
  if (problem !== null) return problem;
  if (request.maxOutputTokens !== null) draft.body["max_tokens"] = request.maxOutputTokens;
  dropHints(request, draft);
  // The protocol's description demands the member, whatever its value.
  draft.body["stream"] = request.stream;
  return { path: PATH, body: draft.body, headers: [], dropped: [...draft.dropped].toSorted() };
}

/** The decision keeps such requests away; one that gets here all the same must not lose what it says. */
function unsupportedField({ purpose, logitBias, verbosity }: GenerateRequest): ServiceError | null {
  if (purpose === "count") return lacking("token counting");
  if (logitBias !== null) return lacking("logit_bias");
  return verbosity === null ? null : lacking("verbosity");
}

/** A schema makes the mode that gives any object give one of its kind. */
function formatOutput({ format }: GenerateRequest, { body, dropped }: Draft): ServiceError | null {
  if (format === null) return null;
  if (body["tools"] !== undefined) {
    return invalidRequest(
      "unsupported_combination",
      "An endpoint that may get the request takes no response format together with tools; leave one of them out",
    );
  }
  if (format.kind === "json_object") {
    body["response_format"] = { type: "json_object" };
    return null;
  }
  if (format.name !== null || format.description !== null || format.strict !== null) dropped.add("schema_name_dropped");
  body["response_format"] = { type: "json_object", json_schema: format.schema };
  return null;
}

/** The protocol has neither service tiers nor words about what a provider may keep. `auto` is the tier of everybody who does not ask. */
function dropHints({ hints }: GenerateRequest, { dropped }: Draft): void {
  if (hints.serviceTier !== null && hints.serviceTier !== "auto") dropped.add("service_tier_changed");
  if (hints.promptCacheKey !== null || hints.promptCacheRetention !== null) dropped.add("cache_hint_dropped");
}

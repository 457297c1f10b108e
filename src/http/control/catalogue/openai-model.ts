import type { JsonObject } from "../../../canon/json.ts";
import type { Denial } from "../../../canon/decision.ts";
import type { ListedRoute } from "./usable-routes.ts";

/** An entry of GET /v1/models. */
export function openAiModel(usable: ListedRoute): JsonObject {
  return {
    id: usable.route.id,
    object: "model",
    // Required by clients of this shape; a route has no date of creation.
    created: 0,
    owned_by: "signalbox",
    capabilities: usable.capabilities,
    ...routeFacts(usable),
  };
}

/** The members that both shapes of the catalogue share (docs/api.md#models). */
export function routeFacts({
  operations,
  candidates,
  contextWindow,
  maxOutputTokens,
  dimensions,
  denial,
}: ListedRoute): JsonObject {
  const [, ...fallbacks] = candidates;
  return {
    available: denial === null,
    denial: denial === null ? null : denialFacts(denial),
    operations,
    regions: [...new Set(candidates.map(({ endpoint }) => endpoint.region))].toSorted(),
    // A request may be answered over unencrypted http, in a network of the operator's.
    plaintext: candidates.some(({ endpoint }) => endpoint.plaintext === true),
    context_window: contextWindow,
    max_output_tokens: maxOutputTokens,
    dimensions,
    fallbacks: fallbacks.map(({ endpoint: { model, provider, region } }) => ({ model, provider, region })),
  };
}

/** The message of the 403 that a plain request would get. */
function denialFacts({ policy, revision, mode, constraint, reason }: Denial): JsonObject {
  return { policy: { id: policy, revision, mode }, failed_constraint: constraint, reason_code: reason };
}

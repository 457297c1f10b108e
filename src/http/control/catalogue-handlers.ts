import { callerBudget } from "../admission.ts";
import { serviceError, type Denial, type ServiceError } from "../../canon/error.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { modelInfo } from "../../dialects/anthropic-messages/contract.ts";
import { page } from "./catalogue-page.ts";
import { listedRoute, listedRoutes, type ListedRoute } from "./usable-routes.ts";
import type { ControlAnswer, ControlCall, ControlHandler } from "./control-call.ts";

/** Routes as models, in the two shapes that clients list models in (docs/api.md#models). */
export const CATALOGUE_HANDLERS = {
  listModels: async (call) => {
    const routes = await listed(call);
    return "code" in routes ? routes : { json: { object: "list", data: routes.map(openAiModel) } };
  },
  retrieveModel: (call) => oneOf(call, openAiModel),
  listAnthropicModels: async (call) => {
    const routes = await listed(call);
    if ("code" in routes) return routes;
    const items = routes.map((usable) => ({ id: usable.route.id, usable }));
    return page(items, call.url.searchParams, ({ usable }) => anthropicModel(usable));
  },
  retrieveAnthropicModel: (call) => oneOf(call, anthropicModel),
} as const satisfies Record<string, ControlHandler>;

/**
 * What a plain request of the key gets through with; with `all=true` the workspace's other routes
 * too.
 */
async function listed(call: ControlCall): Promise<readonly ListedRoute[] | ServiceError> {
  const { runtime, snapshot, identity, operations, url } = call;
  if (identity === null) return [];
  const budget = await callerBudget(runtime, snapshot, identity);
  if (typeof budget === "object") return budget;
  const routes = listedRoutes(snapshot.decider, identity, servedOperations(operations), budget);
  return url.searchParams.get("all") === "true"
    ? routes
    : routes.filter(({ denial }) => denial === null);
}

/** The entry that the path names. */
async function oneOf(
  call: ControlCall,
  print: (listed: ListedRoute) => JsonObject,
): Promise<ControlAnswer> {
  const { runtime, snapshot, identity, parameter, operations } = call;
  const budget = identity === null ? undefined : await callerBudget(runtime, snapshot, identity);
  if (typeof budget === "object") return budget;
  const found =
    identity === null || parameter === null
      ? null
      : listedRoute(snapshot.decider, identity, servedOperations(operations), parameter, budget);
  if (found !== null) return { json: print(found) };
  return serviceError(
    404,
    "not_found",
    "model_not_found",
    "No route of this name is available to the workspace.",
    {
      param: "model",
    },
  );
}

function servedOperations(operations: ControlCall["operations"]): readonly Operation[] {
  return [...operations.values()].map(({ operation }) => operation);
}

/** An entry of GET /api/v1/models: the protocol's members, and those of the other shape. */
function anthropicModel(usable: ListedRoute): JsonObject {
  return { ...modelInfo(usable), ...routeFacts(usable) };
}

/** An entry of GET /v1/models. */
function openAiModel(usable: ListedRoute): JsonObject {
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
function routeFacts({
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
    fallbacks: fallbacks.map(({ endpoint: { model, provider, region } }) => ({
      model,
      provider,
      region,
    })),
  };
}

/** The message of the 403 that a plain request would get. */
function denialFacts({ policy, revision, mode, constraint, reason }: Denial): JsonObject {
  return {
    policy: { id: policy, revision, mode },
    failed_constraint: constraint,
    reason_code: reason,
  };
}

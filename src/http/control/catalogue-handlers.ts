import { TEXT } from "../../canon/json/schema.ts";
import { serviceError, type Denial } from "../../canon/error.ts";
import type { JsonObject } from "../../canon/json.ts";
import { modelInfo } from "../../dialects/anthropic-messages/dialect.ts";
import { listedRoute, listedRoutes, type ListedRoute } from "./usable-routes.ts";
import { callerBudget } from "../admission.ts";
import { RefusalError, badRequest, orRefuse } from "../refusal.ts";
import { type ControlAnswer, type ControlCall, type ControlHandler } from "./control-call.ts";
import { callerOf, readCount } from "./query.ts";

/** Stages of life that Anthropic's models have; routes have the first only. */
const LIFECYCLES = ["active", "deprecated", "retired"] as const;

/** Query parameter of both lists, for /openapi.json. */
export const ALL_QUERY = {
  all: {
    type: "boolean",
    default: false,
    description:
      "Includes routes of the workspace on which a plain request of this key is denied, with the reason.",
  },
} as const;

/** Query parameters of a list in Anthropic's shape, for /openapi.json. */
export const PAGE_QUERY = {
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 1_000,
    default: 20,
    description: "Maximum number of entries.",
  },
  after_id: { ...TEXT, description: "The page after this id." },
  before_id: { ...TEXT, description: "The page before this id; excludes `after_id`." },
  "lifecycle[]": {
    type: "array",
    items: { enum: LIFECYCLES },
    description: "Every model here is `active`.",
  },
} as const;

interface PageBounds {
  readonly limit: number;
  readonly after: string | null;
  readonly before: string | null;
  /** The caller filters for stages of life that no route has. */
  readonly isEmpty: boolean;
}

/**
 * One page of a list that is sorted by id, in Anthropic's shape. An id marks a position in the
 * order, whether or not it is on the list: a route that a reload takes away between two pages does
 * not break a client's walk.
 *
 * @param items sorted by id.
 */
export function page<Item extends { readonly id: string }>(
  items: readonly Item[],
  query: URLSearchParams,
  print: (item: Item) => JsonObject,
): { readonly json: JsonObject } {
  const { limit, after, before, isEmpty } = readBounds(query);
  const wanted = items.filter(
    ({ id }) => !isEmpty && (after === null || id > after) && (before === null || id < before),
  );
  const shown = before === null ? wanted.slice(0, limit) : wanted.slice(-limit);
  return {
    json: {
      data: shown.map(print),
      has_more: shown.length < wanted.length,
      first_id: shown[0]?.id ?? null,
      last_id: shown.at(-1)?.id ?? null,
    },
  };
}

function readBounds(query: URLSearchParams): PageBounds {
  const limit = readCount(query, "limit", PAGE_QUERY);
  const after = query.get("after_id");
  const before = query.get("before_id");
  if (after !== null && before !== null) {
    throw badRequest(
      "invalid_cursor",
      "after_id and before_id exclude each other; send one of them",
      "before_id",
    );
  }
  const lifecycles = [...query.getAll("lifecycle[]"), ...query.getAll("lifecycle")];
  if (lifecycles.some((lifecycle) => !LIFECYCLES.some((known) => known === lifecycle))) {
    throw badRequest(
      "invalid_value",
      `lifecycle[] must be one of ${LIFECYCLES.join(", ")}`,
      "lifecycle[]",
    );
  }
  return { limit, after, before, isEmpty: lifecycles.length > 0 && !lifecycles.includes("active") };
}

/** Routes as models, in the two shapes that clients list models in (docs/api.md#models). */
export const CATALOGUE_HANDLERS = {
  listModels: async (call) => ({
    json: { object: "list", data: (await listed(call)).map(openAiModel) },
  }),
  retrieveModel: (call) => oneOf(call, openAiModel),
  listAnthropicModels: async (call) => {
    const items = (await listed(call)).map((usable) => ({ id: usable.route.id, usable }));
    return page(items, call.url.searchParams, ({ usable }) => anthropicModel(usable));
  },
  retrieveAnthropicModel: (call) => oneOf(call, anthropicModel),
} as const satisfies Record<string, ControlHandler>;

/**
 * Routes on which a plain request of the key gets through; with `all=true` the workspace's other
 * routes too.
 */
async function listed(call: ControlCall): Promise<readonly ListedRoute[]> {
  const { decider, identity, served, budget } = await callersView(call);
  const routes = listedRoutes(decider, identity, served, budget);
  return call.url.searchParams.get("all") === "true"
    ? routes
    : routes.filter(({ denial }) => denial === null);
}

/** The entry that the path names. */
async function oneOf(
  call: ControlCall,
  print: (listed: ListedRoute) => JsonObject,
): Promise<ControlAnswer> {
  const { decider, identity, served, budget } = await callersView(call);
  const found = listedRoute(decider, identity, served, call.parameter, budget);
  if (found !== null) return { json: print(found) };
  const message = "No route of this name is available to the workspace.";
  throw new RefusalError(
    serviceError(404, "not_found", "model_not_found", message, { param: "model" }),
  );
}

async function callersView(call: ControlCall) {
  const { runtime, snapshot, operations } = call;
  const identity = callerOf(call);
  const budget = orRefuse(await callerBudget(runtime, snapshot, identity));
  const served = [...operations.values()].map(({ operation }) => operation);
  return { decider: snapshot.decider, identity, served, budget };
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

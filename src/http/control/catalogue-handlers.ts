import { TEXT } from "../../canon/json/schema.ts";
import { type Denial, serviceError } from "../../canon/error.ts";
import type { JsonObject } from "../../canon/json.ts";
import { modelInfo } from "../../dialects/anthropic-messages/dialect.ts";
import { callerBudget } from "../admission.ts";
import { badRequest, orRefuse, RefusalError } from "../refusal.ts";
import type { ControlAnswer, ControlCall, ControlHandler } from "./control-call.ts";
import { callerOf, readCount } from "./query.ts";
import type { BudgetStep } from "../../canon/limits.ts";
import { allowsOperation, allowsRoute } from "../../canon/credentials/narrowing.ts";
import type { Candidate } from "../../canon/decision.ts";
import { type Capability, CAPABILITY_NAMES, type Feature } from "../../canon/capability.ts";
import type { Identity } from "../../canon/identity.ts";
import { MODEL_OPERATION_OF, type Operation } from "../../canon/operation.ts";
import type { PolicySet } from "../../canon/policy.ts";
import { ALWAYS_USED, type ProviderPreferences, type RequestShape } from "../../canon/request.ts";
import type { ModelRow, RouteRow, RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { decide } from "../../decide/decide.ts";
import type { Decider } from "../../decide/decider.ts";
import { remember } from "../../canon/remember.ts";

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
  const inRange = items.filter(
    ({ id }) => !isEmpty && (after === null || id > after) && (before === null || id < before),
  );
  const shown = before === null ? inRange.slice(0, limit) : inRange.slice(-limit);
  return {
    json: {
      data: shown.map(print),
      has_more: shown.length < inRange.length,
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
  if (lifecycles.some((lifecycle) => !LIFECYCLES.some((value) => value === lifecycle))) {
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
    json: { object: "list", data: (await visibleRoutes(call)).map(openAiModel) },
  }),
  retrieveModel: (call) => oneOf(call, openAiModel),
  listAnthropicModels: async (call) => {
    const items = (await visibleRoutes(call)).map((usable) => ({ id: usable.route.id, usable }));
    return page(items, call.url.searchParams, ({ usable }) => anthropicModel(usable));
  },
  retrieveAnthropicModel: (call) => oneOf(call, anthropicModel),
} as const satisfies Record<string, ControlHandler>;

/**
 * Routes on which a plain request of the key gets through; with `all=true` the workspace's other
 * routes too.
 */
async function visibleRoutes(call: ControlCall): Promise<readonly ListedRoute[]> {
  const { decider, identity, served, budget } = await callersView(call);
  const routes = listedRoutes(decider, identity, served, budget);
  return call.url.searchParams.get("all") === "true"
    ? routes
    : routes.filter(({ denial }) => denial === null);
}

/** The entry that the path names. */
async function oneOf(
  call: ControlCall,
  print: (route: ListedRoute) => JsonObject,
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

/** A route as one workspace may use it. */
export interface UsableRoute {
  readonly route: RouteRow;
  /**
   * Of the operations served, those that the workspace's requests get through with; at least one.
   */
  readonly operations: readonly Operation[];
  /** Capabilities that requests may need, in the order of `canon/capability.ts`. */
  readonly capabilities: readonly Capability[];
  /** Where requests go, in the order of trying; empty where every request is denied. */
  readonly candidates: readonly Candidate[];
  /** Tokens; the least of all endpoints, `null` where one does not declare it. */
  readonly contextWindow: number | null;
  /** Tokens; the same. */
  readonly maxOutputTokens: number | null;
  /** Vector lengths that may be requested. Ascending. */
  readonly dimensions: readonly number[];
  /** Whether a request of the operation that needs and uses these would be routed. */
  readonly serves: (
    operation: Operation,
    needs: readonly Capability[],
    features: readonly Feature[],
  ) => boolean;
}

/**
 * Routes that the key's workspace may use, sorted by id. Each route is tried with the decision
 * itself, so that the catalogue and calls agree: endpoints that are not approved do not count, and
 * a route that is denied because of one is not listed. Policies are not evaluated here ({@link
 * listedRoutes} evaluates them for a plain request).
 *
 * @param served operations that this server has an endpoint for.
 */
export function usableRoutes(
  table: RoutingTable,
  identity: Identity,
  served: readonly Operation[],
): readonly UsableRoute[] {
  const workspace = workspaceOf(table, identity);
  if (workspace === undefined) return [];
  const lists = remember(LISTS, table, () => new Map());
  const { routes = null, operations = null } = identity.narrowed ?? {};
  const key = JSON.stringify([workspace.id, served, routes, operations]);
  return remember(lists, key, () => {
    if (lists.size >= MAXIMUM_LISTS) lists.clear();
    return workspace.approve.routes
      .toSorted()
      .flatMap((id) => usableRoute(table, identity, served, id) ?? []);
  });
}

/** Workspaces, and the kinds of tokens that they give out. */
const MAXIMUM_LISTS = 1_000;

/**
 * Lists made before, by table: with a hundred routes one takes ten milliseconds, in which no other
 * request is served. They go with the table.
 */
const LISTS = new WeakMap<RoutingTable, Map<string, readonly UsableRoute[]>>();

/** A route of the workspace, with the result of a plain request to it. */
interface ListedRoute extends UsableRoute {
  /**
   * Why a plain request of the key is denied, for each of its operations; `null` where one gets
   * through.
   */
  readonly denial: Denial | null;
}

/**
 * Every route that the workspace approves, sorted by id, with the present result of a plain request
 * of this key: one without tools, images or preferences. Policies are evaluated, so the answer
 * depends on the key's environment, workload and labels, and on the time and the budget where a
 * policy reads them.
 */
function listedRoutes(
  decider: Decider,
  identity: Identity,
  served: readonly Operation[],
  budget: BudgetStep | undefined,
): readonly ListedRoute[] {
  const { table } = decider;
  const usable = new Map(usableRoutes(table, identity, served).map((one) => [one.route.id, one]));
  const approved = workspaceOf(table, identity)?.approve.routes ?? [];
  return approved.toSorted().flatMap((id) => {
    const route = Object.hasOwn(table.routes, id) ? table.routes[id] : undefined;
    if (route === undefined || !allowsRoute(identity, id)) return [];
    const usableEntry = usable.get(id) ?? { ...UNUSABLE, route };
    return withDenial(decider, identity, served, usableEntry, budget) ?? [];
  });
}

/** The same of one route; `null` where the workspace may not use it with any request. */
function listedRoute(
  decider: Decider,
  identity: Identity,
  served: readonly Operation[],
  id: string,
  budget: BudgetStep | undefined,
): ListedRoute | null {
  const usableEntry = usableRoute(decider.table, identity, served, id);
  return usableEntry === null ? null : withDenial(decider, identity, served, usableEntry, budget);
}

/**
 * `null` where the caller may do none of the work that the route does: to it, the route is not
 * there.
 */
function withDenial(
  decider: Decider,
  identity: Identity,
  served: readonly Operation[],
  usable: UsableRoute,
  budget: BudgetStep | undefined,
): ListedRoute | null {
  const { route, dimensions } = usable;
  let denial: Denial | null = null;
  for (const operation of served) {
    if (
      !route.operations.includes(MODEL_OPERATION_OF[operation]) ||
      !allowsOperation(identity, operation)
    )
      continue;
    const shape = shapeOf(operation, {
      dimensions: operation === "embeddings" ? (dimensions[0] ?? null) : null,
    });
    const question = { model: route.id, shape, preferences: null, budget };
    const decision = decider.decideRequest(identity, question);
    if (decision.outcome === "route") return { ...usable, denial: null };
    denial ??= decision.denial;
  }
  return denial === null ? null : { ...usable, denial };
}

/** Of a route whose every request is denied by the table's approvals. */
const UNUSABLE: Omit<UsableRoute, "route"> = {
  operations: [],
  capabilities: [],
  candidates: [],
  contextWindow: null,
  maxOutputTokens: null,
  dimensions: [],
  serves: () => false,
};

/**
 * One of them; `null` where there is no such route, or none that the workspace may use: a
 * difference would reveal which routes exist.
 */
export function usableRoute(
  table: RoutingTable,
  identity: Identity,
  served: readonly Operation[],
  id: string,
): UsableRoute | null {
  const route = Object.hasOwn(table.routes, id) ? table.routes[id] : undefined;
  if (route === undefined) return null;
  for (const preferences of REFERENCE_PREFERENCES) {
    const planOf = questioner(table, identity, route, preferences);
    const usable = usableWith(planOf, table, route, served);
    if (usable !== null) return usable;
  }
  return null;
}

/**
 * Preferences of a plain request. Where it is denied because all providers may train on requests,
 * the route can still be used by callers that allow that.
 */
const REFERENCE_PREFERENCES: readonly (ProviderPreferences | null)[] = [
  null,
  { data_collection: "allow" },
];

function workspaceOf(table: RoutingTable, { workspace }: Identity) {
  return Object.hasOwn(table.workspaces, workspace) ? table.workspaces[workspace] : undefined;
}

const NO_POLICIES: PolicySet = {
  id: "",
  policies: [],
  readsTime: false,
  readsBudget: false,
  zones: [],
  evaluate: () => ({ verdicts: [], obligations: [] }),
};

type RequestedShape = Partial<Pick<RequestShape, "needs" | "features" | "dimensions">>;

/** Gives the plan of a request of the operation; empty where the request is denied. */
type PlanOf = (operation: Operation, requested?: RequestedShape) => readonly Candidate[];

/** The preferences of a request without any. */
function shapeOf(
  operation: Operation,
  { needs = [], features = [], dimensions = null }: RequestedShape,
): RequestShape {
  return {
    operation,
    needs: needs.toSorted(),
    features: [...features, ...(ALWAYS_USED[operation] ?? [])].toSorted(),
    stream: false,
    context: "unspecified",
    maxOutput: "unspecified",
    reasoningEffort: "unspecified",
    signatureFamilies: [],
    dimensions,
  };
}

/** Decides about hypothetical requests. */
function questioner(
  table: RoutingTable,
  identity: Identity,
  route: RouteRow,
  preferences: ProviderPreferences | null,
): PlanOf {
  return (operation, requested = {}) => {
    const question = { model: route.id, shape: shapeOf(operation, requested), preferences };
    const decision = decide(table, NO_POLICIES, identity, question, 0);
    return decision.outcome === "route" ? decision.plan : [];
  };
}

function usableWith(
  planOf: PlanOf,
  table: RoutingTable,
  route: RouteRow,
  served: readonly Operation[],
): UsableRoute | null {
  const offered = served.filter((operation) =>
    route.operations.includes(MODEL_OPERATION_OF[operation]),
  );
  const candidates = routeCandidates(table, route);
  const lengths = table.models[candidates[0]?.endpoint.model ?? ""]?.dimensions ?? [];
  const dimensions = offered.includes("embeddings")
    ? lengths.filter((length) => planOf("embeddings", { dimensions: length }).length > 0)
    : [];
  const planWith: PlanOf = (operation, requested = {}) =>
    planOf(
      operation,
      operation === "embeddings" ? { ...requested, dimensions: dimensions[0] ?? null } : requested,
    );
  const plans = new Map(offered.map((operation) => [operation, planWith(operation)]));
  const operations = offered.filter((operation) => plans.get(operation)?.length !== 0);
  const plannedIds = new Set([...plans.values()].flat().map(({ endpoint }) => endpoint.id));
  const [first, ...rest] = candidates.filter(({ endpoint }) => plannedIds.has(endpoint.id));
  if (first === undefined) return null;
  const models = [first, ...rest].flatMap(({ endpoint }) => table.models[endpoint.model] ?? []);
  const answers = new Map<string, boolean>();
  const serves: UsableRoute["serves"] = (operation, needs, features) => {
    if (!operations.includes(operation)) return false;
    const key = [operation, needs, features].join("|");
    return remember(answers, key, () => planWith(operation, { needs, features }).length > 0);
  };
  return {
    route,
    operations,
    capabilities: CAPABILITY_NAMES.filter((capability) =>
      kindsOf(operations).some((kind) => serves(kind, [capability], [])),
    ),
    candidates: [first, ...rest],
    contextWindow: smallest(models, (model) => model.contextWindow),
    maxOutputTokens: smallest(models, (model) => model.maxOutputTokens),
    dimensions,
    serves,
  };
}

/**
 * One operation for each kind of work: a model's capabilities do not depend on the request's
 * protocol.
 */
function kindsOf(operations: readonly Operation[]): readonly Operation[] {
  const kinds = new Map(
    operations.toReversed().map((operation) => [MODEL_OPERATION_OF[operation], operation]),
  );
  return [...kinds.values()];
}

function smallest(
  models: readonly ModelRow[],
  read: (model: ModelRow) => number | null,
): number | null {
  const values = models.map(read).filter((value) => value !== null);
  return values.length === models.length && values.length > 0 ? Math.min(...values) : null;
}

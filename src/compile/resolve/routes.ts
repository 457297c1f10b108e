import type { ModelOperation } from "../../canon/operation.ts";
import type { Balance, RouteRow, TierRow } from "../../canon/table.ts";
import { quote, suggest } from "../authored/literal-secrets.ts";
import type { Path } from "../authored/tree.ts";
import { checkName, type CompileContext } from "../compile-context.ts";
import type { NormalisedRoute } from "../normalised/normalise.ts";
import type { ResolvedEndpoint } from "./endpoints.ts";

/** Most routes of which each is among the fallbacks of the one before it. */
const LONGEST_CHAIN = 16;

/** One endpoint of a route, and the item of the file that brought it in. */
export interface ResolvedCandidate {
  readonly endpoint: ResolvedEndpoint;
  /** The load-balanced group of a route among the fallbacks are fallbacks here. */
  readonly rank: "primary" | "peer" | "fallback";
  /** Index in the authored `peers` or `fallbacks`; without meaning for the primary. */
  readonly index: number;
}

interface ResolvedTier {
  readonly row: TierRow;
  readonly candidates: readonly ResolvedCandidate[];
}

/**
 * A route's endpoints by rank; routes among its fallbacks are expanded with their own ranks. A
 * repeated endpoint keeps its first position, and empty tiers are dropped. Unknown endpoints,
 * circles and overlong chains have been reported already; expansion stops at them.
 */
function resolveTiers(
  { normalised }: CompileContext,
  route: NormalisedRoute,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
): readonly ResolvedTier[] {
  const placed = new Set<string>();
  const opened = new Set<string>();
  const tiers: ResolvedTier[] = [];
  const take = (
    id: string,
    rank: ResolvedCandidate["rank"],
    index: number,
  ): readonly ResolvedCandidate[] => {
    const endpoint = endpoints.get(id);
    if (endpoint === undefined || placed.has(id)) return [];
    placed.add(id);
    return [{ endpoint, rank, index }];
  };
  const add = (
    candidates: readonly ResolvedCandidate[],
    balance: Balance,
    weights: ReadonlyMap<string, number>,
  ) => {
    if (candidates.length > 0)
      tiers.push({ row: tierRow(candidates, balance, weights), candidates });
  };
  /** @param item index among the fallbacks of `route`; `null` for `route` itself. */
  const open = (other: NormalisedRoute, item: number | null, depth: number) => {
    opened.add(other.id);
    const { primary, peers, balance, weights } = other;
    const first = item === null ? take(primary, "primary", 0) : take(primary, "fallback", item);
    const equals = peers.flatMap((id, index) =>
      item === null ? take(id, "peer", index) : take(id, "fallback", item),
    );
    add([...first, ...equals], balance, weights);
    for (const [index, fallback] of other.fallbacks.entries()) {
      const from = item ?? index;
      if (typeof fallback === "string") {
        add(take(fallback, "fallback", from), "order", NO_WEIGHTS);
        continue;
      }
      const next = normalised.routes.get(fallback.route);
      if (next !== undefined && !opened.has(next.id) && depth < LONGEST_CHAIN)
        open(next, from, depth + 1);
    }
  };
  open(route, null, 1);
  return tiers;
}

const NO_WEIGHTS: ReadonlyMap<string, number> = new Map();

function tierRow(
  candidates: readonly ResolvedCandidate[],
  balance: Balance,
  authored: ReadonlyMap<string, number>,
): TierRow {
  const ids = candidates.map(({ endpoint }) => endpoint.row.id);
  const weights = ids.map((id) => authored.get(id) ?? 1);
  // All endpoints with a share may be in an earlier tier: the others then share equally.
  const shares = weights.some((weight) => weight > 0) ? weights : weights.map(() => 1);
  return { endpoints: ids, balance, weights: shares };
}

/**
 * A route whose primary exists. Endpoints of `peers` and `fallbacks` that do not exist have been
 * reported and left out.
 */
export interface ResolvedRoute {
  readonly row: RouteRow;
  readonly primary: ResolvedEndpoint;
  /** Every endpoint but the primary, in the order of the tiers. */
  readonly fallbacks: readonly ResolvedCandidate[];
  /** The primary, and the endpoints of those. */
  readonly chain: readonly ResolvedEndpoint[];
}

/** Input of checks, after references are resolved. */
export interface ResolvedContext extends CompileContext {
  readonly endpoints: ReadonlyMap<string, ResolvedEndpoint>;
  readonly routes: ReadonlyMap<string, ResolvedRoute>;
}

/** Routes by id, with the routes among their fallbacks written out. */
export function resolveRoutes(
  context: CompileContext,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
): ReadonlyMap<string, ResolvedRoute> {
  for (const route of context.normalised.routes.values()) reportReferences(context, route);
  if (!reportCycles(context)) reportLongChain(context);
  const resolved = new Map<string, ResolvedRoute>();
  for (const route of context.normalised.routes.values()) {
    const primary = endpoints.get(route.primary);
    if (primary === undefined) continue;
    const tiers = resolveTiers(context, route, endpoints);
    const fallbacks = tiers.flatMap(({ candidates }) =>
      candidates.filter(({ rank }) => rank !== "primary"),
    );
    const { id, title, maxAttempts, resendAfterReset, maxEjectedShare, hedgeAfter } = route;
    const { onGap, unknownFields, emulateSchema } = route;
    const row = {
      id,
      title,
      primary: primary.row.id,
      fallbacks: fallbacks.map(({ endpoint }) => endpoint.row.id),
      tiers: tiers.map((tier) => tier.row),
      maxAttempts,
      ...(resendAfterReset === true && { resendAfterReset }),
      maxEjectedShare,
      hedgeAfter,
      onGap,
      unknownFields,
      emulateSchema,
      operations: routeOperations(context, route, primary),
    };
    const chain = [primary, ...fallbacks.map(({ endpoint }) => endpoint)];
    resolved.set(id, { row, primary, fallbacks, chain });
  }
  return resolved;
}

/**
 * Reports each circle once, at the fallback of its alphabetically first route. Circles of more than
 * {@link LONGEST_CHAIN} routes are reported as overlong chains instead.
 *
 * @returns whether there is one.
 */
function reportCycles({ normalised, report }: CompileContext): boolean {
  const reported = new Set<string>();
  const below = (id: string) =>
    (normalised.routes.get(id)?.fallbacks ?? []).map((fallback) =>
      typeof fallback === "string" ? null : fallback.route,
    );
  // A route that was followed to its end cannot lead into a new circle.
  const visited = new Set<string>();
  const follow = (trail: readonly string[], id: string) => {
    const start = trail.indexOf(id);
    if (start !== -1) {
      const circle = trail.slice(start);
      const [first = ""] = circle.toSorted();
      const begin = circle.indexOf(first);
      const ordered = [...circle.slice(begin), ...circle.slice(0, begin), first];
      const shown = ordered.map(quote).join(" → ");
      if (reported.has(shown)) return;
      reported.add(shown);
      report.value(
        "FALLBACK_CYCLE",
        ["routes", first, "fallbacks", below(first).indexOf(ordered[1] ?? first)],
        `these routes fall back to each other: ${shown}`,
        "break the circle at one of them",
      );
      return;
    }
    // Thousands of routes in a row would overflow the stack.
    if (visited.has(id) || trail.length > LONGEST_CHAIN) return;
    visited.add(id);
    for (const route of below(id)) if (route !== null) follow([...trail, id], route);
  };
  for (const id of normalised.routes.keys()) follow([], id);
  return reported.size > 0;
}

/** Reports the first route with an overlong chain of fallbacks. */
function reportLongChain({ normalised, report }: CompileContext) {
  let rest = [...normalised.routes.values()];
  for (let step = 0; step < LONGEST_CHAIN; step += 1) {
    const reached = new Set(rest.map(({ id }) => id));
    rest = rest.filter(({ fallbacks }) =>
      fallbacks.some((fallback) => typeof fallback !== "string" && reached.has(fallback.route)),
    );
  }
  const [first] = rest;
  if (first === undefined) return;
  report.value(
    "FALLBACK_CHAIN",
    [
      "routes",
      first.id,
      "fallbacks",
      first.fallbacks.findIndex((fallback) => typeof fallback !== "string"),
    ],
    `more than ${LONGEST_CHAIN} routes follow each other from route ${quote(first.id)} on`,
    "name the endpoints themselves",
  );
}

function routeOperations(
  context: CompileContext,
  route: NormalisedRoute,
  primary: ResolvedEndpoint,
): readonly ModelOperation[] {
  const able = primary.operations;
  if (route.operations === null) return able;
  const unable = route.operations.filter((operation) => !able.includes(operation));
  if (unable.length > 0) {
    context.report.value(
      "ROUTE_OPERATIONS",
      ["routes", route.id, "operations"],
      `route ${quote(route.id)} offers ${unable.join(", ")}, which its primary ${quote(primary.row.id)} cannot do`,
    );
  }
  return route.operations;
}

/**
 * Reports every name of a route that points nowhere, or a second time to the same endpoint; the
 * shape has refused peers that occur twice.
 */
function reportReferences(context: CompileContext, route: NormalisedRoute) {
  const { declared, report } = context;
  const { id, primary, peers, weights } = route;
  const where = `route ${quote(id)}`;
  const at = (...path: Path) => ["routes", id, ...path];
  const checkEndpoint = (name: string, path: Path) => {
    if (declared.endpoints.has(name)) return;
    report.value(
      "UNKNOWN_ENDPOINT",
      path,
      `${where} names the endpoint ${quote(name)}, which does not exist`,
      endpointHint(name, declared),
    );
  };
  checkEndpoint(primary, at("primary"));
  for (const [index, name] of peers.entries()) {
    const path = at("peers", index);
    if (name === primary)
      report.value(
        "PEER_IS_PRIMARY",
        path,
        `${where} names its primary ${quote(name)} in its \`peers\``,
        "remove it: the primary has its share already",
      );
    else checkEndpoint(name, path);
  }
  const equals = [primary, ...peers];
  for (const name of weights.keys())
    if (!equals.includes(name))
      report.key(
        "WEIGHT_UNKNOWN",
        at("weights", name),
        `${where} gives a weight to ${quote(name)}, which is neither its primary nor in its \`peers\``,
        suggest(name, equals),
      );
  if (equals.every((name) => weights.get(name) === 0))
    report.value(
      "WEIGHTS_ZERO",
      at("weights"),
      `all weights of ${where} are 0, so that no endpoint has a share`,
    );
  const seen = new Set<string>();
  for (const [index, fallback] of route.fallbacks.entries()) {
    const path = at("fallbacks", index);
    const isEndpoint = typeof fallback === "string";
    const name = isEndpoint ? fallback : fallback.route;
    const key = isEndpoint ? name : `route ${name}`;
    if (fallback === primary)
      report.value(
        "FALLBACK_IS_PRIMARY",
        path,
        `${where} falls back to its own primary ${quote(name)}`,
        "remove it",
      );
    else if (isEndpoint && peers.includes(name))
      report.value(
        "FALLBACK_IS_PEER",
        path,
        `${where} has ${quote(name)} in its \`peers\` and in its \`fallbacks\``,
        "keep it in one of the two; all of the load-balanced group are tried when one fails",
      );
    else if (seen.has(key))
      report.value(
        "FALLBACK_REPEATED",
        path,
        `${where} lists the fallback ${quote(name)} twice`,
        "remove one of them",
      );
    else if (isEndpoint) checkEndpoint(name, path);
    else checkName(context, "routes", name, [...path, "route"], `${where} names the route`);
    seen.add(key);
  }
}

function endpointHint(name: string, declared: CompileContext["declared"]): string {
  if (declared.routes.has(name))
    return `${quote(name)} is a route; as a fallback write \`{route: …}\``;
  if (declared.models.has(name)) return `${quote(name)} is a model; name one of its endpoints`;
  return suggest(name, declared.endpoints);
}

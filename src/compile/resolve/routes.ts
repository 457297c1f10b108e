import type { ModelOperation } from "../../canon/operation.ts";
import type { RouteRow } from "../../canon/table.ts";
import type { AuthoredFallback } from "../routes-schema.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { NormalisedRoute } from "../normalised/normalise.ts";
import type { CompileContext } from "../compile-context.ts";
import type { ResolvedEndpoint } from "./endpoints.ts";
import { reportRouteReferences } from "./route-references.ts";
import { LONGEST_CHAIN, resolveTiers, type ResolvedCandidate } from "./tiers.ts";

/** A route whose primary exists. Endpoints of `peers` and `fallbacks` that do not exist have been reported and left out. */
export interface ResolvedRoute {
  readonly row: RouteRow;
  readonly primary: ResolvedEndpoint;
  /** Every endpoint but the primary, in the order of the tiers. */
  readonly fallbacks: readonly ResolvedCandidate[];
}

/** Routes by id, with the routes among their fallbacks written out. */
export function resolveRoutes(
  context: CompileContext,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
): ReadonlyMap<string, ResolvedRoute> {
  for (const route of context.normalised.routes.values()) reportRouteReferences(context, route);
  if (!reportCycles(context)) reportLongChain(context);
  const resolved = new Map<string, ResolvedRoute>();
  for (const route of context.normalised.routes.values()) {
    const primary = endpoints.get(route.primary);
    if (primary === undefined) continue;
    const tiers = resolveTiers(context, route, endpoints);
    const fallbacks = tiers.flatMap(({ candidates }) => candidates.filter(({ rank }) => rank !== "primary"));
    const { id, title, maxAttempts, resendAfterReset, maxEjectedShare, hedgeAfter } = route;
    const { onGap, unknownFields, emulateSchema } = route;
    const row = {
      id,
      title,
      primary: primary.row.id,
      fallbacks: fallbacks.map(({ endpoint }) => endpoint.row.id),
      tiers: tiers.map((tier) => tier.row),
      maxAttempts,
      ...(resendAfterReset === true ? { resendAfterReset } : {}),
      maxEjectedShare,
      hedgeAfter,
      onGap,
      unknownFields,
      emulateSchema,
      operations: routeOperations(context, route, primary),
    };
    resolved.set(id, { row, primary, fallbacks });
  }
  return resolved;
}

/**
 * Reports circles, each once, at the item of its alphabetically first route that leads into it. One of more than {@link LONGEST_CHAIN} routes is
 * found as a chain that is too long.
 *
 * @returns whether there is one.
 */
function reportCycles({ normalised, report }: CompileContext): boolean {
  const reported = new Set<string>();
  // A route that has been followed to its end once cannot lead into a circle that has not been seen.
  const visited = new Set<string>();
  const follow = (trail: readonly string[], id: string): void => {
    const start = trail.indexOf(id);
    if (start !== -1) {
      const circle = rotateToSmallest(trail.slice(start));
      const shown = [...circle, circle[0] ?? ""].map(quote).join(" → ");
      if (reported.has(shown)) return;
      reported.add(shown);
      const [first = "", second = first] = circle;
      const index = fallbacksOf(normalised.routes.get(first)).findIndex((fallback) => isRoute(fallback, second));
      report.value(
        "FALLBACK_CYCLE",
        ["routes", first, "fallbacks", index],
        `these routes fall back to each other: ${shown}`,
        "break the circle at one of them",
      );
      return;
    }
    // Without an end to the recursion, thousands of routes in a row are a RangeError.
    if (visited.has(id) || trail.length > LONGEST_CHAIN) return;
    visited.add(id);
    for (const fallback of fallbacksOf(normalised.routes.get(id))) {
      if (typeof fallback !== "string") follow([...trail, id], fallback.route);
    }
  };
  for (const id of normalised.routes.keys()) follow([], id);
  return reported.size > 0;
}

/** Reports the first route from which more routes follow one another than a chain may have. */
function reportLongChain({ normalised, report }: CompileContext): void {
  let left = [...normalised.routes.values()];
  for (let step = 0; step < LONGEST_CHAIN; step += 1) {
    const reached = new Set(left.map(({ id }) => id));
    left = left.filter(({ fallbacks }) =>
      fallbacks.some((fallback) => typeof fallback !== "string" && reached.has(fallback.route)),
    );
  }
  const [first] = left;
  if (first === undefined) return;
  report.value(
    "FALLBACK_CHAIN",
    ["routes", first.id, "fallbacks", first.fallbacks.findIndex((fallback) => typeof fallback !== "string")],
    `more than ${LONGEST_CHAIN} routes follow each other from route ${quote(first.id)} on`,
    "name the endpoints themselves",
  );
}

function fallbacksOf(route: NormalisedRoute | undefined): readonly AuthoredFallback[] {
  return route?.fallbacks ?? [];
}

function isRoute(fallback: AuthoredFallback, id: string): boolean {
  return typeof fallback !== "string" && fallback.route === id;
}

function rotateToSmallest(circle: readonly string[]): readonly string[] {
  const smallest = [...circle].toSorted()[0] ?? "";
  const start = circle.indexOf(smallest);
  return [...circle.slice(start), ...circle.slice(0, start)];
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
    const message = `route ${quote(route.id)} offers ${unable.join(", ")}, which its primary ${quote(primary.row.id)} cannot do`;
    context.report.value("ROUTE_OPERATIONS", ["routes", route.id, "operations"], message);
  }
  return route.operations;
}

import type { ModelOperation } from "../../canon/operation.ts";
import type { RouteRow } from "../../canon/table.ts";
import type { AuthoredFallback } from "../authored/routes-file.ts";
import { quote } from "../authored/literal-secrets.ts";
import type { NormalisedRoute } from "../normalised/normalise.ts";
import type { Scene } from "../scene.ts";
import { suggest } from "../findings/suggest.ts";
import type { ResolvedEndpoint } from "./endpoints.ts";

/** A route whose primary exists. Fallbacks that point nowhere have been reported and left out. */
export interface ResolvedRoute {
  readonly row: RouteRow;
  readonly primary: ResolvedEndpoint;
  readonly fallbacks: readonly ResolvedFallback[];
}

export interface ResolvedFallback {
  readonly endpoint: ResolvedEndpoint;
  /** Place in the authored list: the item that brought this endpoint in. */
  readonly index: number;
}

type Endpoints = ReadonlyMap<string, ResolvedEndpoint>;

/** Routes by id, with the routes among their fallbacks written out. */
export function resolveRoutes(scene: Scene, endpoints: Endpoints): ReadonlyMap<string, ResolvedRoute> {
  for (const route of scene.normalised.routes.values()) reportReferences(scene, route);
  reportCycles(scene);
  const resolved = new Map<string, ResolvedRoute>();
  for (const route of scene.normalised.routes.values()) {
    const primary = endpoints.get(route.primary);
    if (primary === undefined) continue;
    const fallbacks = expandFallbacks(scene, route, endpoints);
    const operations = routeOperations(scene, route, primary);
    const { id, title, maxAttempts, maxEjectedShare, hedgeAfter, onGap, unknownFields, emulateSchema } = route;
    const row = {
      id,
      title,
      primary: primary.row.id,
      fallbacks: fallbacks.map(({ endpoint }) => endpoint.row.id),
      tiers: [primary, ...fallbacks.map(({ endpoint }) => endpoint)].map(({ row: { id: only } }) => ({
        endpoints: [only],
        balance: "order" as const,
        weights: [1],
      })),
      maxAttempts,
      maxEjectedShare,
      hedgeAfter,
      onGap,
      unknownFields,
      emulateSchema,
      operations,
    };
    resolved.set(id, { row, primary, fallbacks });
  }
  return resolved;
}

function reportReferences({ declared, report }: Scene, route: NormalisedRoute): void {
  const where = `route ${quote(route.id)}`;
  if (!declared.endpoints.has(route.primary)) {
    const hint = endpointHint(route.primary, declared);
    report.value(
      "UNKNOWN_ENDPOINT",
      ["routes", route.id, "primary"],
      `${where} names the endpoint ${quote(route.primary)}, which does not exist`,
      hint,
    );
  }
  const seen = new Set<string>();
  for (const [index, fallback] of route.fallbacks.entries()) {
    const path = ["routes", route.id, "fallbacks", index];
    const name = typeof fallback === "string" ? fallback : fallback.route;
    const key = typeof fallback === "string" ? name : `route ${name}`;
    if (fallback === route.primary) {
      report.value("FALLBACK_IS_PRIMARY", path, `${where} falls back to its own primary ${quote(name)}`, "remove it");
    } else if (seen.has(key)) {
      report.value("FALLBACK_REPEATED", path, `${where} lists the fallback ${quote(name)} twice`, "remove one of them");
    } else if (typeof fallback === "string" && !declared.endpoints.has(name)) {
      report.value(
        "UNKNOWN_ENDPOINT",
        path,
        `${where} names the endpoint ${quote(name)}, which does not exist`,
        endpointHint(name, declared),
      );
    } else if (typeof fallback !== "string" && !declared.routes.has(name)) {
      report.value(
        "UNKNOWN_ROUTE",
        [...path, "route"],
        `${where} names the route ${quote(name)}, which does not exist`,
        suggest(name, declared.routes),
      );
    }
    seen.add(key);
  }
}

function endpointHint(name: string, declared: Scene["declared"]): string {
  if (declared.routes.has(name)) return `${quote(name)} is a route; as a fallback write \`{route: …}\``;
  if (declared.models.has(name)) return `${quote(name)} is a model; name one of its endpoints`;
  return suggest(name, declared.endpoints);
}

/** Reports circles, each once, at the item of its alphabetically first route that leads into it. */
function reportCycles({ normalised, report }: Scene): void {
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
    if (visited.has(id)) return;
    visited.add(id);
    for (const fallback of fallbacksOf(normalised.routes.get(id))) {
      if (typeof fallback !== "string") follow([...trail, id], fallback.route);
    }
  };
  for (const id of normalised.routes.keys()) follow([], id);
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

/** The endpoints behind a route's fallbacks, each once, none of them the primary. Ends in a circle as well. */
function expandFallbacks(
  { normalised }: Scene,
  route: NormalisedRoute,
  endpoints: Endpoints,
): readonly ResolvedFallback[] {
  const taken = new Set([route.primary]);
  const expanded: ResolvedFallback[] = [];
  const opened = new Set([route.id]);
  const take = (id: string, index: number): void => {
    const endpoint = endpoints.get(id);
    if (endpoint === undefined || taken.has(id)) return;
    taken.add(id);
    expanded.push({ endpoint, index });
  };
  const add = (fallback: AuthoredFallback, index: number): void => {
    if (typeof fallback === "string") return take(fallback, index);
    const other = normalised.routes.get(fallback.route);
    if (other === undefined || opened.has(other.id)) return;
    opened.add(other.id);
    take(other.primary, index);
    for (const next of other.fallbacks) add(next, index);
  };
  for (const [index, fallback] of route.fallbacks.entries()) add(fallback, index);
  return expanded;
}

function routeOperations(scene: Scene, route: NormalisedRoute, primary: ResolvedEndpoint): readonly ModelOperation[] {
  const able = primary.operations;
  if (route.operations === null) return able;
  const unable = route.operations.filter((operation) => !able.includes(operation));
  if (unable.length > 0) {
    const message = `route ${quote(route.id)} offers ${unable.join(", ")}, which its primary ${quote(primary.row.id)} cannot do`;
    scene.report.value(
      "ROUTE_OPERATIONS",
      ["routes", route.id, "operations"],
      message,
      "remove it, or choose another primary",
    );
  }
  return route.operations;
}

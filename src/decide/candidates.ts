import type { Candidate } from "../canon/decision.ts";
import type { RouteRow, RoutingTable } from "../canon/table.ts";

/** Every place a route may send a request, in table order: the primary, then its fallbacks. */
export function routeCandidates(table: RoutingTable, route: RouteRow): readonly Candidate[] {
  const candidates: Candidate[] = [];
  const add = (endpointId: string, rank: Candidate["rank"]): void => {
    const endpoint = table.endpoints[endpointId];
    // The compiler resolves every reference; a table without the row is a bug that must not become an empty plan.
    if (endpoint === undefined) throw new Error(`routing table: route ${route.id} names no endpoint ${endpointId}`);
    candidates.push({ endpoint, rank });
  };
  add(route.primary, "primary");
  for (const fallback of route.fallbacks) add(fallback, "fallback");
  return candidates;
}

export function endpointIds(candidates: readonly Candidate[]): readonly string[] {
  return candidates.map((candidate) => candidate.endpoint.id);
}

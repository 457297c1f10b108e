import type { Candidate } from "../canon/decision.ts";
import type { RouteRow, RoutingTable } from "../canon/table.ts";

/** Every place a route may send a request, in table order: the primary, then its fallbacks. */
export function routeCandidates(table: RoutingTable, route: RouteRow): readonly Candidate[] {
  const candidates: Candidate[] = [];
  for (const [tier, { endpoints, balance, weights }] of route.tiers.entries()) {
    for (const [place, id] of endpoints.entries()) {
      const endpoint = table.endpoints[id];
      // The compiler resolves every reference; a table without the row is a bug that must not become an empty plan.
      if (endpoint === undefined) throw new Error(`routing table: route ${route.id} names no endpoint ${id}`);
      const rank = id === route.primary ? "primary" : "fallback";
      candidates.push({ endpoint, rank, tier, balance, weight: weights[place] ?? 1 });
    }
  }
  return candidates;
}

export function endpointIds(candidates: readonly Candidate[]): readonly string[] {
  return candidates.map((candidate) => candidate.endpoint.id);
}

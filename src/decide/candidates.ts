import type { Candidate } from "../canon/decision.ts";
import type { Balance, RouteRow, RoutingTable } from "../canon/table.ts";

/**
 * Every candidate of a route, in table order: the primary with its load-balanced group, then the
 * fallbacks.
 *
 * @example routeCandidates(table, route).map(({ endpoint }) => endpoint.id)
 */
export function routeCandidates(table: RoutingTable, route: RouteRow): readonly Candidate[] {
  const candidates: Candidate[] = [];
  for (const [tier, { endpoints, balance, weights }] of route.tiers.entries()) {
    for (const [index, id] of endpoints.entries()) {
      const endpoint = table.endpoints[id];
      // The compiler resolves every reference; a table without the row is a bug that must not
      // become an empty plan.
      if (endpoint === undefined)
        throw new Error(`routing table: route ${route.id} names no endpoint ${id}`);
      const rank = id === route.primary ? "primary" : "fallback";
      candidates.push({ endpoint, rank, tier, balance, weight: weights[index] ?? 1 });
    }
  }
  return candidates;
}

/**
 * The candidates of each tier, in the order of the plan.
 *
 * @example tiersOf([{ tier: 0 }, { tier: 0 }, { tier: 2 }]).length // 2
 */
export function tiersOf(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  return [...Map.groupBy(candidates, ({ tier }) => tier).values()];
}

/**
 * A plan of these tiers, renumbered from 0; empty tiers are skipped.
 *
 * @example planOf([[], [{ tier: 3 }]], "order") // [{ tier: 0, balance: "order" }]
 *
 * @param balance balance of every tier; default: that of its candidates.
 */
export function planOf(
  tiers: readonly (readonly Candidate[])[],
  balance?: Balance,
): readonly Candidate[] {
  return tiers
    .filter(({ length }) => length > 0)
    .flatMap((candidates, tier) =>
      candidates.map((candidate) => ({
        ...candidate,
        tier,
        balance: balance ?? candidate.balance,
      })),
    );
}

/** @example endpointIds([{ endpoint: { id: "a" } }]) // ["a"] */
export function endpointIds(candidates: readonly Candidate[]): readonly string[] {
  return candidates.map((candidate) => candidate.endpoint.id);
}

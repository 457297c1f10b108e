import type { JsonObject } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { Places } from "../../dispatch/places/places.ts";

/** How an endpoint stands now, as its calls from this process tell. */
export function standingFacts(places: Pick<Places, "standing">, endpointId: string): JsonObject {
  const now = performance.now();
  const { state, until, consecutive_failures, latency, throughput, in_flight } = places.standing(endpointId, now);
  return {
    state,
    retry_in_ms: until === null ? null : Math.max(Math.ceil(until - now), 0),
    consecutive_failures,
    latency_ms: { p50: rounded(latency.p50), p90: rounded(latency.p90) },
    tokens_per_second: { p50: rounded(throughput.p50) },
    in_flight,
  };
}

/** Endpoints that are not healthy, with how they stand. */
export function unhealthy(places: Pick<Places, "standing">, table: RoutingTable): Readonly<Record<string, JsonObject>> {
  const facts = Object.keys(table.endpoints).map((id) => [id, standingFacts(places, id)] as const);
  return Object.fromEntries(facts.filter(([, { state }]) => state !== "healthy"));
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10) / 10;
}

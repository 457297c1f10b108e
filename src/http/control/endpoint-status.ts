import type { JsonObject } from "../../canon/json.ts";
import type { EndpointTracker } from "../../dispatch/endpoint-tracker.ts";

/** How an endpoint stands now, as its calls from this process tell. */
export function statusFacts(endpoints: Pick<EndpointTracker, "status">, endpointId: string): JsonObject {
  const now = performance.now();
  const { state, until, consecutive_failures, latency, throughput, in_flight } = endpoints.status(endpointId, now);
  return {
    state,
    retry_in_ms: until === null ? null : Math.max(Math.ceil(until - now), 0),
    consecutive_failures,
    latency_ms: {
      p50: rounded(latency.p50),
      p90: rounded(latency.p90),
      recent: rounded(latency.recent),
      age_ms: whole(latency.age),
    },
    tokens_per_second: { p50: rounded(throughput.p50), age_ms: whole(throughput.age) },
    in_flight,
  };
}

function whole(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds);
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10) / 10;
}

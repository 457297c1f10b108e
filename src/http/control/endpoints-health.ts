import type { EndpointTracker } from "../../dispatch/endpoint-tracker.ts";

/** What one process knows of an endpoint. Times are relative, because processes have clocks of their own. */
type EndpointFacts = ReturnType<typeof endpointFacts>;

/** By endpoint id. */
export type EndpointsHealth = Readonly<Record<string, EndpointFacts>>;

/** Endpoints, as the calls of this process show them. */
export function endpointsHealth(endpoints: Pick<EndpointTracker, "status">, ids: readonly string[]): EndpointsHealth {
  return Object.fromEntries(ids.map((id) => [id, endpointFacts(endpoints, id)]));
}

const WORST_FIRST = ["ejected", "rate_limited", "half_open", "healthy"] as const;

/** One endpoint as several processes of a server see it: the worst state, the newest measurement, all calls. */
export function joinedFacts([first, ...others]: readonly [EndpointFacts, ...EndpointFacts[]]): EndpointFacts {
  const all = [first, ...others];
  const age = ({ latency_ms }: EndpointFacts): number => latency_ms.age_ms ?? Number.POSITIVE_INFINITY;
  const rank = ({ state }: EndpointFacts): number => WORST_FIRST.indexOf(state);
  const worst = all.reduce((least, each) => (rank(each) < rank(least) ? each : least));
  const newest = all.reduce((least, each) => (age(each) < age(least) ? each : least));
  return {
    ...worst,
    latency_ms: newest.latency_ms,
    tokens_per_second: newest.tokens_per_second,
    in_flight: all.reduce((sum, { in_flight }) => sum + in_flight, 0),
  };
}

export function endpointFacts(endpoints: Pick<EndpointTracker, "status">, endpointId: string) {
  const now = performance.now();
  const { state, until, failure, consecutive_failures, latency, throughput, in_flight } = endpoints.status(
    endpointId,
    now,
  );
  return {
    state,
    retry_in_ms: until === null ? null : Math.max(Math.ceil(until - now), 0),
    failure,
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

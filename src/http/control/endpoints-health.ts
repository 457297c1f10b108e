import { CALL_KINDS, type CallKind } from "../../canon/operation.ts";
import type { EndpointTracker } from "../../dispatch/endpoint-tracker.ts";

/**
 * Figures of one process about an endpoint. Times are relative, because processes have clocks of
 * their own.
 */
type EndpointFacts = ReturnType<typeof endpointFacts>;

/** By endpoint id. */
export type EndpointsHealth = Readonly<Record<string, EndpointFacts>>;

/** Endpoints, as the calls of this process show them. */
export function endpointsHealth(
  endpoints: EndpointTracker,
  ids: readonly string[],
): EndpointsHealth {
  return Object.fromEntries(ids.map((id) => [id, allFacts(endpoints, id)]));
}

const WORST_FIRST = ["unsupported", "ejected", "rate_limited", "half_open", "healthy"] as const;

type State = (typeof WORST_FIRST)[number];

function worstOf(states: readonly State[]) {
  return WORST_FIRST.find((state) => states.includes(state)) ?? "healthy";
}

/**
 * One endpoint as several processes of a server see it: the worst state, the newest measurement,
 * all calls.
 */
export function joinedFacts([first, ...others]: readonly [
  EndpointFacts,
  ...EndpointFacts[],
]): EndpointFacts {
  const all = [first, ...others];
  const age = ({ latency_ms }: EndpointFacts) => latency_ms.age_ms ?? Number.POSITIVE_INFINITY;
  const rank = ({ state }: EndpointFacts) => WORST_FIRST.indexOf(state);
  const worst = all.reduce((least, each) => (rank(each) < rank(least) ? each : least));
  const newest = all.reduce((least, each) => (age(each) < age(least) ? each : least));
  return {
    ...worst,
    latency_ms: newest.latency_ms,
    tokens_per_second: newest.tokens_per_second,
    in_flight: all.reduce((sum, { in_flight }) => sum + in_flight, 0),
    operations: Object.fromEntries(
      CALL_KINDS.flatMap((kind) => {
        const states = all.flatMap(({ operations }) => operations[kind] ?? []);
        return states.length === 0 ? [] : [[kind, worstOf(states)]];
      }),
    ),
  };
}

/**
 * All kinds of calls together, as `joinedFacts` joins; token counts decide nothing but their own
 * entry of `operations`.
 */
export function allFacts(endpoints: EndpointTracker, endpointId: string): EndpointFacts {
  const kinds = endpoints.kindsOf(endpointId);
  const facts = kinds.map((kind) => ({
    kind,
    facts: endpointFacts(endpoints.of(kind), endpointId),
  }));
  const models = facts.flatMap(({ kind, facts: each }) => (kind === "count_tokens" ? [] : each));
  const [first = endpointFacts(endpoints, endpointId), ...others] = models;
  return {
    ...joinedFacts([first, ...others]),
    in_flight: facts.reduce((sum, { facts: { in_flight } }) => sum + in_flight, 0),
    operations: Object.fromEntries(facts.map(({ kind, facts: { state } }) => [kind, state])),
  };
}

/** Those of one kind of calls. @param isStream the requests whose latency is meant. */
export function endpointFacts(
  endpoints: Pick<EndpointTracker, "status">,
  endpointId: string,
  isStream = true,
) {
  const now = performance.now();
  const operations: Readonly<Partial<Record<CallKind, State>>> = {};
  const { state, until, failure, consecutive_failures, latency, throughput, in_flight } =
    endpoints.status(endpointId, now, isStream);
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
    /** State by kind of calls, of those that the endpoint has had. */
    operations,
  };
}

function whole(milliseconds: number | null) {
  return milliseconds === null ? null : Math.round(milliseconds);
}

function rounded(value: number | null) {
  return value === null ? null : Math.round(value * 10) / 10;
}

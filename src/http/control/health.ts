import type { JsonObject } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { EndpointTracker } from "../../dispatch/endpoint-tracker.ts";
import { allFacts, endpointFacts, joinedFacts } from "./endpoints-health.ts";
import type { HealthAnswer } from "../contract/service-schemas.ts";
import type { Runtime } from "../runtime.ts";
import type { Snapshot } from "../snapshot.ts";

/** The status of an endpoint now, from the calls of this process. */
export function statusFacts(
  endpoints: Pick<EndpointTracker, "status">,
  endpointId: string,
  isStream: boolean,
): JsonObject {
  const {
    failure: _failure,
    operations: _operations,
    ...facts
  } = endpointFacts(endpoints, endpointId, isStream);
  return facts;
}

/**
 * Health of the endpoints that the routes of some workspaces have, and of the server that answers.
 * Figures of endpoints include other workspaces' calls.
 */
export async function healthAnswer(
  runtime: Runtime,
  { decider }: Snapshot,
  workspaces: readonly string[],
): Promise<HealthAnswer> {
  const { table, policies } = decider;
  const { state } = runtime.evidenceStatus();
  const others = (await runtime.othersHealth?.()) ?? [];
  return {
    object: "health",
    endpoints: endpointsOf(table, workspaces).map(({ id, routes }) => {
      const row = table.endpoints[id];
      if (row === undefined) throw new Error(`health: the table has no endpoint ${id}`);
      const { provider, region, model, plaintext = false } = row;
      const known = [
        allFacts(runtime.endpoints, id),
        ...others.flatMap((other) => other[id] ?? []),
      ] as const;
      return { id, provider, region, model, plaintext, routes, ...joinedFacts(known) };
    }),
    evidence: { state },
    replicas: await replicasOf(runtime),
    degraded: runtime.degraded(),
    ...(runtime.workers !== undefined && { workers: runtime.workers() }),
    build_id: runtime.build.id,
    table_sha256: table.revision,
    policy_set: policies.id,
  };
}

async function replicasOf({ decisions }: Runtime): Promise<HealthAnswer["replicas"]> {
  try {
    const processes = (await decisions?.processes()) ?? [];
    return processes.map(({ startedAt, seenAt, state }) => ({
      started_at: new Date(startedAt).toISOString(),
      seen_at: new Date(seenAt).toISOString(),
      state,
    }));
  } catch {
    // Health is read when something is wrong: the rest of it is known without the store.
    return null;
  }
}

/**
 * Endpoints of the workspaces' routes, in the order of the table, with the routes that have them.
 */
function endpointsOf(
  { workspaces, routes, endpoints }: RoutingTable,
  wanted: readonly string[],
): readonly { readonly id: string; readonly routes: readonly string[] }[] {
  const approved = new Set(
    wanted.flatMap((workspace) => workspaces[workspace]?.approve.routes ?? []),
  );
  const own = [...approved].flatMap((id) => routes[id] ?? []);
  return Object.keys(endpoints).flatMap((id) => {
    const using = own.filter(({ tiers }) => tiers.some((tier) => tier.endpoints.includes(id)));
    return using.length === 0 ? [] : [{ id, routes: using.map((route) => route.id) }];
  });
}

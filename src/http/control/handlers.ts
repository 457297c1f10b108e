import { formatTime } from "../../canon/rfc3339.ts";
import type { RouteDecision } from "../../canon/decision.ts";
import type { JsonObject } from "../../canon/json.ts";
import { callKindOf } from "../../canon/operation.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { PLAIN_BODY } from "../../dialects/body-reader.ts";
import { foreseenPlan, type ForeseenPlan } from "../../dispatch/arrange.ts";
import type { EndpointTracker } from "../../dispatch/endpoint-tracker.ts";
import { callerBudget } from "../admission.ts";
import type { HealthAnswer } from "../contract/service-schemas.ts";
import { CATALOGUE_HANDLERS } from "./catalogue-handlers.ts";
import { orRefuse, refusal } from "../refusal.ts";
import { callerOf, readWorkspaces } from "./query.ts";
import type { ControlHandler } from "./control-call.ts";
import { DECISION_HANDLERS } from "./decision-handlers.ts";
import { allFacts, endpointFacts, joinedFacts } from "./endpoints-health.ts";
import { governanceSummary } from "./governance-summary.ts";
import { POLICY_HANDLERS } from "./policies/policy-handlers.ts";
import { exchangeKey } from "./service-keys/exchange-handler.ts";
import { KEY_HANDLERS } from "./service-keys/key-handlers.ts";
import {
  decideFrom,
  simulatedDecision,
  simulationQuestion,
  simulationView,
  takeSimulation,
} from "./simulate.ts";
import { spend } from "./spend.ts";
import type { Snapshot } from "../snapshot.ts";
import type { EvidenceStatus, Runtime } from "../runtime.ts";
import { explain, policyRevisions } from "../../simulate/explain/explanation.ts";

/** The status of an endpoint now, from the calls of this process. */
function statusFacts(
  endpoints: Pick<EndpointTracker, "status">,
  endpointId: string,
  isStream: boolean,
): JsonObject {
  const { failure: _, operations: _all, ...facts } = endpointFacts(endpoints, endpointId, isStream);
  return facts;
}

/**
 * Health of the endpoints that the routes of some workspaces have, and of the server that answers.
 * Figures of endpoints include other workspaces' calls.
 */
async function healthAnswer(
  runtime: Runtime,
  { decider }: Snapshot,
  workspaces: readonly string[],
): Promise<HealthAnswer> {
  const { table, policies } = decider;
  const { state } = runtime.evidenceStatus();
  const others = await runtime.othersHealth();
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
    ...(runtime.workers !== null && { workers: runtime.workers() }),
    build_id: runtime.build.id,
    table_sha256: table.revision,
    policy_set: policies.id,
  };
}

async function replicasOf({ decisions }: Runtime): Promise<HealthAnswer["replicas"]> {
  try {
    const processes = await decisions.processes();
    return processes.map(({ startedAt, seenAt, state }) => ({
      started_at: formatTime(startedAt),
      seen_at: formatTime(seenAt),
      state,
    }));
  } catch {
    // Health is read when something is wrong: the rest of it is known without the store.
    return null;
  }
}

/** Endpoints of the workspaces' routes, in the order of each, with the routes that have them. */
function endpointsOf(
  { workspaces, routes }: RoutingTable,
  wanted: readonly string[],
): readonly { readonly id: string; readonly routes: readonly string[] }[] {
  const approved = new Set(
    wanted.flatMap((workspace) => workspaces[workspace]?.approve.routes ?? []),
  );
  const own = [...approved].flatMap((id) => routes[id] ?? []);
  const lines = own.flatMap(({ id: route, tiers }) =>
    tiers.flatMap(({ endpoints }) => endpoints).map((id) => ({ id, route })),
  );
  const byId = Map.groupBy(lines, ({ id }) => id);
  return [...byId].map(([id, all]) => ({ id, routes: all.map(({ route }) => route) }));
}

/** By the id of the endpoint. */
export const HANDLERS: Readonly<Record<string, ControlHandler>> = {
  ...KEY_HANDLERS,
  ...POLICY_HANDLERS,
  ...DECISION_HANDLERS,
  ...CATALOGUE_HANDLERS,
  exchangeKey,
  simulateRoute: async (call) => {
    const { runtime, snapshot, body, url, headers } = call;
    const identity = callerOf(call);
    const operation = call.operations.get(url.searchParams.get("operation") ?? "");
    if (operation === undefined || body === null)
      throw new Error("control: simulate without an operation or a body");
    const { table } = snapshot.decider;
    takeSimulation(runtime.simulationRate, table, identity.workspace);
    const requested = simulationQuestion(body.value, operation);
    const budget = orRefuse(await callerBudget(runtime, snapshot, identity));
    const { request } = requested;
    const question = { ...requested.question, budget };
    const view = simulationView(body.value);
    const decided = decideFrom(snapshot.decider, identity, question, view, Date.now);
    const { policies } = decided;
    const decision = simulatedDecision(request, operation, table, decided.decision);
    const paths = request?.paths ?? null;
    const explained = { table, policies, identity, question, paths, ...view };
    const isAvailable = (provider: string) => snapshot.connections.has(provider);
    const endpoints = runtime.endpoints.of(callKindOf(operation.operation));
    const arranged = request ?? { ...requested.question, body: {}, reader: PLAIN_BODY };
    const { stream } = arranged.shape;
    const statusOf = (endpointId: string) => statusFacts(endpoints, endpointId, stream);
    const arrangementOf = (routed: RouteDecision): ForeseenPlan | null => {
      const route = table.routes[routed.route];
      const arranger = { endpoints, stickyKeyOf: runtime.stickyKeyOf };
      return route === undefined ? null : foreseenPlan(arranger, routed, route, arranged, headers);
    };
    return { json: explain(explained, decision, { isAvailable, statusOf, arrangementOf }) };
  },
  getGovernanceSummary: (call) =>
    governanceSummary(call.runtime.summary, call.snapshot, call, Date.now()),
  getSpend: (call) => spend(call.runtime.summary, call.snapshot, call, Date.now()),
  getStatus: ({ runtime, snapshot }) => ({
    json: {
      build_id: runtime.build.id,
      contract_sha256: runtime.build.contract.sha256,
      table_sha256: snapshot.decider.table.revision,
      policy_set: snapshot.decider.policies.id,
      policy_revisions: policyRevisions(snapshot.decider.policies),
      uptime_seconds: Math.floor((performance.now() - runtime.build.startedAt) / 1000),
      degraded: runtime.degraded(),
      // The endpoint needs no key: no figure here may show any workspace's traffic. Operators have
      // them at /metrics.
      evidence: evidenceStatus(runtime.evidenceStatus()),
      egress_proxies: runtime.build.egressProxies,
      ...(runtime.workers !== null && { workers: { ...runtime.workers() } }),
    },
  }),
  getHealth: async (call) => ({
    json: await healthAnswer(call.runtime, call.snapshot, readWorkspaces(call)),
  }),
  getContract: ({ runtime }) => ({ text: runtime.build.contract.text }),
  getMetrics: ({ runtime, headers }) => runtime.metrics(headers.accept),
  getLiveness: () => ({ json: { status: "live" } }),
  getReadiness: ({ runtime }) => {
    if (runtime.accepting() && runtime.degraded().every((part) => part !== "evidence"))
      return { json: { status: "ready" } };
    throw refusal("not_ready", "The server is starting, draining, or cannot write evidence.");
  },
};

function evidenceStatus({ state, fault }: EvidenceStatus): JsonObject {
  return { state, cause: fault?.cause, file: fault?.file ?? undefined };
}

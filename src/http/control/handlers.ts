import { callKindOf } from "../../canon/operation.ts";
import { callerBudget } from "../admission.ts";
import type { RouteDecision } from "../../canon/decision.ts";
import { codedError } from "../../canon/error-codes.ts";
import type { JsonObject } from "../../canon/json.ts";
import { PLAIN_BODY } from "../../dialects/body-reader.ts";
import { foreseenPlan, type ForeseenPlan } from "../../dispatch/arrange.ts";
import { spend } from "./spend.ts";
import { governanceSummary, summaryUnavailable } from "./governance-summary.ts";
import type { EvidenceStatus } from "../runtime.ts";
import type { ControlHandler } from "./control-call.ts";
import { exchangeKey } from "./service-keys/exchange-handler.ts";
import { POLICY_HANDLERS } from "./policies/policy-handlers.ts";
import { DECISION_HANDLERS } from "./decision-handlers.ts";
import { readWorkspaces } from "./covered-workspaces.ts";
import { CATALOGUE_HANDLERS } from "./catalogue-handlers.ts";
import { healthAnswer, statusFacts } from "./health.ts";
import { KEY_HANDLERS } from "./service-keys/key-handlers.ts";
import { explain, policyRevisions } from "../../simulate/explain/explanation.ts";
import { takeSimulation } from "./simulation-rate.ts";
import { decideFrom, simulatedDecision, simulationQuestion, simulationView } from "./simulate.ts";

/** By the id of the endpoint. */
export const HANDLERS: Readonly<Record<string, ControlHandler>> = {
  ...KEY_HANDLERS,
  ...POLICY_HANDLERS,
  ...DECISION_HANDLERS,
  ...CATALOGUE_HANDLERS,
  exchangeKey,
  simulateRoute: async ({ runtime, snapshot, identity, body, url, headers, operations }) => {
    const operation = operations.get(url.searchParams.get("operation") ?? "");
    if (operation === undefined || body === null || identity === null) {
      throw new Error("control: simulate without an operation, a body or an identity");
    }
    const refused = takeSimulation(
      runtime.simulationRate,
      snapshot.decider.table,
      identity.workspace,
    );
    if (refused !== null) return refused;
    const requested = simulationQuestion(body.value, operation);
    if ("code" in requested) return requested;
    const budget = await callerBudget(runtime, snapshot, identity);
    if (typeof budget === "object") return budget;
    const { request } = requested;
    const question = { ...requested.question, budget };
    const view = simulationView(body.value);
    const { table } = snapshot.decider;
    const { policies, decision: decided } = decideFrom(
      snapshot.decider,
      identity,
      question,
      view,
      Date.now,
    );
    const decision = simulatedDecision(request, operation, table, decided);
    if ("code" in decision) return decision;
    const explained = {
      table,
      policies,
      identity,
      question,
      paths: request?.paths ?? null,
      ...view,
    };
    const isAvailable = (provider: string): boolean => snapshot.connections.has(provider);
    const endpoints = runtime.endpoints.of(callKindOf(operation.operation));
    const arranged = request ?? { ...requested.question, body: {}, reader: PLAIN_BODY };
    const { stream } = arranged.shape;
    const statusOf = (endpointId: string): JsonObject => statusFacts(endpoints, endpointId, stream);
    const arrangementOf = (routed: RouteDecision): ForeseenPlan | null => {
      const route = table.routes[routed.route];
      return route === undefined
        ? null
        : foreseenPlan(
            { endpoints, stickyKeyOf: runtime.stickyKeyOf },
            routed,
            route,
            arranged,
            headers,
          );
    };
    return { json: explain(explained, decision, { isAvailable, statusOf, arrangementOf }) };
  },
  getGovernanceSummary: (call) => {
    const { runtime, snapshot } = call;
    if (runtime.summary === undefined) return summaryUnavailable();
    return governanceSummary(runtime.summary, snapshot, call, Date.now());
  },
  getSpend: (call) => {
    const { runtime, snapshot } = call;
    if (runtime.summary === undefined) return summaryUnavailable();
    return spend(runtime.summary, snapshot, call, Date.now());
  },
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
      ...(runtime.build.egressProxies !== undefined && {
        egress_proxies: runtime.build.egressProxies,
      }),
      ...(runtime.workers !== undefined && { workers: runtime.workers() }),
    },
  }),
  getHealth: async (call) => {
    return { json: await healthAnswer(call.runtime, call.snapshot, readWorkspaces(call)) };
  },
  getContract: ({ runtime }) => ({ text: runtime.build.contract.text }),
  getMetrics: async ({ runtime, headers }) => ({ page: await runtime.metrics(headers.accept) }),
  getLiveness: () => ({ json: { status: "live" } }),
  getReadiness: ({ runtime }) => {
    if (runtime.accepting() && runtime.degraded().every((part) => part !== "evidence"))
      return { json: { status: "ready" } };
    return codedError("not_ready", "The server is starting, draining, or cannot write evidence.");
  },
};

function evidenceStatus({ state, fault }: EvidenceStatus): JsonObject {
  return fault === undefined
    ? { state }
    : { state, cause: fault.cause, ...(fault.file !== null && { file: fault.file }) };
}

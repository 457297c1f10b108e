import { invalidRequest, serviceError } from "../../canon/error.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { anthropicModel } from "./catalogue/anthropic-model.ts";
import { openAiModel } from "./catalogue/openai-model.ts";
import { page } from "./catalogue/page.ts";
import { usableRoute, usableRoutes, type UsableRoute } from "./catalogue/usable-routes.ts";
import type { ControlEndpoint } from "../contract/endpoint.ts";
import { governanceSummary, summaryUnavailable } from "./governance-summary.ts";
import type { EvidenceStanding } from "../runtime.ts";
import type { ControlAnswer, ControlCall, ControlHandler } from "./control-call.ts";
import { exchangeKey } from "./service-keys/exchange-handler.ts";
import { POLICY_HANDLERS } from "./policies/policy-handlers.ts";
import { KEY_HANDLERS } from "./service-keys/key-handlers.ts";
import { standingFacts, unhealthy } from "./standings.ts";
import { explain, policyRevisions } from "../../simulate/explain/explanation.ts";
import { decideFrom, simulatedDecision, simulationQuestion, simulationStandpoint } from "./simulate.ts";

export const HANDLERS: Readonly<Record<ControlEndpoint["handler"], ControlHandler>> = {
  ...KEY_HANDLERS,
  ...POLICY_HANDLERS,
  exchangeKey,
  simulate: ({ runtime, snapshot, identity, body, url, operations }) => {
    const operation = operations.get(url.searchParams.get("operation") ?? "");
    if (operation === undefined) {
      const known = [...operations.keys()].join(", ");
      return invalidRequest("invalid_operation", `The query parameter operation must be one of ${known}`, "operation");
    }
    if (body === null || identity === null) throw new Error("control: simulate without a body or an identity");
    const asked = simulationQuestion(body.value, operation);
    if ("code" in asked) return asked;
    const { question, request } = asked;
    const standpoint = simulationStandpoint(body.value);
    const { table } = snapshot.decider;
    const { policies, decision: decided } = decideFrom(snapshot.decider, identity, question, standpoint, Date.now);
    const decision = simulatedDecision(request, operation, table, decided);
    if ("code" in decision) return decision;
    const explained = { table, policies, identity, question, paths: request?.paths ?? null, ...standpoint };
    const isAvailable = (provider: string): boolean => snapshot.connections.has(provider);
    const standingOf = (endpointId: string): JsonObject => standingFacts(runtime.places, endpointId);
    return { json: explain(explained, decision, { isAvailable, standingOf }) };
  },
  models: (call) => ({ json: { object: "list", data: listed(call).map(openAiModel) } }),
  model: (call) => oneOf(call, openAiModel),
  anthropicModels: (call) => {
    const items = listed(call).map((usable) => ({ id: usable.route.id, usable }));
    return page(items, call.url.searchParams, ({ usable }) => anthropicModel(usable));
  },
  anthropicModel: (call) => oneOf(call, anthropicModel),
  summary: ({ runtime, snapshot, identity, url }) => {
    if (identity === null) throw new Error("control: a summary without an identity");
    if (runtime.summary === undefined) return summaryUnavailable();
    return governanceSummary(runtime.summary, snapshot, identity, url.searchParams, Date.now());
  },
  status: ({ runtime, snapshot }) => ({
    json: {
      build_id: runtime.build.id,
      contract_sha256: runtime.build.contractSha256,
      table_sha256: snapshot.decider.table.revision,
      policy_set: snapshot.decider.policies.id,
      policy_revisions: policyRevisions(snapshot.decider.policies),
      uptime_seconds: Math.floor((performance.now() - runtime.build.startedAt) / 1000),
      degraded: runtime.degraded(),
      evidence: evidenceFacts(runtime.evidenceStanding()),
      endpoints: unhealthy(runtime.places, snapshot.decider.table),
      ...(runtime.workers !== undefined && { workers: runtime.workers() }),
    },
  }),
  openapi: ({ runtime }) => ({ text: runtime.build.contract }),
  metrics: async ({ runtime, accept }) => ({ page: await runtime.metrics(accept) }),
  livez: () => ({ json: { status: "live" } }),
  readyz: ({ runtime }) => {
    if (runtime.accepting() && runtime.degraded().every((part) => part !== "evidence"))
      return { json: { status: "ready" } };
    return serviceError(503, "unavailable", "not_ready", "The server is starting, draining, or cannot write evidence.");
  },
};

function evidenceFacts({ state, waiting, refused, lost, head }: EvidenceStanding): JsonObject {
  return {
    state,
    waiting,
    refused,
    lost,
    head: head === null ? null : { position: head.position, hash: head.hash },
  };
}

function listed({ snapshot, identity, operations }: ControlCall): readonly UsableRoute[] {
  return identity === null ? [] : usableRoutes(snapshot.decider.table, identity, servedOperations(operations));
}

/** The entry that the path names. */
function oneOf(call: ControlCall, print: (usable: UsableRoute) => JsonObject): ControlAnswer {
  const { snapshot, identity, parameter, operations } = call;
  const found =
    identity === null || parameter === null
      ? null
      : usableRoute(snapshot.decider.table, identity, servedOperations(operations), parameter);
  if (found !== null) return { json: print(found) };
  return serviceError(404, "not_found", "model_not_found", "No route of this name is available to the workspace.", {
    param: "model",
  });
}

function servedOperations(operations: ControlCall["operations"]): readonly Operation[] {
  return [...operations.values()].map(({ operation }) => operation);
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../../canon/error.ts";
import { type Identity, PLATFORM_SCOPE } from "../../canon/identity.ts";
import { asIdentifier, type DecisionRecord } from "../../evidence/record.ts";
import { admit } from "../authenticate.ts";
import { admitSession } from "../console/signed-in.ts";
import type { Console } from "../console/console-port.ts";
import { type ControlEndpoint, isTokenEndpoint } from "../contract/endpoint.ts";
import type { Capacity, RequestHold, ServerLimits } from "../capacity.ts";
import type { BodyValidator } from "../validate-body.ts";
import { type Body, readBody } from "../read-body.ts";
import { orRefuse, refusal, RefusalError } from "../refusal.ts";
import { varyHeaders } from "../cross-origin.ts";
import { internalError, NOT_STORED, oauthError, printerAt, sendError, sendText } from "../send.ts";
import { stopsOf } from "../../dispatch/stop-order.ts";
import { Recorder } from "../recorder.ts";
import type { Snapshot } from "../snapshot.ts";
import type { EvidenceStatus, Runtime } from "../runtime.ts";
import { commonHeaders, readClientRequestId } from "../heads.ts";
import type { ControlAnswer, ControlCall, ControlHandler } from "./control-call.ts";
import { callerOf, checkQuery, readWorkspaces } from "./query.ts";
import {
  admitWorkload,
  ANONYMOUS_BODY,
  exchangeKey,
  mayBeWorkload,
} from "./service-keys/exchange-handler.ts";
import {
  decideFrom,
  simulatedDecision,
  type SimulatedOperation,
  simulationQuestion,
  simulationView,
  takeSimulation,
} from "./simulate.ts";
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
import { DECISION_HANDLERS } from "./decision-handlers.ts";
import { allFacts, endpointFacts, joinedFacts } from "./endpoints-health.ts";
import { governanceSummary } from "./governance-summary.ts";
import { POLICY_HANDLERS } from "./policies/policy-handlers.ts";
import { KEY_HANDLERS } from "./service-keys/key-handlers.ts";
import { spend } from "./spend.ts";
import { explain, policyRevisions } from "../../simulate/explain/explanation.ts";

/** Name of a control endpoint in the evidence; endpoints without a key leave no record. */
function recordedAs({ tag }: ControlEndpoint): DecisionRecord["operation"] {
  return tag === "Models" ? "models" : tag === "Routing" ? "simulate" : "control";
}

/** One endpoint as it is served. */
export interface ServedControl {
  readonly runtime: Runtime;
  readonly endpoint: ControlEndpoint;
  readonly validate: BodyValidator | null;
  readonly operations: ReadonlyMap<string, SimulatedOperation>;
  readonly capacity: Capacity;
  /** Whose sessions count here; `null` where only keys do. */
  readonly console: Console | null;
}

interface ControlVisit extends ServedControl {
  readonly handler: ControlHandler;
  readonly snapshot: Snapshot;
  readonly incoming: IncomingMessage;
  readonly requestId: string;
  readonly covered: readonly string[];
  readonly managed: readonly string[];
}

/** How one of the router's own endpoints is answered. @throws {Error} where it has no handler. */
export function controlHandler(served: ServedControl) {
  const handler = HANDLERS[served.endpoint.id];
  if (handler === undefined) throw new Error(`endpoint ${served.endpoint.id}: no handler`);
  return (incoming: IncomingMessage, response: ServerResponse) =>
    handleControl({ ...served, handler }, incoming, response);
}

/** No provider is called from here, and no credential of one is in reach. */
async function handleControl(
  served: ServedControl & Pick<ControlVisit, "handler">,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { runtime, endpoint } = served;
  const { snapshot, release } = runtime.snapshots.take();
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const recorder = new Recorder(
    runtime,
    snapshot,
    recordedAs(endpoint),
    requestId,
    clientRequestId,
    incoming.headers,
  );
  const common = commonHeaders(requestId, clientRequestId, varyHeaders(incoming));
  const headers = (): readonly string[] => [...common, ...recorder.headers()];
  const send = (error: ServiceError) =>
    sendError(response, printerAt(endpoint.path), error, requestId, headers());
  const isKeyed = endpoint.scopes.length > 0;
  try {
    const visit = { ...served, snapshot, incoming, requestId, covered: [], managed: [] };
    const answer = isKeyed
      ? await answerKey(visit, response, recorder)
      : await answerVisit(visit, null, NO_CHANGE);
    const stored = [...headers(), ...cacheHeaders(endpoint)];
    if ("text" in answer) sendText(response, 200, answer.text, stored, answer.contentType);
    else
      sendText(response, 200, JSON.stringify(answer.json), [...stored, ...(answer.headers ?? [])]);
  } catch (cause) {
    const isRefusal = cause instanceof RefusalError;
    if (isRefusal) recorder.caller ??= cause.caller;
    const answer = isRefusal ? cause.answer : internalError();
    if (answer === null) return recorder.aborted();
    const error = isTokenEndpoint(endpoint.path) ? oauthError(answer) : answer;
    if (isKeyed && isRefusal) recorder.recordRefusal(error);
    else if (isKeyed) recorder.crashed(error);
    send(error);
  } finally {
    recorder.close();
    release();
  }
}

function cacheHeaders({ path, isNeverStored }: ControlEndpoint): readonly string[] {
  if (isTokenEndpoint(path)) return NOT_STORED;
  return isNeverStored === true ? ["cache-control", "no-store"] : [];
}

/**
 * An endpoint that needs a key: caller and request are on disk before the answer leaves, as with
 * inference.
 */
async function answerKey(
  visit: ControlVisit,
  response: ServerResponse,
  recorder: Recorder,
): Promise<ControlAnswer> {
  const { runtime, snapshot, endpoint, incoming, console } = visit;
  const recordChange: ControlCall["recordChange"] = async (change) => {
    orRefuse(await recorder.recordAnswer(change));
  };
  if (isTokenEndpoint(endpoint.path) && mayBeWorkload(snapshot, incoming)) {
    // The body shows who calls: it is read first, up to a bound of its own.
    const body = await readVisit(visit, null, undefined);
    const { identity, subject } = await admitWorkload(runtime, snapshot, body.value);
    recorder.caller = identity;
    return callHandler(visit, identity, body, (change) =>
      recordChange({ ...change, subject: asIdentifier(subject) }),
    );
  }
  const bySession =
    console === null ? null : await admitSession(console, snapshot, incoming, endpoint);
  const admitted = bySession ?? (await admit(runtime, incoming, response, endpoint));
  recorder.caller = admitted.identity;
  if (admitted.error !== null) throw new RefusalError(admitted.error);
  const { identity, identities = [identity] } = admitted;
  const covered = identities.map(({ workspace }) => workspace);
  const managed = identities.filter(managesKeys).map(({ workspace }) => workspace);
  const answer = await answerVisit({ ...visit, covered, managed }, identity, recordChange);
  orRefuse(await recorder.recordAnswer());
  return answer;
}

const managesKeys = ({ scopes }: Identity) =>
  scopes.has("operations:manage") || scopes.has(PLATFORM_SCOPE);

/** An endpoint without a key must not change anything. */
const NO_CHANGE: ControlCall["recordChange"] = () => {
  throw new Error("control: an endpoint without a scope changes something");
};

async function answerVisit(
  visit: ControlVisit,
  identity: Identity | null,
  recordChange: ControlCall["recordChange"],
): Promise<ControlAnswer> {
  if (visit.validate === null) return callHandler(visit, identity, null, recordChange);
  const hold =
    identity === null ? undefined : visit.capacity.hold(identity, visit.snapshot.decider.table);
  try {
    const body = await readVisit(visit, identity, hold);
    return await callHandler(visit, identity, body, recordChange);
  } finally {
    hold?.releaseAll();
  }
}

async function readVisit(
  { runtime, endpoint, validate, incoming }: ControlVisit,
  identity: Identity | null,
  hold: RequestHold | undefined,
): Promise<Body> {
  const { acceptsForm, uniqueMembers, isBodyOptional } = endpoint;
  // A key that is revoked while its body is on the way changes nothing any more.
  const stopOrder = identity === null ? runtime.stopOrder : stopsOf(runtime, identity);
  const read =
    isBodyOptional === true && hasNoBody(incoming)
      ? EMPTY
      : await readBody(incoming, bodyLimits(runtime, endpoint, identity), {
          acceptsForm,
          uniqueMembers,
          stopOrder,
          hold,
        });
  if (read === "aborted") throw new RefusalError(null);
  const body = orRefuse(read);
  orRefuse(validate?.(body.value));
  return body;
}

function callHandler(
  visit: ControlVisit,
  identity: Identity | null,
  body: Body | null,
  recordChange: ControlCall["recordChange"],
): ReturnType<ControlHandler> {
  const { endpoint, handler, incoming } = visit;
  const url = new URL(incoming.url ?? "/", "http://signalbox.invalid");
  checkQuery(url.searchParams, endpoint);
  const parameters = parametersOf(endpoint.path, url.pathname);
  return handler({
    ...visit,
    identity,
    body,
    url,
    parameter: parameters[0] ?? "",
    parameters,
    headers: incoming.headers,
    recordChange,
  });
}

/**
 * Bodies of the router's own endpoints are short, but for one that holds another endpoint's. Bytes.
 */
const CONTROL_BODY = 1024 * 1024;

function bodyLimits(
  { limits }: Runtime,
  { tag, path }: ControlEndpoint,
  identity: Identity | null,
): ServerLimits {
  if (tag === "Routing") return limits;
  const most = identity === null && isTokenEndpoint(path) ? ANONYMOUS_BODY : CONTROL_BODY;
  return { ...limits, bodyBytes: Math.min(most, limits.bodyBytes) };
}

const EMPTY: Body = { value: {}, bytes: 0 };

function hasNoBody({ headers }: IncomingMessage) {
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

/** Path parameters by position; one that cannot be decoded is empty. */
function parametersOf(template: string, pathname: string): readonly string[] {
  const segments = pathname.split("/");
  return template
    .split("/")
    .flatMap((segment, at) => (segment.startsWith("{") ? [decoded(segments[at] ?? "")] : []));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}

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
      const facts = [
        allFacts(runtime.endpoints, id),
        ...others.flatMap((other) => other[id] ?? []),
      ] as const;
      return { id, provider, region, model, plaintext, routes, ...joinedFacts(facts) };
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
  workspaceIds: readonly string[],
): readonly { readonly id: string; readonly routes: readonly string[] }[] {
  const approved = new Set(
    workspaceIds.flatMap((workspace) => workspaces[workspace]?.approve.routes ?? []),
  );
  const approvedRoutes = [...approved].flatMap((id) => routes[id] ?? []);
  const lines = approvedRoutes.flatMap(({ id: route, tiers }) =>
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

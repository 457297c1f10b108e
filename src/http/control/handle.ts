import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { DecisionRecord } from "../../evidence/record.ts";
import { admit } from "../authenticate.ts";
import { admitSession } from "../console/admit-session.ts";
import type { Console } from "../console/console-port.ts";
import { isTokenEndpoint, type ControlEndpoint } from "../contract/endpoint.ts";
import type { Capacity, RequestHold, ServerLimits } from "../capacity.ts";
import type { BodyValidator } from "../contract/validate.ts";
import { varyHeaders } from "../cross-origin.ts";
import { oauthError } from "../oauth-error.ts";
import { stopsOf } from "../../dispatch/stop-order.ts";
import { readBody, type Body, type BodyReading } from "../read-body.ts";
import { Recorder } from "../recorder.ts";
import type { Runtime } from "../runtime.ts";
import type { Snapshot } from "../snapshot.ts";
import {
  commonHeaders,
  internalError,
  readClientRequestId,
  printerAt,
  sendError,
  sendJson,
  sendText,
} from "../send.ts";
import type { ControlAnswer, ControlCall } from "./control-call.ts";
import { HANDLERS } from "./handlers.ts";
import type { SimulatedOperation } from "./simulate.ts";

/** What the evidence calls an endpoint of the router's own; those that anybody may call leave no record. */
const RECORDED_AS: Readonly<Record<ControlEndpoint["handler"], DecisionRecord["operation"]>> = {
  simulate: "simulate",
  models: "models",
  model: "models",
  anthropicModels: "models",
  anthropicModel: "models",
  createKey: "control",
  listKeys: "control",
  getKey: "control",
  rotateKey: "control",
  revokeKey: "control",
  putNamedKey: "control",
  getNamedKey: "control",
  deleteNamedKey: "control",
  summary: "control",
  health: "control",
  spend: "control",
  listDecisions: "control",
  getDecision: "control",
  explainDecision: "control",
  exchangeKey: "control",
  status: "control",
  openapi: "control",
  livez: "control",
  readyz: "control",
  metrics: "control",
  listPolicies: "control",
  getPolicy: "control",
  getPolicyContent: "control",
  getPolicyShadow: "control",
  getPolicySimulation: "control",
  listPolicyTransitions: "control",
  approvePolicy: "control",
  promotePolicy: "control",
  rollBackPolicy: "control",
  withdrawPolicy: "control",
  releasePolicy: "control",
};

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
  readonly snapshot: Snapshot;
  readonly incoming: IncomingMessage;
  readonly requestId: string;
  readonly covered: readonly string[];
}

/** Answers one of the router's own endpoints. No provider is called from here, and no credential of one is in reach. */
export async function handleControl(
  served: ServedControl,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { runtime, endpoint } = served;
  const { snapshot, done } = runtime.snapshots.take();
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const operation = RECORDED_AS[endpoint.handler];
  const recorder = new Recorder(runtime, operation, requestId, clientRequestId, incoming.headers);
  const common = commonHeaders(requestId, clientRequestId, varyHeaders(runtime, incoming));
  const headers = (): readonly string[] => [...common, ...recorder.headers(snapshot)];
  try {
    const visit = { ...served, snapshot, incoming, requestId, covered: [] };
    const answer =
      endpoint.scope === null ? await answerVisit(visit, null, NO_CHANGE) : await answerKey(visit, response, recorder);
    if (answer === "aborted") return;
    if ("code" in answer) sendError(response, printerAt(endpoint.path), answer, requestId, headers());
    else if ("page" in answer) sendText(response, 200, answer.page.text, headers(), answer.page.contentType);
    else if ("text" in answer) sendText(response, 200, answer.text, [...headers(), ...(answer.headers ?? [])]);
    else sendJson(response, 200, answer.json, [...headers(), ...(answer.headers ?? [])]);
  } catch {
    const error = internalError();
    if (endpoint.scope !== null) recorder.crashed(snapshot, error);
    sendError(response, printerAt(endpoint.path), error, requestId, headers());
  } finally {
    recorder.close();
    done();
  }
}

/** An endpoint that needs a key: caller and request are on disk before the answer leaves, as with inference. */
async function answerKey(
  visit: ControlVisit,
  response: ServerResponse,
  recorder: Recorder,
): Promise<ControlAnswer | "aborted"> {
  const { runtime, snapshot, endpoint, incoming, console } = visit;
  if (endpoint.scope === null) throw new Error("control: an endpoint without a scope was asked for a key");
  const bySession = console === null ? null : await admitSession(console, snapshot, incoming, endpoint);
  const admitted = bySession ?? (await admit(runtime, incoming, response, endpoint));
  const refuse = (refusal: ServiceError): ServiceError =>
    recorder.refuse(snapshot, admitted.identity, isTokenEndpoint(endpoint.path) ? oauthError(refusal) : refusal);
  if (admitted.error !== null) return refuse(admitted.error);
  const { identity, covered = [identity.workspace] } = admitted;
  recorder.caller = identity;
  const recordChange: ControlCall["recordChange"] = (change) => recorder.answered(snapshot, identity, change);
  const answer = await answerVisit({ ...visit, covered }, identity, recordChange);
  if (answer === "aborted") recorder.aborted(snapshot, identity);
  else if ("code" in answer) return refuse(answer);
  else return (await recorder.answered(snapshot, identity)) ?? answer;
  return answer;
}

/** An endpoint without a key must not change anything. */
const NO_CHANGE: ControlCall["recordChange"] = () => {
  throw new Error("control: an endpoint without a scope changes something");
};

async function answerVisit(
  visit: ControlVisit,
  identity: Identity | null,
  recordChange: ControlCall["recordChange"],
): Promise<ControlAnswer | "aborted"> {
  const { snapshot } = visit;
  if (visit.validate === null) return callHandler(visit, identity, null, recordChange);
  const hold = identity === null ? undefined : visit.capacity.hold(identity, snapshot.decider.table);
  try {
    const body = await readVisit(visit, identity, hold);
    return body === "aborted" || "code" in body ? body : await callHandler(visit, identity, body, recordChange);
  } finally {
    hold?.end();
  }
}

async function readVisit(
  { runtime, endpoint, validate, incoming }: ControlVisit,
  identity: Identity | null,
  hold: RequestHold | undefined,
): Promise<Body | ServiceError | "aborted"> {
  if (endpoint.isBodyOptional === true && hasNoBody(incoming)) return checked(EMPTY, validate);
  // A key that is revoked while its body is on the way changes nothing any more.
  const stopOrder = identity === null ? runtime.stopOrder : stopsOf(runtime, identity);
  const read = await readBody(incoming, bodyLimits(runtime, endpoint), { ...bodyReading(endpoint), stopOrder, hold });
  return read === "aborted" || "code" in read ? read : checked(read, validate);
}

function checked(body: Body, validate: BodyValidator | null): Body | ServiceError {
  return validate?.(body.value) ?? body;
}

function callHandler(
  { runtime, snapshot, endpoint, operations, incoming, requestId, covered }: ControlVisit,
  identity: Identity | null,
  body: Body | null,
  recordChange: ControlCall["recordChange"],
): ReturnType<(typeof HANDLERS)[ControlEndpoint["handler"]]> {
  const url = new URL(incoming.url ?? "/", "http://signalbox.invalid");
  const parameters = parametersOf(endpoint.path, url.pathname);
  return HANDLERS[endpoint.handler]({
    runtime,
    snapshot,
    identity,
    covered,
    body,
    url,
    parameter: parameters[0] ?? null,
    parameters: parameters.map((one) => one ?? ""),
    headers: incoming.headers,
    requestId,
    operations,
    recordChange,
  });
}

/** Bodies of the router's own endpoints are short, but for one that holds another endpoint's. Bytes. */
const CONTROL_BODY = 1024 * 1024;

function bodyLimits({ limits }: Runtime, { handler }: ControlEndpoint): ServerLimits {
  return handler === "simulate" ? limits : { ...limits, bodyBytes: Math.min(CONTROL_BODY, limits.bodyBytes) };
}

function bodyReading({ acceptsForm, uniqueMembers }: ControlEndpoint): BodyReading {
  return { acceptsForm, uniqueMembers };
}

const EMPTY: Body = { value: {}, bytes: 0 };

function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

/** What stands in the path where the endpoint has `{name}`; `null` for what cannot be decoded. */
function parametersOf(template: string, pathname: string): readonly (string | null)[] {
  const segments = pathname.split("/");
  return template.split("/").flatMap((segment, at) => (segment.startsWith("{") ? [decoded(segments[at] ?? "")] : []));
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../../canon/error.ts";
import { PLATFORM_SCOPE, type Identity } from "../../canon/identity.ts";
import { asIdentifier, type DecisionRecord } from "../../evidence/record.ts";
import { admit } from "../authenticate.ts";
import { admitSession } from "../console/signed-in.ts";
import type { Console } from "../console/console-port.ts";
import { isTokenEndpoint, type ControlEndpoint } from "../contract/endpoint.ts";
import type { Capacity, RequestHold, ServerLimits } from "../capacity.ts";
import { type BodyValidator } from "../validate-body.ts";
import { readBody, type Body } from "../read-body.ts";
import { RefusalError, orRefuse } from "../refusal.ts";
import { varyHeaders } from "../cross-origin.ts";
import { NOT_STORED, internalError, oauthError, printerAt, sendError, sendText } from "../send.ts";
import { stopsOf } from "../../dispatch/stop-order.ts";
import { Recorder } from "../recorder.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Runtime } from "../runtime.ts";
import { commonHeaders, readClientRequestId } from "../heads.ts";
import type { ControlAnswer, ControlCall, ControlHandler } from "./control-call.ts";
import { checkQuery } from "./query.ts";
import { HANDLERS } from "./handlers.ts";
import { admitWorkload, ANONYMOUS_BODY, mayBeWorkload } from "./service-keys/exchange-handler.ts";
import type { SimulatedOperation } from "./simulate.ts";

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
  const { snapshot, done } = runtime.snapshots.take();
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
    done();
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
    orRefuse(await recorder.answered(change));
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
  orRefuse(await recorder.answered());
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

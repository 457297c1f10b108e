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
import { readBody, type Body, type BodyReading } from "../read-body.ts";
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
  return (incoming: IncomingMessage, response: ServerResponse): Promise<void> =>
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
  try {
    const visit = { ...served, snapshot, incoming, requestId, covered: [], managed: [] };
    const answer =
      endpoint.scopes.length === 0
        ? await answerVisit(visit, null, NO_CHANGE)
        : await answerKey(visit, response, recorder);
    if (answer === "aborted") return;
    if ("code" in answer)
      sendError(response, printerAt(endpoint.path), answer, requestId, headers());
    else {
      const stored = [...headers(), ...cacheHeaders(endpoint)];
      if ("page" in answer)
        sendText(response, 200, answer.page.text, stored, answer.page.contentType);
      else {
        const text = "text" in answer ? answer.text : JSON.stringify(answer.json);
        sendText(response, 200, text, [...stored, ...(answer.headers ?? [])]);
      }
    }
  } catch {
    const error = internalError();
    if (endpoint.scopes.length > 0) recorder.crashed(error);
    sendError(response, printerAt(endpoint.path), error, requestId, headers());
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
): Promise<ControlAnswer | "aborted"> {
  const { runtime, snapshot, endpoint, incoming, console } = visit;
  if (endpoint.scopes.length === 0)
    throw new Error("control: an endpoint without a scope required a key");
  if (isTokenEndpoint(endpoint.path) && mayBeWorkload(snapshot, incoming)) {
    return answerWorkload(visit, recorder);
  }
  const bySession =
    console === null ? null : await admitSession(console, snapshot, incoming, endpoint);
  const admitted = bySession ?? (await admit(runtime, incoming, response, endpoint));
  recorder.caller = admitted.identity;
  const refuse = (refusal: ServiceError): ServiceError =>
    recorder.recordRefusal(isTokenEndpoint(endpoint.path) ? oauthError(refusal) : refusal);
  if (admitted.error !== null) return refuse(admitted.error);
  const { identity, seats = [identity] } = admitted;
  const covered = seats.map(({ workspace }) => workspace);
  const managed = seats.filter(managesKeys).map(({ workspace }) => workspace);
  const recordChange: ControlCall["recordChange"] = (change) => recorder.answered(change);
  const answer = await answerVisit({ ...visit, covered, managed }, identity, recordChange);
  if (answer === "aborted") recorder.aborted();
  else if ("code" in answer) return refuse(answer);
  else return (await recorder.answered()) ?? answer;
  return answer;
}

const managesKeys = ({ scopes }: Identity): boolean =>
  scopes.has("operations:manage") || scopes.has(PLATFORM_SCOPE);

/**
 * The token endpoint for a caller without a key: who it is stands in the body, which therefore is
 * read first, up to a bound of its own.
 */
async function answerWorkload(
  visit: ControlVisit,
  recorder: Recorder,
): Promise<ControlAnswer | "aborted"> {
  const { runtime, snapshot } = visit;
  const refuse = (refusal: ServiceError): ServiceError =>
    recorder.recordRefusal(oauthError(refusal));
  const body = await readVisit(visit, null, undefined);
  if (body === "aborted") {
    recorder.aborted();
    return body;
  }
  if ("code" in body) return refuse(body);
  const admitted = await admitWorkload(runtime, snapshot, body.value);
  if ("code" in admitted) return refuse(admitted);
  const { identity } = admitted;
  recorder.caller = identity;
  const subject = asIdentifier(admitted.subject);
  const answer = await callHandler(visit, identity, body, (change) =>
    recorder.answered({ ...change, subject }),
  );
  return "code" in answer ? refuse(answer) : answer;
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
  const hold =
    identity === null ? undefined : visit.capacity.hold(identity, snapshot.decider.table);
  try {
    const body = await readVisit(visit, identity, hold);
    return body === "aborted" || "code" in body
      ? body
      : await callHandler(visit, identity, body, recordChange);
  } finally {
    hold?.releaseAll();
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
  const read = await readBody(incoming, bodyLimits(runtime, endpoint, identity), {
    ...bodyReading(endpoint),
    stopOrder,
    hold,
  });
  return read === "aborted" || "code" in read ? read : checked(read, validate);
}

function checked(body: Body, validate: BodyValidator | null): Body | ServiceError {
  return validate?.(body.value) ?? body;
}

function callHandler(
  {
    runtime,
    snapshot,
    endpoint,
    handler,
    operations,
    incoming,
    requestId,
    covered,
    managed,
  }: ControlVisit,
  identity: Identity | null,
  body: Body | null,
  recordChange: ControlCall["recordChange"],
): ReturnType<ControlHandler> {
  const url = new URL(incoming.url ?? "/", "http://signalbox.invalid");
  const wrong = checkQuery(url.searchParams, endpoint);
  if (wrong !== null) return wrong;
  const parameters = parametersOf(endpoint.path, url.pathname);
  return handler({
    runtime,
    snapshot,
    identity,
    covered,
    managed,
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

function bodyReading({ acceptsForm, uniqueMembers }: ControlEndpoint): BodyReading {
  return { acceptsForm, uniqueMembers };
}

const EMPTY: Body = { value: {}, bytes: 0 };

function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

/** Path parameters by position; `null` for one that cannot be decoded. */
function parametersOf(template: string, pathname: string): readonly (string | null)[] {
  const segments = pathname.split("/");
  return template
    .split("/")
    .flatMap((segment, at) => (segment.startsWith("{") ? [decoded(segments[at] ?? "")] : []));
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

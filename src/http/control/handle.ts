import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../../canon/identity.ts";
import type { DecisionRecord } from "../../evidence/record.ts";
import { admit } from "../authenticate.ts";
import { scopesOf, type ControlEndpoint } from "../contract/endpoint.ts";
import type { BodyValidator } from "../contract/validate.ts";
import { readBody, type Body } from "../read-body.ts";
import { Recorder } from "../recorder.ts";
import type { Runtime, ServerLimits, Snapshot } from "../runtime.ts";
import { commonHeaders, internalError, readClientRequestId, sendError, sendJson, sendText } from "../send.ts";
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
  summary: "control",
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
  listPolicyTransitions: "control",
  approvePolicy: "control",
  promotePolicy: "control",
  rollBackPolicy: "control",
  withdrawPolicy: "control",
  releasePolicy: "control",
};

interface ControlVisit {
  readonly runtime: Runtime;
  readonly snapshot: Snapshot;
  readonly endpoint: ControlEndpoint;
  readonly validate: BodyValidator | null;
  readonly operations: ReadonlyMap<string, SimulatedOperation>;
  readonly incoming: IncomingMessage;
  readonly requestId: string;
}

/** Answers one of the router's own endpoints. No provider is called from here, and no credential of one is in reach. */
export async function handleControl(
  runtime: Runtime,
  endpoint: ControlEndpoint,
  validate: BodyValidator | null,
  operations: ReadonlyMap<string, SimulatedOperation>,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { snapshot, done } = runtime.snapshots.take();
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const operation = RECORDED_AS[endpoint.handler];
  const recorder = new Recorder(runtime, operation, requestId, clientRequestId, incoming.headers);
  const common = commonHeaders(requestId, clientRequestId);
  const headers = (): readonly string[] => [...common, ...recorder.headers(snapshot)];
  try {
    const visit = { runtime, snapshot, endpoint, validate, operations, incoming, requestId };
    const answer =
      endpoint.scope === null ? await answerVisit(visit, null, NO_CHANGE) : await answerKey(visit, recorder);
    if (answer === "aborted") return;
    if ("code" in answer) sendError(response, endpoint.path, answer, requestId, headers());
    else if ("page" in answer) sendText(response, 200, answer.page.text, headers(), answer.page.contentType);
    else if ("text" in answer) sendText(response, 200, answer.text, [...headers(), ...(answer.headers ?? [])]);
    else sendJson(response, 200, answer.json, [...headers(), ...(answer.headers ?? [])]);
  } catch {
    const error = internalError();
    if (endpoint.scope !== null) recorder.crashed(snapshot, error);
    sendError(response, endpoint.path, error, requestId, headers());
  } finally {
    recorder.close();
    done();
  }
}

/** An endpoint that needs a key: who asked for what is on disk before the answer leaves, as with inference. */
async function answerKey(visit: ControlVisit, recorder: Recorder): Promise<ControlAnswer | "aborted"> {
  const { runtime, snapshot, endpoint, incoming } = visit;
  if (endpoint.scope === null) throw new Error("control: an endpoint without a scope was asked for a key");
  const identity = await admit(runtime, incoming.headers, endpoint.path, scopesOf(endpoint), null);
  if ("code" in identity) return recorder.refuse(snapshot, null, identity);
  const recordChange: ControlCall["recordChange"] = (change) => recorder.answered(snapshot, identity, change);
  const answer = await answerVisit(visit, identity, recordChange);
  if (answer === "aborted") recorder.aborted(snapshot, identity);
  else if ("code" in answer) return recorder.refuse(snapshot, identity, answer);
  else return (await recorder.answered(snapshot, identity)) ?? answer;
  return answer;
}

/** Whoever needs no key changes nothing. */
const NO_CHANGE: ControlCall["recordChange"] = () => {
  throw new Error("control: an endpoint without a scope changes something");
};

async function answerVisit(
  visit: ControlVisit,
  identity: Identity | null,
  recordChange: ControlCall["recordChange"],
): Promise<ControlAnswer | "aborted"> {
  const { runtime, snapshot, endpoint, validate, operations, incoming, requestId } = visit;
  let body: Body | null = null;
  if (validate !== null) {
    const read =
      endpoint.isBodyOptional === true && hasNoBody(incoming)
        ? EMPTY
        : await readBody(incoming, bodyLimits(runtime, endpoint), endpoint);
    if (read === "aborted" || "code" in read) return read;
    const invalid = validate(read.value);
    if (invalid !== null) return invalid;
    body = read;
  }
  const url = new URL(incoming.url ?? "/", "http://signalbox.invalid");
  const parameter = parameterOf(endpoint.path, url.pathname);
  const { accept, "if-match": ifMatch } = incoming.headers;
  return HANDLERS[endpoint.handler]({
    runtime,
    snapshot,
    identity,
    body,
    url,
    parameter,
    accept,
    ifMatch,
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

const EMPTY: Body = { value: {}, bytes: 0 };

function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

/** What stands in the path where the endpoint has `{name}`. */
function parameterOf(template: string, pathname: string): string | null {
  const at = template.split("/").findIndex((segment) => segment.startsWith("{"));
  if (at < 0) return null;
  try {
    return decodeURIComponent(pathname.split("/")[at] ?? "");
  } catch {
    return null;
  }
}

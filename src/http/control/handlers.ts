import type { IncomingMessage, ServerResponse } from "node:http";
import { invalidRequest, serviceError, type ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { JsonValue } from "../../canon/json.ts";
import type { Operation } from "../../canon/operation.ts";
import { authenticate } from "../authenticate.ts";
import { catalogue } from "./catalogue.ts";
import type { ControlEndpoint } from "../contract/endpoints.ts";
import { readBody, type Body } from "../read-body.ts";
import type { Runtime, Snapshot } from "../runtime.ts";
import { commonHeaders, readClientRequestId, sendError, sendJson, sendText } from "../send.ts";
import { explain, policyRevisions, simulationQuestion, type SimulatedOperation } from "./simulate.ts";
import type { BodyValidator } from "../contract/validate.ts";

/** What a handler of the router's own endpoints gets. */
interface ControlCall {
  readonly runtime: Runtime;
  readonly snapshot: Snapshot;
  readonly identity: Identity | null;
  readonly body: Body | null;
  readonly url: URL;
  readonly parameter: string | null;
  readonly operations: ReadonlyMap<string, SimulatedOperation>;
}

/** A JSON value to answer, text that is JSON already, or an error. */
type ControlAnswer = { readonly json: JsonValue } | { readonly text: string } | ServiceError;

const HANDLERS: Readonly<Record<ControlEndpoint["handler"], (call: ControlCall) => ControlAnswer>> = {
  simulate: ({ snapshot, identity, body, url, operations }) => {
    const operation = operations.get(url.searchParams.get("operation") ?? "");
    if (operation === undefined) {
      const known = [...operations.keys()].join(", ");
      return invalidRequest("invalid_operation", `The query parameter operation must be one of ${known}`, "operation");
    }
    if (body === null || identity === null) throw new Error("control: simulate without a body or an identity");
    const question = simulationQuestion(body.value, body.bytes, operation);
    if ("code" in question) return question;
    const decision = snapshot.decider.decide(identity, question);
    return { json: explain(snapshot.decider, identity, question, decision) };
  },
  models: ({ snapshot, identity, operations }) => {
    const data = identity === null ? [] : catalogue(snapshot.decider.table, identity, servedOperations(operations));
    return { json: { object: "list", data: data.map((entry) => ({ ...entry })) } };
  },
  model: ({ snapshot, identity, parameter, operations }) => {
    const found =
      identity === null
        ? undefined
        : catalogue(snapshot.decider.table, identity, servedOperations(operations)).find(({ id }) => id === parameter);
    if (found !== undefined) return { json: { ...found } };
    return serviceError(404, "not_found", "model_not_found", "No route of this name is available to the workspace.", {
      param: "model",
    });
  },
  status: ({ runtime, snapshot }) => ({
    json: {
      build_id: runtime.build.id,
      contract_sha256: runtime.build.contractSha256,
      table_sha256: snapshot.decider.table.revision,
      policy_revisions: policyRevisions(snapshot.decider),
      uptime_seconds: Math.floor((performance.now() - runtime.build.startedAt) / 1000),
      degraded: runtime.degraded(),
    },
  }),
  openapi: ({ runtime }) => ({ text: runtime.build.contract }),
  livez: () => ({ json: { status: "live" } }),
  readyz: ({ runtime }) => {
    if (runtime.accepting() && runtime.degraded().every((part) => part !== "evidence"))
      return { json: { status: "ready" } };
    return serviceError(503, "unavailable", "not_ready", "The server is starting, draining, or cannot write evidence.");
  },
};

function servedOperations(operations: ControlCall["operations"]): readonly Operation[] {
  return [...operations.values()].map(({ operation }) => operation);
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
  const common = commonHeaders(requestId, readClientRequestId(incoming.headers["x-client-request-id"]));
  const headers = [...common, "x-signalbox-table", snapshot.decider.table.revision.slice(0, 12)];
  try {
    const answer = await answerControl(runtime, snapshot, endpoint, validate, operations, incoming);
    if (answer === "aborted") return;
    if ("code" in answer) sendError(response, endpoint.path, answer, requestId, headers);
    else if ("text" in answer) sendText(response, 200, answer.text, headers);
    else sendJson(response, 200, answer.json, headers);
  } finally {
    done();
  }
}

async function answerControl(
  runtime: Runtime,
  snapshot: Snapshot,
  endpoint: ControlEndpoint,
  validate: BodyValidator | null,
  operations: ReadonlyMap<string, SimulatedOperation>,
  incoming: IncomingMessage,
): Promise<ControlAnswer | "aborted"> {
  let identity: Identity | null = null;
  if (endpoint.scope !== null) {
    const verified = authenticate(runtime, incoming.headers, endpoint.path, endpoint.scope);
    if ("code" in verified) return verified;
    identity = verified;
  }
  let body: Body | null = null;
  if (validate !== null) {
    const read = await readBody(incoming, runtime.limits);
    if (read === "aborted" || "code" in read) return read;
    const invalid = validate(read.value);
    if (invalid !== null) return invalid;
    body = read;
  }
  const url = new URL(incoming.url ?? "/", "http://signalbox.invalid");
  const parameter = endpoint.path.includes("{") ? lastSegment(url.pathname) : null;
  return HANDLERS[endpoint.handler]({ runtime, snapshot, identity, body, url, parameter, operations });
}

function lastSegment(pathname: string): string | null {
  try {
    return decodeURIComponent(pathname.slice(pathname.lastIndexOf("/") + 1));
  } catch {
    return null;
  }
}

import { H3, type H3Event, type HTTPError } from "h3";
import type { IncomingMessage, ServerResponse } from "node:http";
import { codedError } from "../canon/error-codes.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import { editDistance } from "../canon/nearest-name.ts";
import { hasToken } from "./authenticate.ts";
import { Capacity } from "./capacity.ts";
import type { Console } from "./console/console-port.ts";
import type { Endpoint } from "./contract/endpoint.ts";
import { ENDPOINTS } from "./contract/endpoints.ts";
import { controlHandler, type ServedControl } from "./control/handle.ts";
import type { SimulatedOperation } from "./control/simulate.ts";
import { allowReading, answerPreflight, varyHeaders, varyHeadersOf } from "./cross-origin.ts";
import {
  commonHeaders,
  countAnswer,
  isAnswered,
  readClientRequestId,
  refuseHead,
} from "./heads.ts";
import { boundWriting } from "./node-answer.ts";
import { handleInference } from "./pipeline.ts";
import { bodyValidator } from "./validate-body.ts";
import type { Runtime } from "./runtime.ts";
import { internalError, printerAt, sendError, sendText } from "./send.ts";

/**
 * Clients put one of these before the part of a path that names the operation, depending on the
 * base URL that they were given.
 */
const BASES: ReadonlySet<string> = new Set([
  "api",
  "openai",
  "anthropic",
  "beta",
  "v1",
  "v1beta",
  "v2",
]);

/** Characters; longer paths are not compared. */
const LONGEST = 200;

/** Slips of the finger in a path that still has a nearest one. */
const FARTHEST = 2;

/**
 * The endpoint that a request for an unknown path, or with another method, was probably for:
 * `POST /api/v1/messages` for `POST /v1/messages`. `null` where none is near. Has nothing of the
 * path that was requested.
 */
export function nearestPath(
  method: string,
  url: string,
  endpoints: readonly Endpoint[],
): string | null {
  const [path = ""] = url.split("?", 1);
  if (path.length > LONGEST) return null;
  const requested = withoutBase(path);
  if (requested.length === 0) return null;
  const found = endpoints.filter((endpoint) => matches(requested, withoutBase(endpoint.path)));
  const near = found.length > 0 ? found : misspelt(requested.join("/"), endpoints);
  const underApi = path.startsWith("/api/");
  const [best] = near.toSorted(
    (left, right) =>
      Number(right.method === method) - Number(left.method === method) ||
      Number(right.path.startsWith("/api/") === underApi) -
        Number(left.path.startsWith("/api/") === underApi),
  );
  return best === undefined ? null : `${best.method} ${best.path}`;
}

function withoutBase(path: string): readonly string[] {
  const segments = path.split("/").filter((segment) => segment !== "");
  const begin = segments.findIndex((segment) => !BASES.has(segment));
  return begin === -1 ? [] : segments.slice(begin);
}

function matches(requested: readonly string[], accepted: readonly string[]) {
  return (
    requested.length === accepted.length &&
    accepted.every((segment, index) => segment.startsWith("{") || segment === requested[index])
  );
}

function misspelt(requested: string, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const nameOf = ({ path }: Endpoint) => withoutBase(path).join("/");
  const distanceOf = (endpoint: Endpoint): number => {
    const name = nameOf(endpoint);
    return Math.abs(name.length - requested.length) > FARTHEST
      ? Infinity
      : editDistance(name, requested);
  };
  const least = Math.min(...endpoints.map(distanceOf));
  return least > FARTHEST ? [] : endpoints.filter((endpoint) => distanceOf(endpoint) === least);
}

type NodeHandler = (incoming: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/** Signals to h3 that the node response has been written; the registered symbol that h3 uses. */
const HANDLED = Symbol.for("h3.handled");

/** Endpoints of one listener. */
export interface App {
  /** A route per row of the endpoint table, and a 404 for everything else. */
  readonly framework: H3;
  /**
   * Handles a request whose target is exactly the path of an inference endpoint: only its row can
   * match, and none of our handlers uses the objects that h3 makes (event, URL, web request and
   * response).
   *
   * @returns false where the framework has to look.
   */
  readonly handleExact: (incoming: IncomingMessage, response: ServerResponse) => boolean;
}

export function createApp(runtime: Runtime, listener: Endpoint["listener"]): App {
  // Silent, because h3 prints unhandled errors with their stack otherwise, and a stack can quote a
  // body. h3 itself also refuses some requests (a path with a broken escape), in a shape of its
  // own; `onError` answers them in ours.
  const app = new H3({
    silent: true,
    onError: (error, event) => runEvent(runtime, refusedByFramework(runtime, error), event),
  });
  const operations = new Map<string, SimulatedOperation>();
  for (const endpoint of ENDPOINTS) {
    if (endpoint.kind !== "inference") continue;
    const { operation, surface, body } = endpoint;
    if (body !== null)
      operations.set(operation, { operation, surface, validate: bodyValidator(body) });
  }
  const capacity = new Capacity(runtime.limits);
  const console = runtime.console?.listener === listener ? runtime.console : null;
  // The console's page calls the API at its own origin.
  const served = ENDPOINTS.filter(
    (endpoint) =>
      endpoint.listener === listener || (console !== null && isConsoleControl(endpoint)),
  );
  const unknown = notFound(runtime, served);
  const exact: ExactRoute[] = [];
  for (const endpoint of served) {
    const { method, path } = endpoint;
    const validate = endpoint.body === null ? null : bodyValidator(endpoint.body);
    const plain = nodeHandler({ runtime, validate, operations, capacity, console }, endpoint);
    const handler = endpoint.listener === "admin" ? withoutRebinding(runtime, plain) : plain;
    if (endpoint.kind === "inference") exact.push({ method, path, handler });
    const guarded = exactPath(unknown, path, handler);
    app.on(method, path.replaceAll(/\{(\w+)\}/g, ":$1"), (event) =>
      runEvent(runtime, guarded, event),
    );
  }
  if (console !== null) addConsole(app, runtime, console, unknown);
  app.all("/**", (event) => runEvent(runtime, unknown, event));
  return {
    framework: app,
    handleExact: (incoming, response) => handleExact(runtime, exact, incoming, response),
  };
}

/** IP literals, localhost, and names that public DNS cannot have. */
const LOCAL_HOST =
  /^(?:[\d.]+|\[[\da-f:.]+\]|[\w-]+|.*\.(?:localhost|local|internal|svc))(?::\d+)?$/i;

/**
 * The admin listener requires no key, so a page on the Internet whose name resolves to this machine
 * (DNS rebinding) must not read it. Browsers cannot leave Accept-Language out; Prometheus and
 * probes do not send it.
 */
function withoutRebinding(runtime: Runtime, handler: NodeHandler): NodeHandler {
  const message =
    "A browser reached the admin listener under a name that is not its own: use its address, or the host of `console.url`.";
  const refuse = refuseWith(runtime, invalidRequest("missing_host", message));
  return (incoming, response) => {
    const { host = "", "accept-language": language } = incoming.headers;
    const url = runtime.snapshots.current.decider.table.console?.url ?? "";
    const isOwnHost = language === undefined || LOCAL_HOST.test(host) || url.endsWith(`//${host}`);
    return (isOwnHost ? handler : refuse)(incoming, response);
  };
}

interface ExactRoute {
  readonly method: string;
  readonly path: string;
  readonly handler: NodeHandler;
}

/**
 * A list and not a map: the engine would internalise the text of each request's target to look it
 * up.
 */
function handleExact(
  runtime: Runtime,
  routes: readonly ExactRoute[],
  incoming: IncomingMessage,
  response: ServerResponse,
): boolean {
  for (const { method, path, handler } of routes) {
    if (path !== incoming.url || method !== incoming.method) continue;
    run(runtime, handler, incoming, response).catch(() => response.destroy());
    return true;
  }
  return false;
}

/**
 * h3 takes a path with a slash at its end, with dot segments or with escaped letters for the one
 * without; in OpenAPI, and for a proxy that guards paths in front of us, it is another.
 */
function exactPath(unknown: NodeHandler, path: string, handler: NodeHandler): NodeHandler {
  // RFC 9112 §3.2.2: the target may be a whole URL; its host is not looked at.
  const target = new RegExp(
    `^(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#]*)?${path.replaceAll(/\{\w+\}/g, "[^/?#]+")}(?:[?#]|$)`,
  );
  return (incoming, response) => {
    const { url = "/" } = incoming;
    return (url === path || target.test(url) ? handler : unknown)(incoming, response);
  };
}

/** The router's own endpoints beside the page, wherever else they are served. */
function isConsoleControl({ kind, listener }: Endpoint) {
  return kind === "control" && listener === "public";
}

/** The page is loaded with the first request for it. */
function addConsole(app: H3, runtime: Runtime, console: Console, unknown: NodeHandler) {
  const handler: NodeHandler = async (incoming, response) => {
    const { serveConsole } = await import("./console/serve-console.ts");
    await serveConsole(runtime, console, incoming, response);
  };
  for (const path of ["/", "/favicon.ico", "/console", "/console/**"])
    app.get(path, (event) => runEvent(runtime, handler, event));
  for (const path of ["/console/session", "/console/session/end"]) {
    app.post(path, (event) => runEvent(runtime, exactPath(unknown, path, handler), event));
  }
}

function nodeHandler(served: Omit<ServedControl, "endpoint">, endpoint: Endpoint): NodeHandler {
  const { runtime, validate, capacity } = served;
  if (endpoint.kind === "control") return controlHandler({ ...served, endpoint });
  if (validate === null)
    throw new Error(`endpoint ${endpoint.id}: an inference endpoint without a body schema`);
  const inference = { runtime, endpoint, validate, capacity, vary: varyHeadersOf(endpoint) };
  return (incoming, response) => handleInference(inference, incoming, response);
}

async function runEvent(runtime: Runtime, handler: NodeHandler, event: H3Event): Promise<symbol> {
  const node = event.runtime?.node;
  const incoming = node?.req;
  const response = node?.res;
  if (!isIncomingMessage(incoming) || !isResponse(response))
    throw new Error("server: not a node runtime");
  await run(runtime, handler, incoming, response);
  return HANDLED;
}

/**
 * The only handler of our own exceptions: a 500 without details, or a closed socket where an answer
 * has begun. Resolves when the answer has been handed over or its client is gone.
 */
async function run(
  runtime: Runtime,
  handler: NodeHandler,
  incoming: IncomingMessage,
  response: ServerResponse,
) {
  if (!isAnswered(incoming, response)) return;
  if (incoming.method === "OPTIONS" && answerPreflight(runtime, incoming, response)) return;
  try {
    const refusal = refuseHead(incoming);
    // With an ambiguous head, the end of the body is unknown.
    if (refusal !== null) response.shouldKeepAlive = false;
    await (refusal === null ? handler : refuseWith(runtime, refusal))(incoming, response);
  } catch {
    if (response.headersSent) response.destroy();
    else answerError(runtime, incoming, response, internalError());
  }
  countAnswer(incoming, response.statusCode);
  if (response.writableEnded) boundWriting(response, runtime.limits.writeTime);
  else if (!response.destroyed) await closed(response);
}

function closed(response: ServerResponse) {
  return new Promise((resolve) => {
    response.once("close", resolve);
  });
}

function isIncomingMessage(value: unknown): value is IncomingMessage {
  return typeof value === "object" && value !== null && "headers" in value;
}

function isResponse(value: unknown): value is ServerResponse {
  return typeof value === "object" && value !== null && "writeHead" in value;
}

/** Answers a request that never became a call of an endpoint. */
function answerError(
  runtime: Runtime,
  incoming: IncomingMessage,
  response: ServerResponse,
  error: ServiceError,
) {
  runtime.observer.unrouted?.(error.status);
  // The token has not been checked, and the answer reveals nothing about it: a page has to
  // distinguish "busy" from a lost connection.
  if (hasToken(runtime, incoming.headers)) allowReading(runtime, incoming, response, null);
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const common = commonHeaders(requestId, clientRequestId, varyHeaders(incoming));
  sendError(response, printerAt(incoming.url ?? "/"), error, requestId, common);
}

function refusedByFramework(runtime: Runtime, { status }: HTTPError) {
  return refuseWith(
    runtime,
    status === 400
      ? invalidRequest("malformed_url", "The path is not a valid URL: check its % escapes.")
      : internalError(),
  );
}

/** Answers every request with one error. */
function refuseWith(runtime: Runtime, error: ServiceError): NodeHandler {
  return (incoming, response) => answerError(runtime, incoming, response, error);
}

function unknownPath(near: string | null): ServiceError {
  const fix = near === null ? "" : ` Did you mean ${near}?`;
  return codedError("unknown_path", `No such path and method.${fix} GET /openapi.json lists them.`);
}

/** For a person who opens the base URL of clients. The console, if served here, has this path. */
const FRONT = `<!doctype html><meta charset="utf-8"><title>Signalbox</title>
<h1>Signalbox</h1>
<p>This address is for clients: <code>/v1</code> for OpenAI's, <code>/api</code> for Anthropic's.</p>
<p><a href="/openapi.json">The API</a> · <a href="/status">Status</a> · The console is where
<code>serve --console</code> puts it: by default <code>/console/</code> of the admin listener.</p>
`;

function notFound(runtime: Runtime, served: readonly Endpoint[]): NodeHandler {
  return (incoming, response) => {
    const { url: path = "/", method = "", headers } = incoming;
    if (path === "/" && method === "GET" && /text\/html/.test(headers.accept ?? "")) {
      const id = commonHeaders(runtime.newRequestId(), null, []);
      const all = [...id, "content-security-policy", "default-src 'none'"];
      return sendText(response, 200, FRONT, all, "text/html");
    }
    const stored =
      /^\/v1\/(responses(?!\/(input_tokens|compact)($|\?))|conversations|threads|assistants|files|batches)(\/|$|\?)/.test(
        path,
      );
    const error = stored
      ? codedError(
          "not_supported",
          "The router stores no objects, so this path does not exist here.",
        )
      : unknownPath(nearestPath(method, path, served));
    answerError(runtime, incoming, response, error);
  };
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../canon/error.ts";
import { codedError } from "../canon/errors/coded-error.ts";
import { familyOf, isTokenEndpoint } from "./contract/endpoint.ts";
import { NOT_STORED, renderOAuthError } from "./oauth-error.ts";
import { randomFillSync } from "node:crypto";

/**
 * Headers of every answer (docs/api.md#headers-of-answers); names and values alternate.
 *
 * @param vary of `varyHeaders`.
 */
export function commonHeaders(
  requestId: string,
  clientRequestId: string | null,
  vary: readonly string[],
): readonly string[] {
  const headers = [...vary, "x-request-id", requestId, "request-id", requestId];
  if (clientRequestId !== null) headers.push("x-client-request-id", clientRequestId);
  return headers;
}

/** The client's own correlation id as far as it may be echoed: printable, without spaces, at most 128 characters. */
export function readClientRequestId(value: string | readonly string[] | undefined): string | null {
  return typeof value === "string" && /^[\x21-\x7e]{1,128}$/.test(value) ? value : null;
}

/** Bytes of an unread body that cost less to throw away than a new connection would. */
const SMALL_BODY = 64 * 1024;

/** Longest time that the rest of a refused body is thrown away, milliseconds. */
const LINGER = 1_000;

/**
 * Whether and when to retry an error, in headers that official clients obey (docs/protocols.md#retries-by-clients): `retry-after` in seconds, or
 * `x-should-retry: false`. Names and values alternate.
 */
export function errorHeaders({ status, mayPass, retryAfter }: ServiceError): readonly string[] {
  const headers: string[] = [];
  if (!mayPass) headers.push("x-should-retry", "false");
  if (retryAfter !== null) headers.push("retry-after", String(Math.ceil(retryAfter / 1000)));
  if (status === 401) headers.push("www-authenticate", "Bearer");
  return headers;
}

/** What prints errors: a protocol's family, or OAuth's token endpoint. */
interface ErrorPrinter {
  readonly renderError: (error: ServiceError, requestId: string) => string;
  /** Headers of every error. None where absent; names and values by turns. */
  readonly headers?: readonly string[];
}

const OAUTH: ErrorPrinter = { renderError: renderOAuthError, headers: NOT_STORED };

/** Who prints the errors of a path that no surface has. */
export function printerAt(path: string): ErrorPrinter {
  return isTokenEndpoint(path) ? OAUTH : familyOf(path);
}

export function sendError(
  response: ServerResponse,
  { renderError, headers = [] }: ErrorPrinter,
  error: ServiceError,
  requestId: string,
  common: readonly string[],
): void {
  sendText(response, error.status, renderError(error, requestId), [...common, ...errorHeaders(error), ...headers]);
}

export function sendJson(response: ServerResponse, status: number, value: unknown, headers: readonly string[]): void {
  sendText(response, status, JSON.stringify(value), headers);
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: readonly string[],
  contentType = "application/json",
): void {
  if (response.destroyed || response.headersSent) return;
  const bytes = Buffer.from(text);
  const all = [...headers, "content-type", contentType, "content-length", String(bytes.length)];
  if (!leavesBody(response.req, status)) {
    response.writeHead(status, all);
    response.end(bytes);
    return;
  }
  response.writeHead(status, [...all, "connection", "close"]);
  response.write(bytes);
  endAfterBody(response);
}

/** An unread body that is too long to read just to keep the connection. */
function leavesBody(request: IncomingMessage, status: number): boolean {
  if (request.complete) return false;
  // The rest of a body that was too large or too slow is not waited for, however little it may be.
  if (status === 413 || status === 408) return true;
  return (
    request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > SMALL_BODY
  );
}

/**
 * Throws the body away for a moment before the connection is closed: a socket closed while bytes arrive is reset, and the client would
 * lose the answer with the reason.
 */
function endAfterBody(response: ServerResponse): void {
  const request = response.req;
  const end = (): void => {
    clearTimeout(timer);
    request.off("end", end).off("close", end);
    request.pause();
    response.end();
  };
  const timer = setTimeout(end, LINGER);
  request.on("end", end).on("close", end).resume();
}

/** The answer to a bug of ours: it says nothing, the id finds the record. */
export function internalError(): ServiceError {
  return codedError("internal_error", "The router failed; the request id identifies the incident.");
}

/** Value of the header that names the route and the endpoints that gave the answer: one item for each endpoint, or the route alone where there are none. */
export function routeHeader(
  route: string,
  endpoints: readonly { readonly endpoint: string; readonly provider: string; readonly region: string }[],
): string {
  if (endpoints.length === 0) return route;
  return endpoints
    .map(({ endpoint, provider, region }) => `${route}; endpoint=${endpoint}; provider=${provider}; region=${region}`)
    .join(", ");
}

/** Random bytes of one id. */
const ID_BYTES = 10;

/** Random bytes of the next ids: asking the system for each ten bytes costs more than all the rest of an id. */
const idPool = Buffer.alloc(ID_BYTES * 400);
let usedBytes = idPool.length;

/**
 * `req_`, the time in milliseconds, and 80 random bits, all hexadecimal: rising with time, so that the store's index is written at its end
 * and not all over.
 */
export function newRequestId(): string {
  if (usedBytes === idPool.length) {
    randomFillSync(idPool);
    usedBytes = 0;
  }
  const random = idPool.toString("hex", usedBytes, usedBytes + ID_BYTES);
  usedBytes += ID_BYTES;
  return timePrefix() + random;
}

let prefixTime = 0;
let prefix = "";

/** Made once a millisecond: a busy server has several requests in each. */
function timePrefix(): string {
  const now = Date.now();
  if (now === prefixTime) return prefix;
  prefixTime = now;
  prefix = `req_${now.toString(16).padStart(12, "0")}`;
  return prefix;
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../canon/error.ts";
import { codedError } from "../canon/error-codes.ts";
import { familyOf, isTokenEndpoint } from "./contract/endpoint.ts";
import { NOT_STORED, renderOAuthError } from "./oauth-error.ts";

/** Bytes of an unread body that cost less to throw away than a new connection would. */
const SMALL_BODY = 64 * 1024;

/** Longest time that the rest of a refused body is thrown away, milliseconds. */
const LINGER = 1_000;

/**
 * Whether and when to retry an error, in headers that official clients obey
 * (docs/protocols.md#retries-by-clients): `retry-after` in seconds, or `x-should-retry: false`.
 * Names and values alternate.
 */
export function errorHeaders({ status, retryable, retryAfter }: ServiceError): readonly string[] {
  const headers: string[] = [];
  if (!retryable) headers.push("x-should-retry", "false");
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
  sendText(response, error.status, renderError(error, requestId), [
    ...common,
    ...errorHeaders(error),
    ...headers,
  ]);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: readonly string[],
): void {
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
    request.headers["transfer-encoding"] !== undefined ||
    Number(request.headers["content-length"] ?? 0) > SMALL_BODY
  );
}

/**
 * Throws the body away for a moment before the connection is closed: a socket closed while bytes
 * arrive is reset, and the client would lose the answer with the reason.
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

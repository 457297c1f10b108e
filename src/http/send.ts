import type { IncomingMessage, ServerResponse } from "node:http";
import { serviceError, type ServiceError } from "../canon/error.ts";
import { renderAnthropicError } from "../dialects/anthropic-errors.ts";
import { renderOpenAiError } from "../dialects/openai-errors.ts";
import { familyOf } from "./contract/endpoint.ts";

/** Headers of every answer (decisions.md, "Every response"); names and values by turns. */
export function commonHeaders(requestId: string, clientRequestId: string | null): readonly string[] {
  const headers = ["x-request-id", requestId, "request-id", requestId];
  if (clientRequestId !== null) headers.push("x-client-request-id", clientRequestId);
  return headers;
}

/** The client's own correlation id as far as it may be echoed: printable, without spaces, at most 128 characters. */
export function readClientRequestId(value: string | readonly string[] | undefined): string | null {
  return typeof value === "string" && /^[\x21-\x7e]{1,128}$/.test(value) ? value : null;
}

/** Kinds whose repetition by a client's library would only cost; official clients obey the header (protocols.md §0.2). */
const NEVER_RETRY: ReadonlySet<string> = new Set(["policy_denied", "upstream", "timeout"]);

/** Bytes of an unread body that cost less to throw away than a new connection would. */
const SMALL_BODY = 64 * 1024;

/** Longest time that the rest of a refused body is thrown away, milliseconds. */
const LINGER = 1_000;

/** Sends an error in the shape of the path's protocol family. */
export function sendError(
  response: ServerResponse,
  path: string,
  error: ServiceError,
  requestId: string,
  common: readonly string[],
): void {
  const render = familyOf(path) === "messages" ? renderAnthropicError : renderOpenAiError;
  const headers = [...common];
  if (NEVER_RETRY.has(error.kind)) headers.push("x-should-retry", "false");
  if (error.retryAfter !== null) headers.push("retry-after", String(Math.ceil(error.retryAfter / 1000)));
  if (error.status === 401) headers.push("www-authenticate", "Bearer");
  sendText(response, error.status, render(error, requestId), headers);
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

/** A body that nobody has read and that is not worth reading to keep the connection. */
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
 * lose the answer that tells it why.
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
  return serviceError(500, "internal", "internal_error", "The router failed; the request id identifies the incident.");
}

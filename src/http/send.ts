import type { IncomingMessage, ServerResponse } from "node:http";
import { codedError } from "../canon/error-codes.ts";
import type { ServiceError } from "../canon/error.ts";
import { familyOf, isTokenEndpoint } from "./contract/endpoint.ts";

/** `error` of the token endpoint: RFC 6749 §4.1.2.1 and §5.2, RFC 8693 §2.2.2. */
export const OAUTH_CODES = [
  "invalid_request",
  "invalid_client",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target",
  "temporarily_unavailable",
  "server_error",
] as const;

type OAuthCode = (typeof OAUTH_CODES)[number];

/**
 * Headers of every answer of the token endpoint (RFC 6749 §5.1, §5.2); names and values by turns.
 */
export const NOT_STORED: readonly string[] = ["cache-control", "no-store", "pragma", "no-cache"];

/** By the member that an error of the kind `invalid_request` names. */
const CODE_OF_MEMBER: Readonly<Record<string, OAuthCode>> = Object.assign(Object.create(null), {
  scope: "invalid_scope",
  audience: "invalid_target",
  resource: "invalid_target",
} satisfies Record<string, OAuthCode>);

/** Members that distinguish the codes of an error. */
type Classified = Pick<ServiceError, "status" | "kind" | "code" | "param">;

/** The one of {@link OAUTH_CODES} that an error is answered with. */
export function oauthCode({ status, kind, code, param }: Classified): OAuthCode {
  if (status === 401) return "invalid_client";
  if (kind === "insufficient_scope" || kind === "policy_denied") return "unauthorized_client";
  if (status === 429 || status === 503) return "temporarily_unavailable";
  if (status >= 500) return "server_error";
  if (kind !== "invalid_request" || param === null) return "invalid_request";
  // One that is left out is a member that is missing, and the request is malformed.
  if (param === "grant_type" && code !== "missing_field") return "unsupported_grant_type";
  return CODE_OF_MEMBER[/^\w+/.exec(param)?.[0] ?? ""] ?? "invalid_request";
}

/** The status of a refusal there: 400 where other endpoints answer 403 (RFC 6749 §5.2). */
export function oauthStatus(status: number): number {
  return status === 403 ? 400 : status;
}

/**
 * The error as the token endpoint answers it. Converted before it is recorded, so that evidence and
 * answer have the same status.
 */
export function oauthError(error: ServiceError): ServiceError {
  return { ...error, status: oauthStatus(error.status) };
}

/**
 * `{"error", "error_description"}`; our finer code and the request id stand in the description,
 * because clients show nothing else.
 */
export function renderOAuthError(error: ServiceError, requestId: string): string {
  return JSON.stringify({
    error: oauthCode(error),
    error_description: oauthDescription(error, requestId),
  });
}

export function oauthDescription(
  { message, code }: Pick<ServiceError, "message" | "code">,
  requestId: string,
): string {
  return oauthText(`${message} (${code}, request id ${requestId})`);
}

/**
 * Characters of our sentences that the description may not have, and how they are written there.
 */
const REPLACEMENTS: ReadonlyMap<string, string> = new Map([
  ['"', "'"],
  ["\\", "/"],
  ["\u2026", "..."],
  ["\u2013", "-"],
  ["\u2014", "-"],
  ["\u2018", "'"],
  ["\u2019", "'"],
  ["\u201C", "'"],
  ["\u201D", "'"],
  ["\u00A7", "section "],
]);

/** Of the characters that RFC 6749 §5.2 allows: printable ASCII without `"` and `\`. */
export function oauthText(text: string): string {
  return text.replaceAll(
    /[^\x20\x21\x23-\x5b\x5d-\x7e]/gu,
    (character) => REPLACEMENTS.get(character) ?? "?",
  );
}

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

/** Error formats: a protocol family's, or that of OAuth's token endpoint. */
interface ErrorPrinter {
  readonly renderError: (error: ServiceError, requestId: string) => string;
  /** Headers of every error, names and values by turns. Default: none. */
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
  if (!hasUnreadBody(response.req, status)) {
    response.writeHead(status, all);
    response.end(bytes);
    return;
  }
  response.writeHead(status, [...all, "connection", "close"]);
  response.write(bytes);
  endAfterBody(response);
}

/** An unread body that is too long to read just to keep the connection. */
function hasUnreadBody(request: IncomingMessage, status: number): boolean {
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
function endAfterBody(response: ServerResponse) {
  const request = response.req;
  const end = () => {
    clearTimeout(timer);
    request.off("end", end).off("close", end);
    request.pause();
    response.end();
  };
  const timer = setTimeout(end, LINGER);
  request.on("end", end).on("close", end).resume();
}

/** The answer to a bug of ours: no details; the id finds the record. */
export function internalError(): ServiceError {
  return codedError("internal_error", "The router failed; the request id identifies the incident.");
}

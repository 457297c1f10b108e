import { randomBytes } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { codedError } from "../canon/error-codes.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import { NO_HEADERS, type ProtocolHeaders } from "../canon/request.ts";
import type { Surface } from "../dialects/dialect.ts";
import { remember } from "../canon/remember.ts";

/**
 * How long after its deadline a request's error still waits for the failures of its calls and for
 * its record. Milliseconds.
 */
export const GRACE = 100;

/**
 * Node keeps one list for all timers of the same time: with each request's own deadline it would
 * make a list a request. Milliseconds.
 */
const LONGEST_TIMER = 10_000;

/**
 * Calls `end` at a deadline, at the earliest in the next turn of the event loop.
 *
 * @param deadline on the clock of `performance.now()`
 * @returns prevents it
 */
export function atDeadline(deadline: number, end: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (least: number) => {
    const timeLeft = deadline - performance.now();
    timer = setTimeout(
      timeLeft > LONGEST_TIMER ? arm : end,
      Math.max(least, Math.min(timeLeft, LONGEST_TIMER)),
      0,
    );
  };
  arm(1);
  return () => clearTimeout(timer);
}

/**
 * Calls `then` once: with the promise's value, or with `null` when it is rejected or at the
 * deadline.
 *
 * @param deadline on the clock of `performance.now()`; `null`: none.
 */
export function beforeDeadline<Value>(
  waited: Promise<Value>,
  deadline: number | null,
  then: (value: Value | null) => void,
): void {
  let hasEnded = false;
  const end = (value: Value | null) => {
    if (hasEnded) return;
    hasEnded = true;
    cancel?.();
    then(value);
  };
  // Also where the deadline has passed: a value that is there already counts first.
  const cancel = deadline === null ? null : atDeadline(deadline, () => end(null));
  waited.then(end, () => end(null));
}

/** Longest path with its query, characters. */
const LONGEST_URL = 8 * 1024;

/** Header lines of one request. */
const MOST_HEADERS = 200;

/** A registered name or address with its port (RFC 9110 §7.2), or nothing. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~%!$&'()*+,;=-]*)(?::\d{0,5})?$/i;

/**
 * Checks any request before its endpoint is looked up; `null`: no fault. Larger heads never come so
 * far (`listen.ts`).
 */
export function refuseHead({
  headers,
  httpVersion,
  rawHeaders,
  url = "/",
}: IncomingMessage): ServiceError | null {
  // Node's parser takes 0.9 and 2.0 in a request line, and reads the rest as HTTP/1.1.
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return invalidRequest(
      "malformed_request",
      "The request line must end with HTTP/1.1 or HTTP/1.0.",
    );
  }
  // RFC 9112 §3.2: an HTTP/1.1 request without Host is to be refused.
  if (headers.host === undefined && httpVersion === "1.1") {
    return invalidRequest("missing_host", "Send the Host header; HTTP/1.1 requires it.");
  }
  // RFC 9112 §3.2: nor one that is none, or several; a proxy in front may have read another one.
  if (namesHostTwice(rawHeaders) || (headers.host !== undefined && !HOST.test(headers.host))) {
    return invalidRequest(
      "missing_host",
      "Send one Host header, with a name or an address and its port.",
    );
  }
  // RFC 9112 §6.1: a coding that is not decoded here must not pass as none; before HTTP/1.1 there
  // are no codings. Where the last one is not chunked, Node itself refuses.
  const coding = headers["transfer-encoding"]?.trim().toLowerCase();
  const isChunked = coding !== undefined && /(?:^|[,\s])chunked$/.test(coding);
  if (isChunked && (coding !== "chunked" || httpVersion !== "1.1")) {
    return invalidRequest("malformed_request", "The only transfer coding is chunked, of HTTP/1.1.");
  }
  // RFC 9112 §3.2: a request target has no fragment.
  if (url.includes("#"))
    return invalidRequest("malformed_url", "The URL has a fragment (#); leave it out.");
  if (url.length > LONGEST_URL) {
    return codedError("url_too_long", `The URL is longer than ${LONGEST_URL} characters.`);
  }
  if (rawHeaders.length > 2 * MOST_HEADERS) {
    return codedError("too_many_headers", `The request has more than ${MOST_HEADERS} headers.`);
  }
  return null;
}

/** @param rawHeaders names and values by turns, as they came. */
function namesHostTwice(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/**
 * How many requests of one connection may come without a credential or be refused. Each costs about
 * as much as a good one, and no limit counts it.
 */
const IDLE_REQUESTS = 1_000;

interface Count {
  /** Requests without a credential, and refused ones. */
  idle: number;
  /** The last answer of the connection is under way. */
  isEnding: boolean;
}

const counts = new WeakMap<Socket, Count>();

/**
 * Whether a request is answered. The one that reaches the bound is, and ends its connection
 * (`connection: close`); those that a client has sent behind it are ignored, and a client may
 * send them again over another connection (RFC 9112 §9.6). Without it one connection with 200,000
 * pipelined requests for nothing keeps every other caller waiting.
 */
export function isAnswered(incoming: IncomingMessage, response: ServerResponse): boolean {
  const { socket, headers } = incoming;
  const count = remember(counts, socket, () => ({ idle: 0, isEnding: false }));
  if (count.isEnding) return false;
  if (!hasCredential(headers)) count.idle += 1;
  if (count.idle < IDLE_REQUESTS) return true;
  count.isEnding = true;
  response.shouldKeepAlive = false;
  return true;
}

/**
 * Counts a refusal against the connection. Call it once the request has been handled: a listener
 * for each response costs a microsecond.
 */
export function countAnswer({ socket, headers }: IncomingMessage, status: number): void {
  if (!isRefusal(status) || !hasCredential(headers)) return;
  const count = counts.get(socket);
  if (count !== undefined) count.idle += 1;
}

function hasCredential(headers: IncomingHttpHeaders) {
  return headers.authorization !== undefined || headers["x-api-key"] !== undefined;
}

/** A caller that has used up a limit is a good one. */
function isRefusal(status: number) {
  return status >= 400 && status < 500 && status !== 429;
}

/** The bounds that a caller sets (docs/dispatch.md#deadlines). */
export interface Bounds {
  /** When the request must have ended, on the clock of `performance.now()`. */
  readonly deadline: number;
  /** Attempts at providers, 1 to 10. */
  readonly maxAttempts: number;
  /** Most inputs in one call of a batch, at least 1; `null` where the caller sets none. */
  readonly maxBatchSize: number | null;
}

const MAXIMUM_ATTEMPTS = 10;

/**
 * Reads `x-request-timeout-ms` (milliseconds) or `x-stainless-timeout` (seconds, sent by official
 * clients), `x-max-attempts`, and `x-max-batch-size`. The operator's ceiling
 * bounds them.
 */
export function readBounds(headers: IncomingHttpHeaders, ceiling: number): Bounds | ServiceError {
  const exact = readNumber(headers["x-request-timeout-ms"]);
  if (exact !== null && !(exact >= 1)) {
    return invalidRequest(
      "invalid_timeout",
      "x-request-timeout-ms must be a number of milliseconds, at least 1",
    );
  }
  // A client library's own header is taken as a hint: an odd value is no reason to refuse.
  const seconds = readNumber(headers["x-stainless-timeout"]);
  const hinted = seconds !== null && seconds > 0 ? seconds * 1000 : ceiling;
  const attempts = readNumber(headers["x-max-attempts"]);
  if (!isCount(attempts)) {
    return invalidRequest(
      "invalid_max_attempts",
      "x-max-attempts must be a whole number, at least 1",
    );
  }
  const batch = readNumber(headers["x-max-batch-size"]);
  if (!isCount(batch)) {
    return invalidRequest(
      "invalid_max_batch_size",
      "x-max-batch-size must be a whole number, at least 1",
    );
  }
  return {
    deadline: performance.now() + Math.min(exact ?? hinted, ceiling),
    maxAttempts: Math.min(attempts ?? MAXIMUM_ATTEMPTS, MAXIMUM_ATTEMPTS),
    maxBatchSize: batch,
  };
}

/** `NaN` for anything that is no decimal number. */
function readNumber(value: string | readonly string[] | undefined): number | null {
  if (value === undefined) return null;
  return typeof value === "string" && /^\d{1,12}(\.\d{1,6})?$/.test(value)
    ? Number(value)
    : Number.NaN;
}

const isCount = (value: number | null) => value === null || (Number.isInteger(value) && value >= 1);

/** Headers of the surface's protocol, and the names of those that no provider gets. */
export function readProtocolHeaders(
  { headers: protocol, family }: Pick<Surface, "headers" | "family">,
  { headers }: IncomingMessage,
): ProtocolHeaders {
  const read = protocol?.read(headers) ?? NO_HEADERS;
  const unsent = family.unsentHeaders.filter((name) => headers[name] !== undefined);
  return unsent.length === 0 ? read : { ...read, unsent: unsent.concat(read.unsent ?? []) };
}

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

/**
 * The client's own correlation id as far as it may be echoed: printable, without spaces, at most
 * 128 characters.
 */
export function readClientRequestId(value: string | readonly string[] | undefined): string | null {
  return typeof value === "string" && /^[\x21-\x7e]{1,128}$/.test(value) ? value : null;
}

/**
 * Value of the header that names the route and the endpoints that gave the answer: one item for
 * each endpoint, or the route alone where there are none.
 */
export function routeHeader(
  route: string,
  endpoints: readonly {
    readonly endpoint: string;
    readonly provider: string;
    readonly region: string;
  }[],
): string {
  if (endpoints.length === 0) return route;
  return endpoints
    .map(
      ({ endpoint, provider, region }) =>
        `${route}; endpoint=${endpoint}; provider=${provider}; region=${region}`,
    )
    .join(", ");
}

/** `req_` and the time; the rest is random. */
const PREFIX_LENGTH = 16;
const RANDOM_LENGTH = 20;

/**
 * Random hexadecimal digits of the next ids: asking the system for each ten bytes costs more than
 * all the rest of an id.
 */
const randomDigits = Buffer.alloc(RANDOM_LENGTH * 400);
let usedDigits = randomDigits.length;

const idBytes = Buffer.alloc(PREFIX_LENGTH + RANDOM_LENGTH);
let prefixTime = 0;

/**
 * `req_`, the time in milliseconds, and 80 random bits, all hexadecimal: rising with time, so that
 * the store's index is written at its end and not all over. Read from bytes and not concatenated:
 * V8 prints an object whose texts are each of one piece in half the time, and records have the id.
 */
export function newRequestId(): string {
  if (usedDigits === randomDigits.length) {
    randomDigits.write(randomBytes(randomDigits.length / 2).toString("hex"), "latin1");
    usedDigits = 0;
  }
  const now = Date.now();
  if (now !== prefixTime) {
    prefixTime = now;
    idBytes.write(`req_${now.toString(16).padStart(12, "0")}`, "latin1");
  }
  randomDigits.copy(idBytes, PREFIX_LENGTH, usedDigits, usedDigits + RANDOM_LENGTH);
  usedDigits += RANDOM_LENGTH;
  return idBytes.toString("latin1");
}

/** The caller's own deadline has passed. */
export const OUT_OF_TIME = codedError(
  "upstream_timeout_total",
  "The request's deadline passed before a provider's answer could be given.",
);

/** Timers of Node fire up to so much before their time, milliseconds. */
const EARLY = 2;

/**
 * The error of a wait inside the router: 504 if the caller's own deadline has passed, whatever the
 * wait was for.
 *
 * @param deadline on the clock of `performance.now()`; `null`: none. @param error otherwise.
 */
export function waitError<Other extends ServiceError | null>(
  deadline: number | null,
  error: Other,
): Other | ServiceError {
  return deadline !== null && performance.now() + EARLY >= deadline ? OUT_OF_TIME : error;
}

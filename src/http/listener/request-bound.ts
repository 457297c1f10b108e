import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How many requests of one connection may come without a credential or be refused. Each costs about as much as a good one, and nobody pays for it. */
const BOUND = 1_000;

interface Count {
  /** Requests without a credential, and refused ones. */
  idle: number;
  /** The last answer of the connection is under way. */
  isEnding: boolean;
}

const counts = new WeakMap<Socket, Count>();

/**
 * Whether a request is answered. The one that reaches the bound is, and ends its connection (`connection: close`); those that a client has sent behind it are
 * not looked at, and a client may send them again over another connection (RFC 9112 §9.6). Without it one connection with 200,000 pipelined requests
 * for nothing keeps every other caller waiting.
 */
export function isAnswered(incoming: IncomingMessage, response: ServerResponse): boolean {
  const { socket, headers } = incoming;
  let count = counts.get(socket);
  if (count === undefined) counts.set(socket, (count = { idle: 0, isEnding: false }));
  if (count.isEnding) return false;
  if (!hasCredential(headers)) count.idle += 1;
  if (count.idle < BOUND) return true;
  count.isEnding = true;
  response.shouldKeepAlive = false;
  return true;
}

/** Counts a refusal against the connection. Call it once the request has been handled: a listener for each response costs a microsecond. */
export function countAnswer({ socket, headers }: IncomingMessage, status: number): void {
  if (!isRefusal(status) || !hasCredential(headers)) return;
  const count = counts.get(socket);
  if (count !== undefined) count.idle += 1;
}

function hasCredential(headers: IncomingHttpHeaders): boolean {
  return headers.authorization !== undefined || headers["x-api-key"] !== undefined;
}

/** A caller that has used up a limit is a good one. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

import type { Server, IncomingMessage, ServerResponse } from "node:http";
import type { SecureContextOptions, Server as TlsServer } from "node:tls";
import { serve } from "h3";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { InFlightList } from "../dispatch/concurrency-limiter.ts";
import type { ServiceError } from "../canon/error.ts";
import { codedError } from "../canon/error-codes.ts";
import { OPENAI_FAMILY } from "../dialects/openai-chat/family.ts";
import type { App } from "./server.ts";
import { commonHeaders, readClientRequestId } from "./heads.ts";
import { errorHeaders, printerAt, sendError } from "./send.ts";

export interface Listening {
  /** Without a slash at the end. */
  readonly url: string;
  /**
   * Still takes connections and requests, but every answer from now on ends its connection and
   * announces it. Safe to call twice.
   */
  retire(): void;
  /**
   * Stops accepting, lets requests in flight end, closes idle connections; after `grace`
   * milliseconds closes the rest.
   *
   * @param onGraceOver called when the grace is over: requests that still run then have
   * `FORCE_CLOSE_DELAY` milliseconds to end with an error.
   */
  close(grace: number, onGraceOver?: () => void): Promise<void>;
  /**
   * Connections from now on are made with this certificate; those that are open stay. Only for a
   * listener with TLS.
   */
  renewTls(tls: TlsMaterial): void;
}

/** A certificate with those that lead to its root, and its key; PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

export interface ListenOptions {
  /** Certificate for TLS 1.2 or newer; default: plain HTTP. */
  readonly tls?: TlsMaterial | undefined;
  /** Maximum number of open connections; more are closed as they come. Default: no bound. */
  readonly maxConnections?: number | undefined;
  /** How long a connection is kept without a request, milliseconds, above 0. */
  readonly keepAlive?: number | undefined;
}

/** Bytes of a request's line and headers together. */
const HEADER_BYTES = 16 * 1024;

/**
 * How long a client may take for its headers, and for the handshake before them, milliseconds;
 * looked at every few seconds.
 */
const HEADERS_TIME = 15_000;
const CHECK_INTERVAL = 5_000;

/**
 * How long a connection is kept without a request, milliseconds: longer than balancers keep theirs
 * (60 s is common), so that none sends a request into a connection that we are closing.
 */
const IDLE_TIME = 75_000;

/** How long answers may take to end after they were requested to, milliseconds. */
const FORCE_CLOSE_DELAY = 1_000;

/**
 * Listens. Resolves when connections are accepted.
 *
 * @param newRequestId makes ids of answers to bytes that are no request.
 */
export async function listen(
  { framework, handleExact }: App,
  host: string,
  port: number,
  newRequestId: () => string,
  { tls, maxConnections, keepAlive = IDLE_TIME }: ListenOptions = {},
): Promise<Listening> {
  const server = serve(framework, {
    hostname: host,
    port,
    silent: true,
    gracefulShutdown: false,
    // Node would itself answer a missing Host, without a body and a request id; `run` refuses
    // it. Not exclusive: workers of one server share its port.
    node: {
      requireHostHeader: false,
      exclusive: false,
      maxHeaderSize: HEADER_BYTES,
      connectionsCheckingInterval: CHECK_INTERVAL,
      ...(tls !== undefined && { ...secure(tls), handshakeTimeout: HEADERS_TIME, http2: false }),
    },
  });
  await server.ready();
  const { server: node, handler } = server.node ?? {};
  if (!isNodeServer(node) || handler === undefined)
    throw new Error("server: h3 did not give a node server");
  node.removeAllListeners("request").on("request", (incoming, response) => {
    if (!handleExact(incoming, response)) void handler(incoming, response);
  });
  // Slow headers hold a socket and nothing else; bodies have their own limit (read-body.ts).
  node.headersTimeout = HEADERS_TIME;
  node.requestTimeout = 0;
  node.keepAliveTimeout = keepAlive;
  // Node would silently drop those beyond; their size is bounded.
  node.maxHeadersCount = 0;
  if (maxConnections !== undefined) node.maxConnections = maxConnections;
  const answers = new OpenAnswers(node);
  answerUnparsed(node, newRequestId, answers);
  return {
    url: (server.url ?? "").replace(/\/$/, ""),
    retire: () => answers.retire(),
    close(grace, onGraceOver) {
      answers.retire();
      return drain(node, grace, onGraceOver);
    },
    renewTls(renewed) {
      if (!isTlsServer(node)) throw new Error("server: a certificate for a listener without TLS");
      node.setSecureContext(secure(renewed));
    },
  };
}

function secure({ cert, key }: TlsMaterial): SecureContextOptions {
  return { cert, key, minVersion: "TLSv1.2" };
}

function isTlsServer(server: Server): server is Server & TlsServer {
  return "setSecureContext" in server;
}

function isNodeServer(value: unknown): value is Server {
  return typeof value === "object" && value !== null && "closeIdleConnections" in value;
}

async function drain(server: Server, grace: number, onGraceOver: (() => void) | undefined) {
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  // A keep-alive connection becomes idle only when its request has ended, so look again.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  let forceClose: NodeJS.Timeout | undefined;
  const force = setTimeout(() => {
    if (onGraceOver === undefined) return server.closeAllConnections();
    onGraceOver();
    forceClose = setTimeout(() => server.closeAllConnections(), FORCE_CLOSE_DELAY);
  }, grace);
  await ended;
  clearInterval(sweep);
  clearTimeout(force);
  clearTimeout(forceClose);
}

interface OpenAnswer {
  readonly response: ServerResponse;
  readonly socket: Socket;
}

/**
 * The answers of one listener that are under way, and how their connections end when it is to end.
 */
class OpenAnswers {
  readonly #open = new InFlightList<OpenAnswer>();
  #retiring = false;

  constructor(server: Server) {
    server.prependListener("request", (incoming: IncomingMessage, response: ServerResponse) => {
      response.on("close", this.#open.enter({ response, socket: incoming.socket }));
      if (this.#retiring) response.shouldKeepAlive = false;
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether an answer has begun on the connection and not ended. */
  hasStartedAnswer(socket: Duplex): boolean {
    let hasStarted = false;
    this.#open.each((answer) => {
      if (answer.socket === socket && answer.response.headersSent) hasStarted = true;
    });
    return hasStarted;
  }

  /**
   * From now on every answer ends its connection. One that has not begun announces it
   * (`connection: close`): otherwise a client loses the request that it sends while we close.
   */
  retire(): void {
    if (this.#retiring) return;
    this.#retiring = true;
    this.#open.each(({ response, socket }) => {
      if (!response.headersSent) response.shouldKeepAlive = false;
      else if (response.writableFinished) socket.destroySoon();
      // Its head has promised the client to keep the connection: the end comes with the last byte.
      else response.once("finish", () => socket.destroySoon());
    });
  }
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  413: "Content Too Large",
  431: "Request Header Fields Too Large",
};

/**
 * Answers requests that Node refuses before any handler of ours: bytes that are not HTTP, headers
 * too long or too slow, an unknown `Expect`. The answers have the shape and the request id of all
 * others. There is no record: neither caller nor request was identified.
 */
function answerUnparsed(server: Server, newRequestId: () => string, answers: OpenAnswers) {
  server.on("clientError", (error: Error, socket: Duplex) => {
    // Bytes of ours in the middle of another answer would be read as part of it.
    if (socket.writable && !isTlsFailure(error) && !answers.hasStartedAnswer(socket)) {
      socket.end(rawAnswer(describe(error), newRequestId()), () => socket.destroy());
    } else socket.destroy();
  });
  server.on("checkExpectation", (incoming: IncomingMessage, response: ServerResponse) => {
    const requestId = newRequestId();
    const error = codedError(
      "unsupported_expectation",
      "Leave the Expect header out, or send Expect: 100-continue.",
    );
    sendError(
      response,
      printerAt(incoming.url ?? "/"),
      error,
      requestId,
      commonHeaders(requestId, readClientRequestId(incoming.headers["x-client-request-id"]), []),
    );
  });
}

/** Without a handshake there is no answer: the client could not read it. */
function isTlsFailure(error: Error): boolean {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" && /^(ERR_SSL|ERR_TLS|EPROTO|ECONNRESET)/.test(code);
}

function describe(error: Error): ServiceError {
  switch (Reflect.get(error, "code")) {
    case "HPE_HEADER_OVERFLOW":
      return codedError("headers_too_large", "The request's headers are too large.");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return codedError("request_too_large", "The body's chunk extensions are too large.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return codedError("header_timeout", "The request's headers did not arrive in time.");
    default:
      return codedError("malformed_request", "The bytes received are not an HTTP request.");
  }
}

/** A whole HTTP/1.1 answer; Node gives no response object for a request that it could not read. */
function rawAnswer(error: ServiceError, requestId: string): string {
  const json = OPENAI_FAMILY.renderError(error, requestId);
  return [
    `HTTP/1.1 ${error.status} ${REASONS[error.status] ?? "Error"}`,
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    ...headerLines(errorHeaders(error)),
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(json)}`,
    "connection: close",
    "",
    json,
  ].join("\r\n");
}

/** @param headers names and values by turns. */
function headerLines(headers: readonly string[]): readonly string[] {
  return headers.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${headers[index + 1] ?? ""}`] : [],
  );
}

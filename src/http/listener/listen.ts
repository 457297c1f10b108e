import type { Server } from "node:http";
import type { SecureContextOptions, Server as TlsServer } from "node:tls";
import { serve, type H3 } from "h3";
import { OpenAnswers } from "./open-answers.ts";
import { answerUnparsed } from "./unparsed.ts";

export interface Listening {
  /** Without a slash at the end. */
  readonly url: string;
  /** Goes on taking connections and requests; every answer from now on ends its connection and says so. Safe to call twice. */
  retire(): void;
  /**
   * Stops accepting, lets requests in flight end, closes idle connections; after `grace` milliseconds closes the rest.
   *
   * @param lastWords called when the grace is over: what still runs may then end with what can be said of it, in `FAREWELL` milliseconds.
   */
  close(grace: number, lastWords?: () => void): Promise<void>;
  /** Connections from now on are made with this certificate; those that are open stay. Only for a listener with TLS. */
  renewTls(tls: TlsMaterial): void;
}

/** A certificate with those that lead to its root, and its key; PEM. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

export interface ListenOptions {
  /** Speaks TLS, 1.2 or newer; HTTP in the clear where absent. */
  readonly tls?: TlsMaterial | undefined;
  /** Connections at once; those beyond are closed as they come. No bound where absent. */
  readonly maxConnections?: number | undefined;
}

/** Bytes of a request's line and headers together. */
const HEADER_BYTES = 16 * 1024;

/** How long a client may take for its headers, and for the handshake before them, milliseconds; looked at every few seconds. */
const HEADERS_TIME = 15_000;
const LOOK = 5_000;

/**
 * How long a connection is kept on which nothing is asked, milliseconds: longer than balancers keep theirs (60 s is common), so that none sends a request
 * into a connection that we are closing.
 */
const IDLE_TIME = 75_000;

/** How long answers that are told to end have for it, milliseconds. */
const FAREWELL = 1_000;

/**
 * Listens. Resolves when connections are accepted.
 *
 * @param newRequestId names the answers to what never became a request.
 */
export async function listen(
  app: H3,
  host: string,
  port: number,
  newRequestId: () => string,
  { tls, maxConnections }: ListenOptions = {},
): Promise<Listening> {
  const server = serve(app, {
    hostname: host,
    port,
    silent: true,
    gracefulShutdown: false,
    // Node would answer a missing Host by itself, without a body and a request id; `run` refuses it.
    // Not exclusive: workers of one server share its port.
    node: {
      requireHostHeader: false,
      exclusive: false,
      maxHeaderSize: HEADER_BYTES,
      connectionsCheckingInterval: LOOK,
      ...(tls !== undefined && { ...secure(tls), handshakeTimeout: HEADERS_TIME, http2: false }),
    },
  });
  await server.ready();
  const node = server.node?.server;
  if (!isNodeServer(node)) throw new Error("server: h3 did not give a node server");
  // Slow headers hold a socket and nothing else; bodies have their own limit (read-body.ts).
  node.headersTimeout = HEADERS_TIME;
  node.requestTimeout = 0;
  node.keepAliveTimeout = IDLE_TIME;
  // Node would leave those beyond out and say nothing; their size is bounded.
  node.maxHeadersCount = 0;
  if (maxConnections !== undefined) node.maxConnections = maxConnections;
  const answers = new OpenAnswers(node);
  answerUnparsed(node, newRequestId, answers);
  return {
    url: (server.url ?? "").replace(/\/$/, ""),
    retire: () => answers.retire(),
    close(grace, lastWords) {
      answers.retire();
      return drain(node, grace, lastWords);
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

async function drain(server: Server, grace: number, lastWords: (() => void) | undefined): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  // A keep-alive connection becomes idle only when its request has ended, so look again.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  let farewell: NodeJS.Timeout | undefined;
  const force = setTimeout(() => {
    if (lastWords === undefined) return server.closeAllConnections();
    lastWords();
    farewell = setTimeout(() => server.closeAllConnections(), FAREWELL);
  }, grace);
  await ended;
  clearInterval(sweep);
  clearTimeout(force);
  clearTimeout(farewell);
}

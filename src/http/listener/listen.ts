import type { Server } from "node:http";
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
}

/** How long answers that are told to end have for it, milliseconds. */
const FAREWELL = 1_000;

/**
 * Listens. Resolves when connections are accepted.
 *
 * @param newRequestId names the answers to what never became a request.
 */
export async function listen(app: H3, host: string, port: number, newRequestId: () => string): Promise<Listening> {
  const server = serve(app, {
    hostname: host,
    port,
    silent: true,
    gracefulShutdown: false,
    // Node would answer a missing Host by itself, without a body and a request id; `run` refuses it.
    // Not exclusive: workers of one server share its port.
    node: { requireHostHeader: false, exclusive: false },
  });
  await server.ready();
  const node = server.node?.server;
  if (!isNodeServer(node)) throw new Error("server: h3 did not give a node server");
  // Slow headers hold a socket and nothing else; bodies have their own limit (read-body.ts).
  node.headersTimeout = 15_000;
  node.requestTimeout = 0;
  answerUnparsed(node, newRequestId);
  const answers = new OpenAnswers(node);
  return {
    url: (server.url ?? "").replace(/\/$/, ""),
    retire: () => answers.retire(),
    close(grace, lastWords) {
      answers.retire();
      return drain(node, grace, lastWords);
    },
  };
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

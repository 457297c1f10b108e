import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { scriptOf, type JsonAnswer } from "./answer.ts";
import { healed, PLAIN, type Behaviour } from "./behaviour.ts";
import { MOCK_ENDPOINTS, protocolFor, type MockEndpoint } from "./endpoints.ts";
import { refuseOpenai } from "./openai/error.ts";
import { play } from "./playback.ts";
import { invalid, unplayable, type Problem } from "./problem.ts";
import type { Exchange } from "./protocol.ts";
import { RequestLog, type RecordedRequest } from "./request-log.ts";
import { parseJson } from "./json.ts";

export interface MockOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /**
   * Takes one line for each answer: method, endpoint, status, milliseconds. Nothing of what was
   * sent.
   */
  readonly log?: (line: string) => void;
}

export interface MockServer {
  /** Such as `http://127.0.0.1:8089`, without a slash at the end. */
  readonly url: string;
  /** The requests, oldest first; at most the newest 1,000. */
  readonly requests: readonly RecordedRequest[];
  /** Closes every connection, those of stalled answers too. Safe to call twice. */
  close(): Promise<void>;
}

/** Where the requests can be read (GET) and forgotten (DELETE). */
const LOG_PATH = "/mock/requests";

/** Largest request body, bytes. */
const LARGEST_BODY = 64_000_000;

/**
 * Longer than clients keep idle connections, so that they and not we close them: a close would race
 * with their next request.
 */
const KEEP_ALIVE_MILLISECONDS = 120_000;

/**
 * Starts a simulated provider (docs/mock.md).
 *
 * @throws {Error} from Node where the address cannot be listened on; its `code` says why, such as
 * `EADDRINUSE`.
 */
export async function startMock(options: MockOptions): Promise<MockServer> {
  const log = new RequestLog();
  const inForce = limitTimes();
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MILLISECONDS, noDelay: true },
    (request, response) => {
      serve({ request, response, log, inForce }).catch(() => {
        // The client closed the connection while it was sending; no answer can be sent.
        response.destroy();
      });
      if (options.log !== undefined) logAnswer(request, response, options.log);
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, requests: log.entries, close };

  function close(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}

interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly log: RequestLog;
  readonly inForce: Exchange["inForce"];
}

async function serve(visit: Visit): Promise<void> {
  const { request, response, log } = visit;
  const method = request.method ?? "GET";
  const target = request.url ?? "/";
  const path = target.split("?", 1)[0] ?? "/";
  if (path === LOG_PATH) return serveLog(method, response, log);
  const record = log.begin(method, target, request.headers, Date.now());
  let isBroken = false;
  response.once("close", () =>
    log.end(record, !response.writableFinished && !isBroken, Date.now()),
  );
  const endpoints = MOCK_ENDPOINTS.filter((endpoint) => path.endsWith(endpoint.path));
  const endpoint = endpoints.find((candidate) => candidate.method === method);
  const text = await readBody(request);
  if (endpoint === undefined) return send(response, refusalFor(endpoints, record.id));
  const body = text === null ? undefined : parse(text);
  const protocol = protocolFor(endpoint, body);
  const refuse = (problem: Problem): Promise<void> =>
    send(response, protocol.refuse(problem, record.id));
  if (text === null)
    return refuse({
      ...invalid(null, `The body is larger than ${LARGEST_BODY} bytes.`),
      status: 413,
    });
  log.keepBody(record, body ?? null, text.length);
  const reply = protocol.answer({
    sequence: record.id,
    target,
    body,
    text: text.includes("[x-mock") ? text.toString("utf8") : "",
    header: (name) => headerOf(request, name),
    inForce: visit.inForce,
  });
  const script = scriptOf(reply.answer, reply.behaviour, {
    failure: protocol.failure,
    sequence: record.id,
  });
  if ("problem" in script) return refuse(unplayable(script.problem));
  return play(response, script, reply.behaviour, () => {
    isBroken = true;
  });
}

function send(response: ServerResponse, answer: JsonAnswer): Promise<void> {
  const { status, headers, body } = answer;
  return play(
    response,
    {
      status,
      headers,
      contentType: "application/json",
      isStream: false,
      pieces: [body],
      break: null,
    },
    PLAIN,
    () => {},
  );
}

function refusalFor(endpoints: readonly MockEndpoint[], sequence: number): JsonAnswer {
  const served = MOCK_ENDPOINTS.map((endpoint) => `${endpoint.method} …${endpoint.path}`).join(
    ", ",
  );
  const [other] = endpoints;
  if (other === undefined) {
    const message = `Nothing is served at this path; served are ${served}, and GET or DELETE ${LOG_PATH}.`;
    return refuseOpenai({ ...invalid(null, message), status: 404 }, sequence);
  }
  const answer = other.protocol.refuse(
    { ...invalid(null, `This path takes ${other.method}.`), status: 405 },
    sequence,
  );
  return { ...answer, headers: { ...answer.headers, allow: other.method } };
}

function serveLog(method: string, response: ServerResponse, log: RequestLog): Promise<void> {
  if (method === "DELETE") log.clear();
  else if (method !== "GET") {
    const refused = refuseOpenai(
      { ...invalid(null, "This path takes GET and DELETE."), status: 405 },
      0,
    );
    return send(response, { ...refused, headers: { allow: "GET, DELETE" } });
  }
  return send(response, {
    kind: "json",
    status: 200,
    headers: {},
    body: JSON.stringify({ counts: log.counts, requests: log.entries }),
  });
}

/**
 * The body's bytes; `null` where there are too many. The rest of them is read and dropped, so that
 * the client can read the refusal.
 */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    request.on("data", (piece: Buffer) => {
      length += piece.length;
      if (length <= LARGEST_BODY) pieces.push(piece);
    });
    request.once("end", () =>
      resolve(
        length > LARGEST_BODY
          ? null
          : pieces.length === 1
            ? (pieces[0] ?? null)
            : Buffer.concat(pieces),
      ),
    );
    request.once("error", reject);
  });
}

function parse(text: Buffer): unknown {
  try {
    return parseJson(text.toString("utf8"));
  } catch {
    // The error would quote the body; the message only says that it is not JSON.
    return undefined;
  }
}

function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return value === undefined ? "" : typeof value === "string" ? value : value.join("; ");
}

/** Model names whose requests are counted for `times`; beyond them the oldest is forgotten. */
const COUNTED_MODELS = 1_000;

function limitTimes(): Exchange["inForce"] {
  const used = new Map<string, number>();
  return (behaviour: Behaviour, model: string) => {
    if (behaviour.times === null) return behaviour;
    const count = (used.get(model) ?? 0) + 1;
    used.set(model, count);
    if (used.size > COUNTED_MODELS) used.delete(used.keys().next().value ?? "");
    return count <= behaviour.times ? behaviour : healed(behaviour);
  };
}

function logAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  write: (line: string) => void,
): void {
  const start = performance.now();
  response.once("close", () => {
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    const served = [LOG_PATH, ...MOCK_ENDPOINTS.map((endpoint) => endpoint.path)];
    const name = served.find((end) => path.endsWith(end)) ?? "unknown path";
    const status = response.headersSent ? response.statusCode : "no answer";
    const ended = response.writableFinished ? "" : ", not completed";
    write(
      `${request.method ?? "GET"} ${name} ${status} ${Math.round(performance.now() - start)} ms${ended}`,
    );
  });
}

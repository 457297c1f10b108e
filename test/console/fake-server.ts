import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { JsonValue } from "../../src/canon/json.ts";
import { CONTENT_SECURITY_POLICY, SIGNED_IN } from "./answers/session.ts";

/** One answer of the API. */
export interface FakeAnswer {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a request requested. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

export type Handler = (request: FakeRequest) => FakeAnswer;
/** By method and path, such as `GET /v1/decisions`; a path that ends with `*` is a prefix. */
export type Answers = Readonly<Record<string, Handler | FakeAnswer>>;

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  woff2: "font/woff2",
  html: "text/html; charset=utf-8",
};

/** Serves a built console and the answers of a test, as the contract says. */
export class FakeServer {
  readonly #server: Server;
  readonly #folder: string;
  answers: Answers = {};
  /** Requests of the API in their order, without polls of the session. */
  requests: FakeRequest[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    this.#server = createServer((incoming, response) => void this.#serve(incoming, response));
  }

  /** @returns the address without a path. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", "http://console.test");
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const request: FakeRequest = {
      method: incoming.method ?? "GET",
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: text === "" ? null : (JSON.parse(text) as JsonValue),
    };
    const answer = this.#answerOf(request);
    if (answer !== null) {
      if (request.path !== "/console/session") this.requests.push(request);
      const { status = 200, body, headers } = answer;
      const type = typeof body === "string" ? "text/csv; charset=utf-8" : "application/json";
      response.writeHead(status, { "content-type": type, "x-request-id": "req_fake", ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
      return;
    }
    this.#serveFile(url.pathname, response);
  }

  #answerOf(request: FakeRequest): FakeAnswer | null {
    const named = `${request.method} ${request.path}`;
    const session: Answers = { "GET /console/session": { body: SIGNED_IN } };
    const all = { ...session, ...this.answers };
    const key = Object.hasOwn(all, named)
      ? named
      : Object.keys(all).find((each) => each.endsWith("*") && named.startsWith(each.slice(0, -1)));
    const found = key === undefined ? undefined : all[key];
    if (found !== undefined) return typeof found === "function" ? found(request) : found;
    if (
      !request.path.startsWith("/v1/") &&
      request.path !== "/status" &&
      !request.path.startsWith("/console/session")
    ) {
      return null;
    }
    return fault(404, "unknown_path", "No such path and method. GET /openapi.json lists them.");
  }

  #serveFile(path: string, response: ServerResponse): void {
    const [, name] = /^\/console\/(assets\/[\w.-]+)$/.exec(path) ?? [];
    const file = join(this.#folder, name ?? "index.html");
    if (!path.startsWith("/console") || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "content-type": TYPES[file.slice(file.lastIndexOf(".") + 1)] ?? "text/plain",
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
    });
    response.end(readFileSync(file));
  }
}

/** An error as the API answers it. */
export function fault(
  status: number,
  code: string,
  message: string,
  facts: object = {},
): FakeAnswer {
  const error = {
    message: `${message} (request id req_fake)`,
    type: "invalid_request_error",
    param: null,
    code,
  };
  return { status, body: { error: { ...error, ...facts } } };
}

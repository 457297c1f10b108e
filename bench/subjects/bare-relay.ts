/**
 * The yardstick: the least that a relay on Node can do. It reads the request, calls the upstream
 * through undici's `dispatch`, and passes the answer on as it comes, with back pressure and
 * cancellation; no key, no decision, no evidence. Started by `bench/main.ts` with the upstream's
 * origin.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Pool, type Dispatcher } from "undici";

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const response = this.#response;
    response.once("close", () => {
      if (!response.writableFinished) controller.abort(new Error("the client has gone"));
    });
    response.on("drain", () => controller.resume());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const kept: Record<string, string | string[]> = {};
    for (const name of ["content-type", "content-length"]) {
      const value = headers[name];
      if (value !== undefined) kept[name] = value;
    }
    this.#response.writeHead(status, kept);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    if (this.#response.headersSent) this.#response.destroy();
    else this.#response.writeHead(502).end();
  }
}

function relay(pool: Pool, request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.once("error", () => response.destroy());
  request.once("end", () => {
    const body = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
    const headers = { "content-type": "application/json", authorization: "Bearer upstream" };
    pool.dispatch({ method: "POST", path: request.url ?? "/", headers, body }, new Relay(response));
  });
}

const pool = new Pool(process.argv[2] ?? "", {
  connections: 256,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: 30_000,
});
const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) =>
  relay(pool, request, response),
);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null)
    process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`);
});
process.once("disconnect", () => process.exit());

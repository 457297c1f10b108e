import {
  createServer,
  request as call,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { startMock } from "../../mock/server.ts";

/** How a provider goes wrong; `ok` is the simulated upstream's own answer. */
export const FAULTS = [
  "ok",
  "e400",
  "e401",
  "e404",
  "e429",
  "e500",
  "cut",
  "malformed",
  "frame",
  "slow",
] as const;
export type Fault = (typeof FAULTS)[number];

export interface LeakyUpstream {
  readonly url: string;
  /** What calls brought along; latin1. */
  readonly seen: () => string;
  close(): Promise<void>;
}

/** What a provider says that must not be read. */
export interface UpstreamSecrets {
  readonly header: string;
  readonly error: string;
}

/**
 * Providers that talk: each of their answers has a secret in its headers, each of their errors one
 * in its body and reason phrase. The first segment of the path says how a call goes.
 */
export async function startLeakyUpstream(secrets: UpstreamSecrets): Promise<LeakyUpstream> {
  const mock = await startMock({ host: "127.0.0.1", port: 0 });
  let seen = "";
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    seen += `${incoming.rawHeaders.join("\n")}\n${body.toString("latin1")}\n`;
    const [, fault = "", rest = ""] = /^\/(\w+)(\/.*)$/.exec(incoming.url ?? "") ?? [];
    response.setHeader("x-upstream-secret", secrets.header);
    response.setHeader("x-request-id", secrets.header);
    response.setHeader("set-cookie", `session=${secrets.header}`);
    response.on("error", () => {});
    if (fault === "ok") forward(mock.url, rest, incoming, body, response);
    else fail(fault, response, secrets, /"stream":\s*true/.test(body.toString()));
  });
  await new Promise<void>((done) => {
    server.listen(0, "127.0.0.1", done);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await mock.close();
  };
  return { url: `http://127.0.0.1:${address.port}`, seen: () => seen, close };
}

function forward(
  origin: string,
  path: string,
  incoming: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): void {
  const { host: _, connection: __, ...headers } = incoming.headers;
  const outgoing = call(`${origin}${path}`, { method: incoming.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  outgoing.on("error", () => response.destroy());
  outgoing.end(body);
}

function fail(
  fault: string,
  response: ServerResponse,
  { error }: UpstreamSecrets,
  isStream: boolean,
): void {
  const status = /^e(\d{3})$/.exec(fault)?.[1];
  if (status !== undefined) {
    response.writeHead(Number(status), `Because ${error}`, {
      "content-type": "application/json",
      "x-error": error,
    });
    response.end(
      JSON.stringify({
        error: { message: error, type: error, code: error, param: error, status: error },
        message: error,
      }),
    );
    return;
  }
  const type = isStream ? "text/event-stream" : "application/json";
  if (fault === "cut") {
    response.writeHead(200, { "content-type": type });
    response.write(isStream ? `data: {"id":"${error}"` : `{"id":"${error}"`);
    setTimeout(() => response.destroy(), 10);
  } else if (fault === "malformed") {
    response.writeHead(200, { "content-type": type });
    response.end(isStream ? `data: ${error}\n\ndata: {"${error}\n\n` : `${error}{`);
  } else if (fault === "frame") {
    response.writeHead(200, { "content-type": type });
    const said = JSON.stringify({
      type: "error",
      error: { type: error, message: error, code: error },
    });
    response.end(isStream ? `event: error\ndata: ${said}\n\n` : said);
  }
  // `slow` says nothing at all.
}

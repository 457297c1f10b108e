import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { whenFileEnds } from "../../support/file-end.ts";

export interface TokenCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface TokenAnswer {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TokenServer {
  readonly url: string;
  readonly calls: TokenCall[];
}

function shut(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** A token or metadata service of this machine; `null` never answers. */
export async function startTokenServer(
  answer: (call: TokenCall) => TokenAnswer | null,
): Promise<TokenServer> {
  const calls: TokenCall[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const call = {
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
    };
    calls.push(call);
    const made = answer(call);
    if (made === null) return;
    response.writeHead(made.status ?? 200, {
      "content-type": made.type ?? "application/json",
      ...made.headers,
    });
    response.end(made.body);
  });
  whenFileEnds(() => shut(server));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

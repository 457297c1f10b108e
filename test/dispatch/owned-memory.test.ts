import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ProviderClient, type CarriedCall } from "../../src/dispatch/provider-client.ts";

/**
 * Whose memory an answer is in: only what no other call and no other buffer uses may be given back
 * before the collector comes.
 */
const ends: (() => unknown)[] = [];
afterEach(() => Promise.all(ends.splice(0).map((end) => end())));

const MEGABYTE = Buffer.alloc(1_048_576, "x");

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return port;
}

/** @param made changes the socket before undici has it. */
function clientOf(port: number, made: (socket: Socket) => void = () => {}): ProviderClient {
  const client = new ProviderClient(
    new URL(`http://127.0.0.1:${port}`),
    { allowH2: true },
    (_options, callback) => {
      const socket = connect(port, "127.0.0.1", () => {
        made(socket);
        callback(null, socket);
      });
    },
  );
  ends.push(() => client.destroy());
  return client;
}

/** The answer to one call, and whether its memory was its own when it ended. */
function answerOf(
  client: ProviderClient,
): Promise<{ readonly bytes: Buffer; readonly isOwned: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly bytes: Buffer;
    readonly isOwned: boolean;
  }>();
  let carrier: ProviderClient | null = null;
  const chunks: Buffer[] = [];
  const call: CarriedCall = {
    carriedBy: (given) => (carrier = given),
    onRequestStart: () => void carrier?.begin(),
    onResponseStart: () => {},
    onResponseData: (_controller, chunk) => void chunks.push(chunk),
    onResponseEnd: () => {
      carrier?.endCall();
      resolve({ bytes: Buffer.concat(chunks), isOwned: carrier?.ownsReads === true });
    },
    onResponseError: (_controller, error) => reject(error),
  };
  client.dispatch({ path: "/", method: "GET" }, call);
  return promise;
}

describe("the memory of an answer", () => {
  it("is its own over HTTP/1.1, call after call", async () => {
    const client = clientOf(
      await listening(createHttpServer((_request, response) => response.end(MEGABYTE))),
    );
    for (const _ of [1, 2]) {
      const { bytes, isOwned } = await answerOf(client);
      expect(bytes.equals(MEGABYTE)).toBe(true);
      expect(isOwned).toBe(true);
    }
  });

  it("is not its own where Node joined small pieces in memory that it shares out", async () => {
    let joins = true;
    const server = createServer((peer) =>
      peer.on("data", () => peer.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")),
    );
    const client = clientOf(await listening(server), (socket) => {
      const read = socket.read.bind(socket);
      socket.read = (size?: number): unknown => {
        const chunk: unknown = read(size);
        if (!joins || !(chunk instanceof Uint8Array)) return chunk;
        // What a Readable does with two chunks.
        for (const piece of [chunk.subarray(1), chunk.subarray(0, 1)]) socket.unshift(piece);
        return read(size);
      };
    });
    expect((await answerOf(client)).isOwned).toBe(false);
    joins = false;
    expect((await answerOf(client)).isOwned).toBe(true);
  });

  it("is shared over HTTP/2, where calls share a read buffer", async () => {
    const server = createHttp2Server((_request, response) => response.end(MEGABYTE));
    const client = clientOf(await listening(server), (socket) =>
      Object.assign(socket, { alpnProtocol: "h2" }),
    );
    const { bytes, isOwned } = await answerOf(client);
    expect(bytes.equals(MEGABYTE)).toBe(true);
    expect(isOwned).toBe(false);
  });
});

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { whenFileEnds } from "../support/file-end.ts";

/** A server below HTTP: what it got, and every byte of what it says. */
export interface RawServer {
  readonly url: string;
  /** Heads of requests, as they came over the wire. */
  readonly heads: string[];
  /** Connections that were made. */
  readonly connections: () => number;
}

/**
 * @param answer is called when the head of a request and a body of the declared length have
 * arrived.
 */
export async function startRaw(answer: (socket: Socket, head: string) => void): Promise<RawServer> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) return;
      const head = text.slice(0, end + 4);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (text.length < head.length + length) return;
      text = text.slice(head.length + length);
      heads.push(head);
      answer(socket, head);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  whenFileEnds(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, heads, connections: () => connections };
}

/**
 * Sends bytes to a server and gives back all that it says until it hangs up, or until it has said
 * nothing for a while.
 */
export function sendRaw(url: string, bytes: string | Uint8Array, quiet = 400): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let said = "";
    let timer: NodeJS.Timeout | undefined;
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(said);
    };
    socket.on("connect", () => {
      socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
      timer = setTimeout(finish, 5_000);
    });
    socket.on("data", (chunk) => {
      said += chunk.toString("latin1");
      clearTimeout(timer);
      timer = setTimeout(finish, quiet);
    });
    socket.on("close", finish);
    socket.on("error", (error) => (said === "" ? reject(error) : finish()));
  });
}

/** Statuses of the answers in what a server said, in their order. */
export function statusesOf(said: string): readonly number[] {
  return [...said.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

import { createServer, type Socket } from "node:net";
import { whenFileEnds } from "./file-end.ts";
import type { Upstream } from "./router.ts";

/**
 * A provider that can break the rules of HTTP, as no HTTP server can be made to.
 *
 * @param answer called with every whole request and its number on its connection, from 1.
 * @param arrives called with the first bytes of a request and the number that it will have; it is
 * not read where this gives false.
 */
export async function startRawProvider(
  answer: (socket: Socket, number: number) => void,
  arrives: (socket: Socket, number: number) => boolean = () => true,
): Promise<Upstream> {
  const calls: Upstream["calls"] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.setNoDelay(true);
    let received = "";
    let number = 1;
    socket.on("data", (bytes) => {
      if (received === "" && !arrives(socket, number)) return;
      received += bytes.toString("latin1");
      const end = received.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (end === -1 || received.length < end + 4 + length) return;
      calls.push({ path: "", headers: {}, body: received.slice(end + 4), lostAt: null });
      received = "";
      answer(socket, number);
      number += 1;
    });
  });
  whenFileEnds(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    calls,
  };
}

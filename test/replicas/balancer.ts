import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Balancer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Connections in turn to each of `ports`, as a plain TCP balancer does it: a port at which nothing
 * listens is passed over, and a connection whose server goes is cut.
 */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  let turn = 0;
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
  };
  const server = createServer((client) => {
    keep(client);
    void (async () => {
      for (let attempt = 0; attempt < ports.length; attempt += 1) {
        const port = ports[(turn += 1) % ports.length] ?? 0;
        const upstream = await connected(port);
        if (upstream === null) continue;
        keep(upstream);
        upstream.on("close", () => client.destroy());
        client.on("close", () => upstream.destroy());
        if (client.destroyed) upstream.destroy();
        client.pipe(upstream).pipe(client);
        return;
      }
      client.destroy();
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** `null` without a listener. */
function connected(port: number): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(null));
  });
}

import { connect, createServer } from "node:net";

/** A port for a program that cannot say which one it took. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}

/**
 * Whether the origin takes connections within `limit` milliseconds. The upstream answers no GET, so
 * a connection is proof enough.
 */
export async function answers(origin: string, limit: number): Promise<boolean> {
  const { hostname, port } = new URL(origin);
  const end = performance.now() + limit;
  while (performance.now() < end) {
    const socket = connect(Number(port), hostname);
    const opened = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (opened) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

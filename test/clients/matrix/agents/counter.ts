import { createServer, request as open } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

/** One request of an agent, as it came to the router. */
export interface Counted {
  readonly method: string;
  readonly path: string;
  /** `null` until the router has answered. */
  status: number | null;
  /** Beginning of an answer that is an error. */
  error: string;
}

/** Characters of an error that are kept. */
const KEPT = 600;

/**
 * Passes every request on to the router, and writes down what was requested and how it was
 * answered.
 */
export async function startCounter(
  target: string,
): Promise<{ readonly url: string; readonly counted: Counted[] }> {
  const { hostname, port } = new URL(target);
  const counted: Counted[] = [];
  const server = createServer((incoming, response) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    const row: Counted = { method, path, status: null, error: "" };
    counted.push(row);
    const passed = open({ hostname, port, method, path, headers }, (answer) => {
      const { statusCode = 502 } = answer;
      row.status = statusCode;
      if (statusCode >= 400) {
        answer.on("data", (piece: Buffer) => {
          row.error = (row.error + piece.toString()).slice(0, KEPT);
        });
      }
      response.writeHead(statusCode, answer.headers);
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counted };
}

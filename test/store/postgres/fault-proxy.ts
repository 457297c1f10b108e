import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** What the network does between a store and its server. */
export type Fault =
  | "none"
  /** Nothing passes, and no error is reported. */
  | "stalled"
  /** Requests arrive; the answers are kept back and the connection is cut instead, once. */
  | "answer_lost"
  /** Connections are cut, and refused. */
  | "cut";

export interface FaultProxy {
  /** The URL to give to the store instead of the server's. */
  readonly url: string;
  /**
   * From now on; `cut` ends the connections that there are.
   *
   * @param after of `answer_lost`: how many answers of one row arrive before
   */
  set(fault: Fault, after?: number): void;
  /** How many answers were lost so far. */
  lostAnswers(): number;
  close(): Promise<void>;
}

/** A relay to the server of `url` that can be made to misbehave. */
export async function startFaultProxy(url: string): Promise<FaultProxy> {
  const target = new URL(url);
  const { hostname, port } = target;
  const pairs = new Set<readonly [Socket, Socket]>();
  let fault: Fault = "none";
  let lost = 0;
  let passing = 0;
  const end = (pair: readonly [Socket, Socket]): void => {
    pairs.delete(pair);
    for (const socket of pair) socket.destroy();
  };
  const server = createServer((client) => {
    if (fault === "cut") {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => end(pair));
      socket.on("close", () => end(pair));
    }
    client.on("data", (bytes) => {
      if (fault !== "stalled") upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (fault === "stalled") return;
      // The end of a statement's answer, which the server sends after its commit; what prepares a
      // statement passes.
      if (fault === "answer_lost" && bytes.includes("SELECT 1\0") && (passing -= 1) < 0) {
        fault = "none";
        lost += 1;
        end(pair);
        return;
      }
      client.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  target.port = String(address.port);
  target.hostname = "127.0.0.1";
  return {
    url: target.href,
    set(next, after = 0) {
      fault = next;
      passing = after;
      if (next === "cut") for (const pair of pairs) end(pair);
    },
    lostAnswers: () => lost,
    async close() {
      for (const pair of pairs) end(pair);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

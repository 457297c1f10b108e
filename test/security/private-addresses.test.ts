import { lookup as askDns } from "node:dns";
import { createServer, type Server, type AddressInfo, type LookupFunction } from "node:net";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { ProviderRow } from "../../src/canon/table.ts";
import { guardedConnector, guardedLookup, type Reach } from "../../src/dispatch/provider-client.ts";
import { connectionPools, type Connection } from "../../src/dispatch/connections.ts";
import { Exchange } from "../../src/dispatch/exchange.ts";
import { EndpointTracker, startProber } from "../../src/dispatch/endpoint-tracker.ts";
import { healthSettingsOf } from "../../src/http/snapshot.ts";
import {
  answerJson,
  errorOf,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
  until,
} from "../support/router.ts";
import { provider, table } from "../support/table.ts";

const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** Counts connections, says nothing. */
async function listening(): Promise<{ readonly port: number; readonly connections: () => number }> {
  let count = 0;
  const server: Server = createServer((socket) => {
    count += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  return { port: (server.address() as AddressInfo).port, connections: () => count };
}

/**
 * Says that every name has these addresses, the first list at the first question and so on; the
 * last for ever.
 */
function names(...answers: readonly (readonly string[])[]): {
  readonly resolve: LookupFunction;
  requested: number;
} {
  const book = {
    requested: 0,
    resolve: ((_name, options, callback) => {
      const addresses = answers[Math.min(book.requested, answers.length - 1)] ?? [];
      book.requested += 1;
      const found = addresses.map((address) => ({
        address,
        family: address.includes(":") ? 6 : 4,
      }));
      if (options.all === true) callback(null, found);
      else callback(null, found[0]?.address ?? "", found[0]?.family ?? 4);
    }) satisfies LookupFunction,
  };
  return book;
}

function call(connection: Connection): Promise<string> {
  return new Promise((resolve) => {
    const timeouts = {
      connect: 1_000,
      firstByte: 1_000,
      idle: 1_000,
      firstToken: 1_000,
      total: 2_000,
    };
    const exchange = new Exchange(
      connection,
      {
        path: "/x",
        headers: [],
        body: "{}",
        timeouts,
        deadline: performance.now() + 5_000,
        awaitsOutput: false,
      },
      {
        headers: () => {},
        data: () => {},
        end: () => resolve("answered"),
        fail: ({ kind }) => resolve(kind),
      },
    );
    exchange.start();
  });
}

function connectionTo(row: Partial<ProviderRow>, resolve?: LookupFunction): Connection {
  const pools = connectionPools(resolve);
  closers.push(() => pools.destroy());
  // `network` as the row says it, whatever the table of tests would make of its address.
  const { network: _, ...plain } = provider("p", row);
  const one: ProviderRow = row.network === undefined ? plain : { ...plain, network: row.network };
  const { connections } = pools.acquire(table({ providers: [one] }), () => ({
    secret: null,
    simulatedOrigin: null,
  }));
  const connection = connections.get("p");
  if (connection === undefined) throw new Error("no connection");
  return connection;
}

describe("an address that is written out", () => {
  it.each(["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"])(
    "is not connected to: %s",
    async (host) => {
      const inside = await listening();
      const connection = connectionTo({ baseUrl: `http://${host}:${inside.port}` }, askDns);
      expect(await call(connection)).toBe("address_refused");
      expect(inside.connections()).toBe(0);
    },
  );

  it("is connected to where the row has network: private", async () => {
    const inside = await listening();
    const connection = connectionTo({
      baseUrl: `http://127.0.0.1:${inside.port}`,
      network: "private",
    });
    expect(await call(connection)).toBe("reset");
    expect(inside.connections()).toBe(1);
  });

  it.each(["169.254.169.254", "[fd00:ec2::254]", "0.0.0.0", "[fe80::1]", "224.0.0.1"])(
    "is never connected to, even with network: private, where no provider can be: %s",
    async (host) => {
      expect(await call(connectionTo({ baseUrl: `http://${host}`, network: "private" }))).toBe(
        "address_refused",
      );
    },
  );
});

describe("a name", () => {
  it.each([
    ["this machine", ["127.0.0.1"]],
    ["this machine, by IPv6", ["::1"]],
    ["a network of one's own", ["10.0.0.1"]],
    ["a metadata service", ["169.254.169.254"]],
    ["a metadata service in IPv6 clothes", ["::ffff:169.254.169.254"]],
    ["outside and inside at once", ["8.8.8.8", "127.0.0.1"]],
  ])("that leads to %s is not followed", async (_, addresses) => {
    const inside = await listening();
    const book = names(addresses);
    const connection = connectionTo(
      { baseUrl: `http://provider.example:${inside.port}` },
      book.resolve,
    );
    expect(await call(connection)).toBe("address_refused");
    expect(book.requested).toBe(1);
    expect(inside.connections()).toBe(0);
  });

  it("is followed into a private network where the row allows it, and never to a metadata service", async () => {
    const inside = await listening();
    const baseUrl = `http://models.internal.example:${inside.port}`;
    const allowed = connectionTo({ baseUrl, network: "private" }, names(["127.0.0.1"]).resolve);
    expect(await call(allowed)).toBe("reset");
    expect(inside.connections()).toBe(1);
    const metadata = connectionTo(
      { baseUrl, network: "private" },
      names(["169.254.169.254"]).resolve,
    );
    expect(await call(metadata)).toBe("address_refused");
  });

  it.each([
    ["outside", ["8.8.8.8"]],
    ["outside and inside at once", ["8.8.8.8", "127.0.0.1"]],
    ["a metadata service", ["169.254.169.254"]],
  ])(
    "that leads to %s gets no plain http, although the row allows private addresses",
    async (_, addresses) => {
      const inside = await listening();
      const baseUrl = `http://vllm.default.svc.cluster.local:${inside.port}`;
      const row = { baseUrl, network: "private", plaintext: true } as const;
      expect(await call(connectionTo(row, names(addresses).resolve))).toBe("address_refused");
      expect(inside.connections()).toBe(0);
    },
  );

  it("that leads inside gets plain http where the row allows it, and none after it was led outside (rebinding)", async () => {
    const inside = await listening();
    const baseUrl = `http://vllm.default.svc.cluster.local:${inside.port}`;
    const book = names(["127.0.0.1"], ["8.8.8.8"]);
    const connection = connectionTo({ baseUrl, network: "private", plaintext: true }, book.resolve);
    expect(await call(connection)).toBe("reset");
    expect(await call(connection)).toBe("address_refused");
    expect(inside.connections()).toBe(1);
  });

  it("of a public address that is written out gets no plain http", async () => {
    const row = { baseUrl: "http://8.8.8.8:9", network: "private", plaintext: true } as const;
    expect(await call(connectionTo(row))).toBe("address_refused");
  });

  it("that leads elsewhere at the second look-up (rebinding) is judged by the address of the connection", async () => {
    const inside = await listening();
    const baseUrl = `http://provider.example:${inside.port}`;
    // One question per connection: what is judged is what the socket gets, and the name is not
    // resolved again in between.
    const book = names(["127.0.0.1"], ["169.254.169.254"]);
    const connection = connectionTo({ baseUrl, network: "private" }, book.resolve);
    expect(await call(connection)).toBe("reset");
    expect(book.requested).toBe(1);
    expect(await call(connection)).toBe("address_refused");
    expect(book.requested).toBe(2);
    expect(inside.connections()).toBe(1);
  });

  it.each<[Reach, readonly string[], boolean]>([
    ["public", ["8.8.8.8"], true],
    ["public", ["2606:4700::1111", "1.1.1.1"], true],
    ["public", ["192.168.0.1"], false],
    ["private", ["192.168.0.1", "8.8.8.8"], true],
    ["any", ["127.0.0.1"], true],
  ])("with the reach %s, %j is allowed: %s", (reach, addresses, isLet) => {
    for (const all of [true, false]) {
      const seen: (string | null)[] = [];
      guardedLookup(reach, names(addresses).resolve)("x.example", { all }, (error) => {
        seen.push(error === null ? null : String(error.code));
      });
      expect(seen).toEqual([isLet ? null : "SBX_ADDRESS_REFUSED"]);
    }
  });

  it("fails to connect where it is unknown", async () => {
    const resolve: LookupFunction = (_name, _options, callback) => {
      callback(Object.assign(new Error("no"), { code: "ENOTFOUND" }), "", 4);
    };
    expect(await call(connectionTo({ baseUrl: "http://provider.example" }, resolve))).toBe(
      "connect",
    );
  });

  it("is judged before a socket is opened", async () => {
    const inside = await listening();
    const options = { hostname: "127.0.0.1", protocol: "http:", port: String(inside.port) };
    const error = await new Promise((resolve) => {
      guardedConnector(1_000, "public")(options, (...[failure]) => resolve(failure));
    });
    expect(error).toMatchObject({ code: "SBX_ADDRESS_REFUSED" });
    expect(inside.connections()).toBe(0);
  });
});

describe("the router", () => {
  it("falls back to the next endpoint and names the setting to fix, without the address", async () => {
    const [inside, well] = [
      await startUpstream((response) => answerJson(response)),
      await startUpstream((response) => answerJson(response)),
    ];
    const base = tableOver([inside, well]);
    const { network: _, ...row } = base.providers["p-a"] ?? provider("p-a");
    const undeclared = { ...base, providers: { ...base.providers, "p-a": row } };
    const router = await startRouter({ table: undeclared });
    const response = await post(router, hello);
    expect(response.status).toBe(200);
    expect(inside.calls).toHaveLength(0);
    expect(well.calls).toHaveLength(1);
    await router.settled(1);
    expect(router.outcomes[0]?.attempts[0]).toMatchObject({
      endpoint: "a",
      failure: "address_refused",
    });

    const only = await startRouter({ table: { ...undeclared, ...alone(undeclared) } });
    const refused = await post(only, hello);
    expect(refused.status).toBe(502);
    const { code, message } = await errorOf(refused);
    expect(code).toBe("upstream_address_refused");
    expect(message).not.toContain("127.0.0.1");
    expect(inside.calls).toHaveLength(0);
  });

  it("probes no address that it would not call", async () => {
    const inside = await startUpstream((response) => answerJson(response));
    const health = {
      ...provider("x").health,
      consecutiveFailures: 1,
      ejection: 10,
      longestEjection: 10,
      probe: { path: "/models", interval: 10 },
    };
    const base = tableOver([inside], { health });
    const { network: _, ...row } = base.providers["p-a"] ?? provider("p-a");
    const router = await startRouter({ table: { ...base, providers: { "p-a": row } } });
    const tracker = new EndpointTracker(healthSettingsOf(router.snapshots));
    tracker.begin("a", performance.now());
    const failure = { kind: "server_error", status: 500, retryAfter: null, code: null } as const;
    tracker.endCall("a", { failure, firstToken: null, tokensPerSecond: null }, performance.now());
    const { decider, connections } = router.snapshots.current;
    const probed = vi.spyOn(tracker, "probed");
    const stop = startProber(tracker, () => ({ table: decider.table, connections }));
    try {
      await until(() => probed.mock.calls.length > 0);
      expect(probed.mock.calls[0]?.slice(0, 2)).toEqual(["a", false]);
      expect(inside.calls).toHaveLength(0);
    } finally {
      stop();
    }
  });
});

/** The route with its primary alone. */
function alone(base: ReturnType<typeof tableOver>): Pick<typeof base, "routes"> {
  const row = base.routes.r;
  if (row === undefined) throw new Error("no route");
  return { routes: { r: { ...row, fallbacks: [], tiers: row.tiers.slice(0, 1) } } };
}

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EndpointRow, ProviderRow } from "../../src/canon/table.ts";
import { connectionPools } from "../../src/dispatch/connections.ts";
import type { EndpointLimiter, Release } from "../../src/dispatch/concurrency-limiter.ts";
import { endpoint, provider, table } from "../support/table.ts";

const pools = connectionPools();
afterEach(() => pools.destroy());

const acquire = (rows: Parameters<typeof provider>[1][]) =>
  pools.acquire(table({ providers: rows.map((row, index) => provider(`p${index}`, row)) }), () => ({
    secret: null,
    simulatedOrigin: null,
  }));

describe("the gate of a provider", () => {
  it("is separate, also where two providers have one origin", () => {
    const baseUrl = "https://same.example/v1";
    const { connections } = acquire([{ baseUrl }, { baseUrl }]);
    const [first, second] = [connections.get("p0"), connections.get("p1")];
    expect(first?.limiter).toBeDefined();
    expect(first?.limiter).not.toBe(second?.limiter);
    expect(first?.dispatcher).not.toBe(second?.dispatcher);
  });

  it("outlives a reload that changes the limit, and is new when it is not used any more", async () => {
    const before = acquire([{ maxConcurrency: 5 }]);
    const after = acquire([{ maxConcurrency: 9 }]);
    const gate = before.connections.get("p0")?.limiter;
    expect(gate).toBeDefined();
    expect(after.connections.get("p0")?.limiter).toBe(gate);
    expect(after.connections.get("p0")?.dispatcher).not.toBe(
      before.connections.get("p0")?.dispatcher,
    );
    await before.releaseConnections();
    expect(acquire([{ maxConcurrency: 9 }]).connections.get("p0")?.limiter).toBe(gate);
    await after.releaseConnections();
    expect(acquire([{ maxConcurrency: 9 }]).connections.get("p0")?.limiter).toBe(gate);
  });

  it("keeps connections warm where a reload changes nothing", () => {
    const [before, after] = [acquire([{}]), acquire([{}])];
    expect(after.connections.get("p0")?.dispatcher).toBe(before.connections.get("p0")?.dispatcher);
  });
});

describe("the gates of a table's endpoints", () => {
  let own = connectionPools();
  beforeEach(() => {
    own = connectionPools();
  });
  afterEach(() => own.destroy());

  const acquireWith = (providers: readonly ProviderRow[], endpoints: readonly EndpointRow[]) =>
    own.acquire(table({ providers, endpoints }), () => ({ secret: null, simulatedOrigin: null }));

  const gateTo = (
    { connections }: ReturnType<typeof acquireWith>,
    row: EndpointRow,
  ): EndpointLimiter => {
    const connection = connections.get(row.provider);
    if (connection === undefined) throw new Error("no connection");
    return connection.limiterOf(row);
  };

  const fill = (gate: EndpointLimiter): readonly Release[] => {
    const releases: Release[] = [];
    for (let release = gate.tryEnter(); release !== null; release = gate.tryEnter())
      releases.push(release);
    return releases;
  };

  it("apply both limits: each endpoint's own, and the provider's over all of its endpoints", () => {
    const rows = [
      endpoint("a", { maxConcurrency: 2 }),
      endpoint("b", { maxConcurrency: 4 }),
      endpoint("c"),
    ] as const;
    const acquired = acquireWith([provider("p", { maxConcurrency: 5 })], rows);
    const [a, b, c] = rows.map((row) => gateTo(acquired, row));
    const releases = a === undefined ? [] : fill(a);
    expect(releases).toHaveLength(2);
    expect(b === undefined ? [] : fill(b)).toHaveLength(3);
    expect(c?.tryEnter()).toBeNull();
    for (const release of releases) release();
    expect(c === undefined ? [] : fill(c)).toHaveLength(2);
  });

  it("keep their calls in flight over a reload, and take the new limits", async () => {
    const before = endpoint("a", { maxConcurrency: 2 });
    const after = endpoint("a", { maxConcurrency: 4 });
    const first = acquireWith(
      [provider("p", { maxConcurrency: 3, queue: { size: 9, wait: 60_000 } })],
      [before],
    );
    const gate = gateTo(first, before);
    const releases = fill(gate);
    expect(releases).toHaveLength(2);
    const waiting = [gate.enter(Infinity), gate.enter(Infinity), gate.enter(Infinity)];
    const second = acquireWith(
      [provider("p", { maxConcurrency: 4, queue: { size: 0, wait: 60_000 } })],
      [after],
    );
    expect(await Promise.all(waiting.slice(0, 2))).not.toContain(null);
    expect(await gateTo(second, after).enter(Infinity)).toBeNull();
    releases[0]?.();
    expect(await waiting[2]).not.toBeNull();
    expect(gateTo(second, after).tryEnter()).toBeNull();
    await first.releaseConnections();
    const third = acquireWith([provider("p", { maxConcurrency: 4 })], [after]);
    expect(gateTo(third, after).tryEnter()).toBeNull();
  });

  it.each([
    ["the provider's", 1, null],
    ["the endpoint's", 9, 1],
  ])("are forgotten when they are not used any more: %s", async (_, limit, maxConcurrency) => {
    const row = endpoint("a", { maxConcurrency });
    const rows = [provider("p", { maxConcurrency: limit })];
    const [first, second] = [acquireWith(rows, [row]), acquireWith(rows, [row])];
    expect(gateTo(first, row).tryEnter()).not.toBeNull();
    await first.releaseConnections();
    const third = acquireWith(rows, [row]);
    expect(gateTo(third, row).tryEnter()).toBeNull();
    await Promise.all([second.releaseConnections(), third.releaseConnections()]);
    expect(gateTo(acquireWith(rows, [row]), row).tryEnter()).not.toBeNull();
  });

  it("throw for an endpoint that the table or the provider does not have", () => {
    const acquired = acquireWith(
      [provider("p"), provider("q")],
      [endpoint("a"), endpoint("b", { provider: "q" })],
    );
    expect(() => gateTo(acquired, endpoint("b", { provider: "p" }))).toThrow(
      "another table or provider",
    );
    expect(() => gateTo(acquired, endpoint("constructor"))).toThrow("another table or provider");
  });
});

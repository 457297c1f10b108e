import { afterEach, describe, expect, it } from "vitest";
import { ConnectionPools } from "../../src/dispatch/connections.ts";
import { provider, table } from "../support/table.ts";

const pools = new ConnectionPools();
afterEach(() => pools.destroy());

const acquire = (rows: Parameters<typeof provider>[1][]) =>
  pools.acquire(table({ providers: rows.map((row, index) => provider(`p${index}`, row)) }), () => ({
    secret: null,
    simulatedOrigin: null,
  }));

describe("the gate of a provider", () => {
  it("is its own, also where two providers stand at one origin", () => {
    const baseUrl = "https://same.example/v1";
    const { connections } = acquire([{ baseUrl }, { baseUrl }]);
    const [first, second] = [connections.get("p0"), connections.get("p1")];
    expect(first?.gate).toBeDefined();
    expect(first?.gate).not.toBe(second?.gate);
    expect(first?.dispatcher).not.toBe(second?.dispatcher);
  });

  it("outlives a reload that changes the limit, and is new when nobody used it any more", async () => {
    const before = acquire([{ maxConcurrency: 5 }]);
    const after = acquire([{ maxConcurrency: 9 }]);
    const gate = before.connections.get("p0")?.gate;
    expect(gate).toBeDefined();
    expect(after.connections.get("p0")?.gate).toBe(gate);
    expect(after.connections.get("p0")?.dispatcher).not.toBe(before.connections.get("p0")?.dispatcher);
    await before.release();
    expect(acquire([{ maxConcurrency: 9 }]).connections.get("p0")?.gate).toBe(gate);
    await after.release();
    expect(acquire([{ maxConcurrency: 9 }]).connections.get("p0")?.gate).toBe(gate);
  });

  it("keeps connections warm where a reload changes nothing", () => {
    const [before, after] = [acquire([{}]), acquire([{}])];
    expect(after.connections.get("p0")?.dispatcher).toBe(before.connections.get("p0")?.dispatcher);
  });
});

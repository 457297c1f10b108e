import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candidate } from "../../../src/canon/decision.ts";
import type { Balance } from "../../../src/canon/table.ts";
import { orderTier, type Circumstances } from "../../../src/dispatch/balance.ts";
import { Measures } from "../../../src/dispatch/endpoint-tracker.ts";
import { endpoint } from "../../support/table.ts";
import { candidate, idsOf, seeded, tier } from "./fixture.ts";

interface Known {
  readonly firstToken?: number;
  readonly throughput?: number;
  readonly inFlight?: number;
}

function circumstances(
  known: Readonly<Record<string, Known>> = {},
  more: Partial<Circumstances> = {},
): Circumstances {
  const measures = new Map(
    Object.entries(known).map(([id, { firstToken, throughput, inFlight = 0 }]) => {
      const one = new Measures();
      one.endCall({ firstToken: firstToken ?? null, tokensPerSecond: throughput ?? null }, 0);
      for (let call = 0; call < inFlight; call += 1) one.begin();
      return [id, one];
    }),
  );
  const measuresOf: Circumstances["measuresOf"] = (id) => measures.get(id) ?? null;
  return { measuresOf, isStream: true, stickyKey: null, now: 0, random: seeded(7), ...more };
}

/** How often each endpoint comes first. */
function firsts(
  candidates: readonly Candidate[],
  draws: number,
  at: Circumstances,
): Map<string, number> {
  const counts = new Map(candidates.map(({ endpoint: { id } }) => [id, 0]));
  for (let draw = 0; draw < draws; draw += 1) {
    const first = orderTier(candidates, at)[0]?.endpoint.id ?? "";
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  return counts;
}

function weighted(
  weights: Readonly<Record<string, number>>,
  balance: Balance = "weighted",
): readonly Candidate[] {
  return Object.entries(weights).map(([id, weight]) => candidate(id, { balance, weight }));
}

describe("order and price", () => {
  it("`order` keeps the order of the table", () => {
    expect(idsOf(orderTier(tier(["b", "a", "c"]), circumstances()))).toEqual(["b", "a", "c"]);
  });

  it("`price` puts the cheapest first, unknown prices last, and equals in the table's order", () => {
    const at = (id: string, input: number | null, output = 0): Candidate =>
      candidate(id, {
        balance: "price",
        endpoint: endpoint(id, { price: input === null ? null : { input, output, request: 0 } }),
      });
    const candidates = [at("x", null), at("a", 3, 1), at("b", 1, 3), at("y", null), at("c", 1, 1)];
    expect(idsOf(orderTier(candidates, circumstances()))).toEqual(["c", "a", "b", "x", "y"]);
  });
});

describe("weighted", () => {
  it("sends each endpoint its share", () => {
    const random = seeded(1);
    const counts = firsts(weighted({ a: 1, b: 2, c: 5 }), 20_000, circumstances({}, { random }));
    for (const [id, share] of [
      ["a", 1 / 8],
      ["b", 2 / 8],
      ["c", 5 / 8],
    ] as const) {
      expect((counts.get(id) ?? 0) / 20_000).toBeGreaterThan(share - 0.015);
      expect((counts.get(id) ?? 0) / 20_000).toBeLessThan(share + 0.015);
    }
  });

  it("sends the remaining endpoints their shares after the first", () => {
    const random = seeded(2);
    let b = 0;
    let total = 0;
    const candidates = weighted({ a: 1, b: 2, c: 5 });
    const at = circumstances({}, { random });
    for (let draw = 0; draw < 20_000; draw += 1) {
      const [first, second] = idsOf(orderTier(candidates, at));
      if (first !== "c") continue;
      total += 1;
      if (second === "b") b += 1;
    }
    expect(b / total).toBeGreaterThan(2 / 3 - 0.02);
    expect(b / total).toBeLessThan(2 / 3 + 0.02);
  });

  it("tries a weight of 0 after all others, in the table's order", () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const ids = idsOf(
          orderTier(
            weighted({ x: 0, a: 1, y: 0, b: 9 }),
            circumstances({}, { random: seeded(seed) }),
          ),
        );
        expect(ids.slice(2)).toEqual(["x", "y"]);
      }),
    );
    expect(idsOf(orderTier(weighted({ x: 0, y: 0 }), circumstances()))).toEqual(["x", "y"]);
  });
});

describe("latency", () => {
  const four = tier(["a", "b", "c", "d"], { balance: "latency" });
  const known = {
    a: { firstToken: 400 },
    b: { firstToken: 100 },
    c: { firstToken: 300 },
    d: { firstToken: 200 },
  };

  it("chooses the quicker of two at random, then the quickest of the rest", () => {
    const random = seeded(3);
    const counts = firsts(four, 12_000, circumstances(known, { random }));
    // Of the six pairs the quickest wins three, the slowest none.
    expect(counts.get("a")).toBe(0);
    for (const [id, pairs] of [
      ["b", 3],
      ["d", 2],
      ["c", 1],
    ] as const) {
      expect(Math.abs((counts.get(id) ?? 0) / 12_000 - pairs / 6)).toBeLessThan(0.02);
    }
    for (let draw = 0; draw < 50; draw += 1) {
      const [, ...rest] = idsOf(orderTier(four, circumstances(known, { random })));
      expect(rest).toEqual(["b", "d", "c", "a"].filter((id) => rest.includes(id)));
    }
  });

  it("always prefers the quicker of two", () => {
    fc.assert(
      fc.property(fc.integer(), fc.boolean(), (seed, turned) => {
        const ids = turned ? ["slow", "quick"] : ["quick", "slow"];
        const at = circumstances(
          { quick: { firstToken: 100 }, slow: { firstToken: 101 } },
          { random: seeded(seed) },
        );
        expect(idsOf(orderTier(tier(ids, { balance: "latency" }), at))).toEqual(["quick", "slow"]);
      }),
    );
  });

  it("calls in flight are counted", () => {
    const busy = circumstances({ a: { firstToken: 100, inFlight: 4 }, b: { firstToken: 300 } });
    expect(idsOf(orderTier(tier(["a", "b"], { balance: "latency" }), busy))).toEqual(["b", "a"]);
    const faded = circumstances(
      { a: { firstToken: 1_000, inFlight: 1 }, b: { firstToken: 900_000 } },
      { now: 1e9 },
    );
    expect(idsOf(orderTier(tier(["a", "b"], { balance: "latency" }), faded))).toEqual(["b", "a"]);
  });

  it("treats an endpoint without measurements like the best, and spreads the requests", () => {
    const at = { a: { firstToken: 500 }, b: { firstToken: 200, inFlight: 1 } };
    const random = seeded(5);
    const mixed = firsts(
      tier(["a", "b", "new"], { balance: "latency" }),
      3_000,
      circumstances(at, { random }),
    );
    // Of the three pairs it wins the two that it is in, against the idle and against the busy.
    expect(Math.abs((mixed.get("new") ?? 0) - 2_000)).toBeLessThan(120);
    expect(mixed.get("a")).toBe(0);
    const counts = firsts(
      tier(["x", "y"], { balance: "latency" }),
      2_000,
      circumstances({}, { random }),
    );
    expect(Math.abs((counts.get("x") ?? 0) - 1_000)).toBeLessThan(100);
  });
});

describe("throughput and calls in flight", () => {
  it("`throughput` puts the most tokens a second first", () => {
    const at = circumstances({
      a: { throughput: 10 },
      b: { throughput: 90 },
      c: { throughput: 50 },
    });
    expect(idsOf(orderTier(tier(["a", "b", "c"], { balance: "throughput" }), at))).toEqual([
      "b",
      "c",
      "a",
    ]);
  });

  it("an endpoint without measurements shares with the fastest", () => {
    const random = seeded(11);
    const counts = firsts(
      tier(["slow", "fast", "new"], { balance: "throughput" }),
      3_000,
      circumstances({ slow: { throughput: 10 }, fast: { throughput: 90 } }, { random }),
    );
    expect(counts.get("slow")).toBe(0);
    expect(Math.abs((counts.get("new") ?? 0) - 1_500)).toBeLessThan(150);
  });

  it("`least_in_flight` puts the fewest calls first, and equals by chance", () => {
    const at = { a: { inFlight: 3 }, b: { inFlight: 1 }, c: { inFlight: 2 } };
    const candidates = tier(["a", "b", "c"], { balance: "least_in_flight" });
    expect(idsOf(orderTier(candidates, circumstances(at)))).toEqual(["b", "c", "a"]);
    const random = seeded(13);
    const counts = firsts(candidates, 3_000, circumstances({}, { random }));
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});

describe("sticky", () => {
  const KEYS = 8_000;
  const homeOf = (candidates: readonly Candidate[], key: string): string =>
    orderTier(candidates, circumstances({}, { stickyKey: key, random: seeded(key.length) }))[0]
      ?.endpoint.id ?? "";

  it("the same key gets the same order, for every random number and order of the table", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer(), fc.integer(), (stickyKey, one, other) => {
        const candidates = tier(["a", "b", "c", "d"], { balance: "sticky" });
        const first = orderTier(candidates, circumstances({}, { stickyKey, random: seeded(one) }));
        const second = orderTier(
          candidates.toReversed(),
          circumstances({}, { stickyKey, random: seeded(other) }),
        );
        expect(idsOf(second)).toEqual(idsOf(first));
      }),
    );
  });

  it("removing an endpoint moves its keys only, and spreads them among the others", () => {
    const five = tier(["a", "b", "c", "d", "e"], { balance: "sticky" });
    const four = five.filter(({ endpoint: { id } }) => id !== "c");
    const movedTo = new Map<string, number>();
    const strays: string[] = [];
    for (let key = 0; key < KEYS; key += 1) {
      const before = homeOf(five, `key ${key}`);
      const after = homeOf(four, `key ${key}`);
      if (before === "c") movedTo.set(after, (movedTo.get(after) ?? 0) + 1);
      else if (after !== before) strays.push(`key ${key}`);
    }
    expect(strays).toEqual([]);
    const moved = [...movedTo.values()].reduce((sum, count) => sum + count, 0);
    expect(Math.abs(moved / KEYS - 1 / 5)).toBeLessThan(0.02);
    expect(movedTo.size).toBe(4);
    for (const count of movedTo.values())
      expect(Math.abs(count / KEYS - 1 / 20)).toBeLessThan(0.01);
  });

  it("respects weights, and a changed weight moves keys to or from that endpoint only", () => {
    const counts = new Map<string, number>();
    const strays: string[] = [];
    const light = weighted({ a: 1, b: 3, c: 0 }, "sticky");
    const heavy = weighted({ a: 1, b: 6, c: 0 }, "sticky");
    for (let key = 0; key < KEYS; key += 1) {
      const home = homeOf(light, `key ${key}`);
      counts.set(home, (counts.get(home) ?? 0) + 1);
      if (home === "b" && homeOf(heavy, `key ${key}`) !== "b") strays.push(`key ${key}`);
    }
    expect(strays).toEqual([]);
    expect(counts.get("c")).toBeUndefined();
    expect(Math.abs((counts.get("b") ?? 0) / KEYS - 3 / 4)).toBeLessThan(0.02);
  });

  it("a request without a key is balanced by weight", () => {
    const random = seeded(17);
    const counts = firsts(weighted({ a: 1, b: 3 }, "sticky"), 8_000, circumstances({}, { random }));
    expect(Math.abs((counts.get("b") ?? 0) / 8_000 - 3 / 4)).toBeLessThan(0.02);
  });
});

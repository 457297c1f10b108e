import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candidate } from "../../../src/canon/decision.ts";
import type { ProviderPreferences } from "../../../src/canon/request.ts";
import { BALANCES } from "../../../src/canon/table.ts";
import { arrange, type Circumstances } from "../../../src/dispatch/arrange.ts";
import { HEALTHY, type HealthState } from "../../../src/dispatch/health.ts";
import { Measures } from "../../../src/dispatch/endpoint-tracker.ts";
import { candidate, idsOf, seeded, tier } from "./fixture.ts";

const ejected = (until: number): HealthState => ({ state: "ejected", until });
const limited = (until: number): HealthState => ({ state: "rate_limited", until });
const half = (isTrialRunning: boolean, until = -1): HealthState => ({
  state: "half_open",
  until,
  isTrialRunning,
});

function circumstances(
  healthStates: Readonly<Record<string, HealthState>>,
  maxEjectedShare: number,
  more: Partial<Circumstances> = {},
): Circumstances {
  return {
    measuresOf: () => null,
    healthStateOf: (id) => healthStates[id] ?? HEALTHY,
    maxEjectedShare,
    preferences: null,
    isOrdered: false,
    stickyKey: null,
    isStream: true,
    now: 0,
    random: seeded(1),
    ...more,
  };
}

/** One tier per letter, tried in the order of the letters. */
function plan(ids: string): readonly Candidate[] {
  return ids.split("").map((id, index) => candidate(id, { tier: index }));
}

describe("unhealthy endpoints", () => {
  it.each<
    [string, string, Readonly<Record<string, HealthState>>, number, string, string, string | null]
  >([
    ["nothing is", "abc", {}, 1, "abc", "", null],
    ["goes last", "abc", { a: ejected(9) }, 0.5, "bca", "a", null],
    ["whatever takes it out", "abcd", { a: limited(9), b: ejected(5) }, 0.5, "cdba", "ba", null],
    [
      "in the order of return",
      "abcdef",
      { a: ejected(9), b: ejected(5), c: limited(7) },
      0.5,
      "defbca",
      "bca",
      null,
    ],
    [
      "no more than the share",
      "abcd",
      { a: ejected(9), b: ejected(8), c: ejected(7) },
      0.5,
      "cdba",
      "ba",
      null,
    ],
    [
      "the better ranked of equals stays",
      "abc",
      { a: ejected(9), b: ejected(9) },
      0.5,
      "acb",
      "b",
      null,
    ],
    ["rounded down", "abc", { a: ejected(9) }, 0.3, "abc", "", null],
    ["none at all", "abc", { a: ejected(9) }, 0, "abc", "", null],
    ["never all", "ab", { a: ejected(9), b: ejected(8) }, 1, "ba", "a", null],
    ["never the only one", "a", { a: ejected(9) }, 1, "a", "", null],
    ["half-open and first: this request's trial", "abc", { a: half(false) }, 0.5, "abc", "", "a"],
    ["half-open and another's trial", "abc", { a: half(true) }, 0.5, "bca", "a", null],
    ["half-open behind a healthy one", "abc", { b: half(false) }, 0.5, "abc", "", null],
    [
      "half-open once those before it are out",
      "abcd",
      { a: ejected(9), b: half(false) },
      0.5,
      "bcda",
      "a",
      "b",
    ],
    [
      "one trial for one request",
      "abcd",
      { a: half(false, -1), b: half(false, -2) },
      0.5,
      "abcd",
      "",
      "a",
    ],
    [
      "limited ones, whatever the share",
      "abcd",
      { a: limited(9), b: limited(8), c: limited(7) },
      0.25,
      "dcba",
      "cba",
      null,
    ],
    [
      "ejected ones within the share that limited ones do not use",
      "abc",
      { a: limited(9), b: ejected(8) },
      0.34,
      "cba",
      "ba",
      null,
    ],
    [
      "half-open, and no more may be out",
      "abc",
      { b: half(false), c: ejected(9) },
      0.34,
      "abc",
      "c",
      null,
    ],
  ])(
    "%s: the plan %s with the states %j and the share %s becomes %s",
    (_, ids, healthStates, share, order, out, trial) => {
      const arrangement = arrange(plan(ids), circumstances(healthStates, share));
      expect(idsOf(arrangement.order).join("")).toBe(order);
      expect(idsOf(arrangement.out.map((aside) => aside.candidate)).join("")).toBe(out);
      expect(arrangement.trial?.endpoint.id ?? null).toBe(trial);
    },
  );

  it("are listed with reason and time", () => {
    const { out } = arrange(
      plan("abcdef"),
      circumstances({ a: ejected(9), b: limited(4), c: half(true, -5) }, 0.5),
    );
    expect(out.map(({ candidate: { endpoint }, why, until }) => [endpoint.id, why, until])).toEqual(
      [
        ["c", "ejected", -5],
        ["b", "rate_limited", 4],
        ["a", "ejected", 9],
      ],
    );
  });

  it("a share that falls just short of a whole number is that number", () => {
    const ids = Array.from({ length: 100 }, (_, index) => `e${index}`);
    const healthStates = Object.fromEntries(ids.map((id) => [id, ejected(9)]));
    expect(arrange(tier(ids), circumstances(healthStates, 0.29)).out).toHaveLength(29);
  });
});

describe("preferred speeds", () => {
  const measures = new Map(
    Object.entries({ a: [2_000, 20], b: [500, 80] }).map(([id, [firstToken = 0, rate = 0]]) => {
      const one = new Measures();
      for (let call = 0; call < 9; call += 1) one.endCall({ firstToken, tokensPerSecond: rate }, 0);
      one.endCall({ firstToken: firstToken * 10, tokensPerSecond: rate / 10 }, 0);
      return [id, one];
    }),
  );
  const measuresOf = (id: string): Measures | null => measures.get(id) ?? null;

  it.each<[string, ProviderPreferences, string]>([
    ["nothing requested", {}, "abc"],
    ["seconds, not milliseconds", { preferred_max_latency: { p50: 2 } }, "abc"],
    [
      "the slow one goes last, the unmeasured one does not",
      { preferred_max_latency: { p50: 1.999 } },
      "bca",
    ],
    ["at the edge of a percentile", { preferred_max_latency: { p90: 2 } }, "abc"],
    ["any percentile that is missed", { preferred_max_latency: { p50: 3, p99: 5 } }, "bca"],
    ["p75 as well", { preferred_max_latency: { p75: 1 } }, "bca"],
    ["all miss it: the order stays", { preferred_max_latency: { p50: 0.1 } }, "cab"],
    ["tokens a second", { preferred_min_throughput: { p50: 21 } }, "bca"],
    ["tokens a second at the edge", { preferred_min_throughput: { p90: 20 } }, "abc"],
    [
      "a higher percentile of throughput is the stricter one",
      { preferred_min_throughput: { p99: 3 } },
      "bca",
    ],
    ["either", { preferred_max_latency: { p50: 1 }, preferred_min_throughput: { p50: 81 } }, "cab"],
  ])("%s: %j arranges abc as %s", (_, preferences, order) => {
    const { order: arranged } = arrange(
      plan("abc"),
      circumstances({}, 0.5, { preferences, measuresOf }),
    );
    expect(idsOf(arranged).join("")).toBe(order);
  });

  it("an unhealthy endpoint stays out, whatever speed is preferred", () => {
    const preferences = { preferred_max_latency: { p50: 1 } };
    const at = circumstances({ b: ejected(9) }, 0.5, { preferences, measuresOf });
    expect(idsOf(arrange(plan("abc"), at).order).join("")).toBe("cab");
  });
});

describe("every arrangement", () => {
  const healthState: fc.Arbitrary<HealthState> = fc.oneof(
    { weight: 2, arbitrary: fc.constant(HEALTHY) },
    fc.nat({ max: 5 }).map(ejected),
    fc.nat({ max: 5 }).map(limited),
    fc
      .tuple(fc.boolean(), fc.integer({ min: -5, max: 0 }))
      .map(([isTrialRunning, until]) => half(isTrialRunning, until)),
  );
  const endpoints = fc.record({
    healthState,
    weight: fc.constantFrom(0, 1, 5),
    firstToken: fc.option(fc.nat({ max: 3_000 })),
    inFlight: fc.nat({ max: 3 }),
  });
  const oneTier = fc.record({
    balance: fc.constantFrom(...BALANCES),
    members: fc.array(endpoints, { minLength: 1, maxLength: 4 }),
  });
  const world = fc.record({
    tiers: fc.array(oneTier, { minLength: 1, maxLength: 4 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    stickyKey: fc.option(fc.string()),
    seed: fc.integer(),
    wanted: fc.option(fc.constantFrom(0.5, 1, 2)),
  });

  function built({
    tiers,
    share,
    stickyKey,
    seed,
    wanted,
  }: typeof world extends fc.Arbitrary<infer World> ? World : never) {
    const measures = new Map<string, Measures>();
    const healthStates: Record<string, HealthState> = {};
    const candidates = tiers.flatMap(({ balance, members }, index) =>
      members.map(({ healthState: one, weight, firstToken, inFlight }, at) => {
        const id = `t${index}p${at}`;
        const known = new Measures();
        known.endCall(
          { firstToken, tokensPerSecond: firstToken === null ? null : 50_000 / (firstToken + 1) },
          0,
        );
        for (let call = 0; call < inFlight; call += 1) known.begin();
        measures.set(id, known);
        healthStates[id] = one;
        return candidate(id, { tier: index, balance, weight });
      }),
    );
    const preferences = wanted === null ? null : { preferred_max_latency: { p50: wanted } };
    const random = seeded(seed);
    const measuresOf = (id: string): Measures | null => measures.get(id) ?? null;
    return { candidates, healthStates, at: { measuresOf, preferences, stickyKey, random }, share };
  }

  it("keeps the candidates, sets aside no more than the share and never all, and tries at most one endpoint first", () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { candidates, healthStates, at, share } = built(drawn);
        const { order, out, trial } = arrange(candidates, circumstances(healthStates, share, at));
        expect(new Set(order)).toEqual(new Set(candidates));
        expect(order).toHaveLength(candidates.length);
        expect(out.length).toBeLessThan(candidates.length);
        const ill = out.filter(({ why }) => why === "ejected");
        expect(ill.length).toBeLessThanOrEqual(share * candidates.length + 1e-6);
        expect(order.slice(order.length - out.length)).toEqual(out.map((aside) => aside.candidate));
        const untils = out.map(({ until }) => until);
        expect(untils).toEqual(untils.toSorted((left, right) => left - right));
        for (const aside of out)
          expect(healthStates[aside.candidate.endpoint.id]?.state).not.toBe("healthy");
        if (trial === null) return;
        expect(trial).toBe(order[0]);
        expect(healthStates[trial.endpoint.id]).toMatchObject({
          state: "half_open",
          isTrialRunning: false,
        });
      }),
      { numRuns: 500 },
    );
  });

  it("keeps the order of tiers where nothing is out or preferred", () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { candidates, at } = built({ ...drawn, wanted: null });
        const { order } = arrange(candidates, circumstances({}, 1, at));
        const tiers = order.map((one) => one.tier);
        expect(tiers).toEqual(tiers.toSorted((left, right) => left - right));
      }),
    );
  });

  it("is the same for the same circumstances", () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const one = built(drawn);
        const other = built(drawn);
        expect(arrange(one.candidates, circumstances(one.healthStates, one.share, one.at))).toEqual(
          arrange(other.candidates, circumstances(other.healthStates, other.share, other.at)),
        );
      }),
    );
  });
});

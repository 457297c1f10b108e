import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candidate, Decision } from "../../src/canon/decision.ts";
import { SORT_KEYS, type ProviderPreferences } from "../../src/canon/request.ts";
import { BALANCES, type RoutingTable, type TierRow } from "../../src/canon/table.ts";
import { decide } from "../../src/decide/decide.ts";
import {
  endpoint,
  fakePolicies,
  identity,
  model,
  provider,
  route,
  shape,
  table,
  workspace,
} from "../support/table.ts";
import { by, decided, planned, policies, tier } from "./tiers.ts";

const PROVIDERS = ["p", "q", "s"] as const;
const MODELS = ["m", "n"] as const;

interface DrawnEndpoint {
  readonly provider: (typeof PROVIDERS)[number];
  readonly model: (typeof MODELS)[number];
  readonly price: number | null;
  readonly tools: boolean;
  /** Begins a new tier. */
  readonly begins: boolean;
  readonly weight: number;
}

const drawnEndpoints: fc.Arbitrary<readonly DrawnEndpoint[]> = fc.array(
  fc.record({
    provider: fc.constantFrom(...PROVIDERS),
    model: fc.constantFrom(...MODELS),
    price: fc.option(fc.integer({ min: 0, max: 5 })),
    tools: fc.boolean(),
    begins: fc.boolean(),
    weight: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 7 },
);

/** A table with one route over these endpoints, in their order. */
function tableOf(
  made: readonly DrawnEndpoint[],
  balances: readonly TierRow["balance"][],
  onGap: "deny" | "narrow",
): RoutingTable {
  const region = { p: "eu-west", q: "us-east", s: "eu-west" } as const;
  const rows = made.map(({ provider: at, model: served, price, tools }, index) =>
    endpoint(`e${index}`, {
      provider: at,
      model: served,
      region: region[at],
      price: price === null ? null : { input: price, output: 0, request: 0 },
      capabilities: tools ? ["tools"] : [],
    }),
  );
  const tiers: TierRow[] = [];
  for (const [index, { begins, weight }] of made.entries()) {
    const last = tiers.at(-1);
    if (last === undefined || begins) {
      tiers.push(
        tier([`e${index}`], balances[tiers.length % balances.length] ?? "order", [weight]),
      );
    } else {
      tiers.splice(
        -1,
        1,
        tier([...last.endpoints, `e${index}`], last.balance, [...last.weights, weight]),
      );
    }
  }
  const [primary = "", ...fallbacks] = rows.map(({ id }) => id);
  return table({
    providers: PROVIDERS.map((id) =>
      provider(id, { region: region[id], retention: id === "s" ? "days_30" : "none" }),
    ),
    models: MODELS.map((id) => model(id)),
    endpoints: rows,
    routes: [route("r", primary, fallbacks, { tiers, onGap })],
    workspaces: [workspace("w", { providers: PROVIDERS })],
  });
}

const providers = fc.uniqueArray(fc.constantFrom(...PROVIDERS));

/** What excludes endpoints. */
const narrowing: fc.Arbitrary<ProviderPreferences> = fc.record(
  {
    only: providers,
    ignore: providers,
    region: fc.subarray(["eu", "us-east"], { minLength: 1 }),
    zdr: fc.boolean(),
    max_price: fc.record({ input: fc.integer({ min: 0, max: 5 }) }),
  },
  { requiredKeys: [] },
);

/** What only orders them. */
const ordering: fc.Arbitrary<ProviderPreferences> = fc.record(
  {
    order: providers,
    sort: fc.record({
      by: fc.constantFrom(...SORT_KEYS),
      partition: fc.constantFrom("model", "none"),
    }),
    preferred_max_latency: fc.constant({ p50: 1 }),
    preferred_min_throughput: fc.constant({ p90: 20 }),
  },
  { requiredKeys: [] },
);

const fixtures = fc
  .tuple(
    drawnEndpoints,
    fc.array(fc.constantFrom(...BALANCES), { minLength: 1, maxLength: 3 }),
    fc.constantFrom("deny", "narrow"),
  )
  .map(([made, balances, onGap]) => tableOf(made, balances, onGap));

const preferring = fc.subarray(["us", "eu", "moon"]);
const filtering = fc.subarray(["e1", "e3"]);

const idsOf = (decision: Decision): readonly string[] =>
  planned(decision).map((one) => one.endpoint.id);

describe("over random routes and preferences", () => {
  it("tiers ascend from 0 without holes, and equals are shared alike", () => {
    fc.assert(
      fc.property(
        fixtures,
        narrowing,
        ordering,
        fc.boolean(),
        preferring,
        filtering,
        (rows, fewer, order, allow, regions, failing) => {
          const preferences = { ...fewer, ...order, allow_fallbacks: allow };
          const decision = decided(rows, preferences, policies(regions, failing));
          const plan = planned(decision);
          let previous: Candidate | null = null;
          for (const candidate of plan) {
            if (previous === null) expect(candidate.tier).toBe(0);
            else expect([previous.tier, previous.tier + 1]).toContain(candidate.tier);
            if (previous?.tier === candidate.tier) expect(candidate.balance).toBe(previous.balance);
            previous = candidate;
          }
          expect(new Set(idsOf(decision)).size).toBe(plan.length);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("an order adds and removes no endpoint, for every caller", () => {
    fc.assert(
      fc.property(
        fixtures,
        narrowing,
        ordering,
        preferring,
        filtering,
        (rows, fewer, order, regions, failing) => {
          const plain = decided(rows, fewer, policies([], failing));
          const ordered = decided(rows, { ...fewer, ...order }, policies(regions, failing));
          expect(ordered.outcome).toBe(plain.outcome);
          expect(idsOf(ordered).toSorted()).toEqual(idsOf(plain).toSorted());
        },
      ),
      { numRuns: 500 },
    );
  });

  it("preferences never widen: every endpoint is one that the route has without them", () => {
    fc.assert(
      fc.property(fixtures, narrowing, ordering, fc.boolean(), (rows, fewer, order, allow) => {
        const requested = shape({ needs: ["tools"] });
        const ask = (preferences: ProviderPreferences | null) =>
          decide(rows, fakePolicies(), identity, { model: "r", shape: requested, preferences }, 0);
        const wanted = ask({ ...fewer, ...order, allow_fallbacks: allow });
        for (const { endpoint: row } of planned(wanted)) {
          expect(row.capabilities).toContain("tools");
          if (fewer.only !== undefined) expect(fewer.only).toContain(row.provider);
          if (fewer.ignore !== undefined) expect(fewer.ignore).not.toContain(row.provider);
        }
        const plain = ask(null);
        if (plain.outcome === "route")
          for (const id of idsOf(wanted)) expect(idsOf(plain)).toContain(id);
        if (!allow) {
          const first = planned(ask({ ...fewer, ...order }))[0];
          if (first !== undefined)
            expect(planned(wanted).length === 0 || idsOf(wanted).includes(first.endpoint.id)).toBe(
              true,
            );
        }
      }),
      { numRuns: 500 },
    );
  });

  it("an order and a sort by price arrange the plan by position, then price, then the table", () => {
    const order = fc.record({ order: providers, price: fc.boolean() });
    fc.assert(
      fc.property(fixtures, order, (rows, { order: named, price }) => {
        const preferences = { order: named, ...(price ? by("price", "none") : {}) };
        const decision = decided(rows, preferences);
        const position = ({ endpoint: { provider: at } }: Candidate) =>
          named.some((id) => id === at) ? named.findIndex((id) => id === at) : named.length;
        const cost = ({ endpoint: { price: known } }: Candidate) =>
          price ? (known?.input ?? Infinity) : 0;
        const ordinal = ({ endpoint: { id } }: Candidate) => Number(id.slice(1));
        const keys = planned(decision).map(
          (one) => [position(one), cost(one), ordinal(one)] as const,
        );
        const sorted = keys.toSorted(
          (left, right) =>
            left[0] - right[0] || (left[1] === right[1] ? left[2] - right[2] : left[1] - right[1]),
        );
        expect(keys).toEqual(sorted);
        expect(planned(decision).map((one) => one.tier)).toEqual([...keys.keys()]);
      }),
      { numRuns: 300 },
    );
  });
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { BALANCES, type RouteRow } from "../../src/canon/table.ts";
import { compileTable } from "../../src/compile/compile-table.ts";

const ENDPOINTS = ["e0", "e1", "e2", "e3", "e4", "e5"] as const;

interface Authored {
  readonly primary: string;
  readonly peers: readonly string[];
  readonly balance: RouteRow["tiers"][number]["balance"];
  readonly weights: Readonly<Record<string, number>>;
  readonly fallbacks: readonly (string | { readonly route: string })[];
}

/** Route `r0` may lead to `r1` and `r2`, `r1` to `r2`: no circle. */
function authored(index: number): fc.Arbitrary<Authored> {
  const later = [0, 1, 2].filter((other) => other > index).map((other) => ({ route: `r${other}` }));
  return fc
    .record({
      order: fc.shuffledSubarray([...ENDPOINTS], { minLength: 1 }),
      peers: fc.nat({ max: 3 }),
      balance: fc.constantFrom(...BALANCES),
      shares: fc.array(fc.constantFrom(0, 0.5, 1, 3), { minLength: 4, maxLength: 4 }),
      others: fc.shuffledSubarray(later),
      at: fc.nat({ max: 5 }),
    })
    .map(({ order, peers, balance, shares, others, at }) => {
      const [primary = "", ...rest] = order;
      const equals = rest.slice(0, peers);
      const weights = Object.fromEntries(
        [primary, ...equals].map((id, endpoint) => [id, shares[endpoint] ?? 1]),
      );
      if (Object.values(weights).every((weight) => weight === 0)) weights[primary] = 1;
      const fallbacks: Authored["fallbacks"] = rest.slice(peers);
      return {
        primary,
        peers: equals,
        balance,
        weights,
        fallbacks: fallbacks.toSpliced(at, 0, ...others),
      };
    });
}

function compiled(routes: readonly Authored[]): Readonly<Record<string, RouteRow>> {
  const text = stringify({
    version: 1,
    regions: { eu: ["eu-west"] },
    providers: {
      p: {
        dialect: "openai-chat",
        base_url: "https://p.example/v1",
        region: "eu-west",
        auth: "none",
      },
    },
    models: { m: { operations: ["generate"] } },
    endpoints: ENDPOINTS.map((id) => ({ id, model: "m", provider: "p", upstream_model: id })),
    routes: Object.fromEntries(routes.map((row, index) => [`r${index}`, row])),
    workspaces: {
      w: { tier: "standard", approve: { routes: ["r0"], regions: ["eu"], providers: ["p"] } },
    },
  });
  const { table, diagnostics } = compileTable({ path: "routes.yaml", text });
  if (table === null) throw new Error(JSON.stringify(diagnostics));
  return table.routes;
}

/** The endpoints that a route leads to, in the order in which they come up. */
function reached(routes: readonly Authored[], row: Authored): readonly string[] {
  const all = row.fallbacks.flatMap((fallback) => {
    if (typeof fallback === "string") return [fallback];
    const other = routes[Number(fallback.route.slice(1))];
    return other === undefined ? [] : reached(routes, other);
  });
  return [...new Set([row.primary, ...row.peers, ...all])];
}

test("over random routes: each endpoint is in one tier, its first one, with its route's balance and share", () => {
  fc.assert(
    fc.property(fc.tuple(authored(0), authored(1), authored(2)), (routes) => {
      const rows = compiled(routes);
      for (const [index, row] of routes.entries()) {
        const made = rows[`r${index}`];
        const tiers = made?.tiers ?? [];
        const order = reached(routes, row);
        expect(tiers.flatMap(({ endpoints }) => endpoints)).toEqual(order);
        expect([made?.primary, ...(made?.fallbacks ?? [])]).toEqual(order);
        expect(tiers[0]).toEqual({
          endpoints: [row.primary, ...row.peers],
          balance: row.balance,
          weights: [row.primary, ...row.peers].map((id) => row.weights[id]),
        });
        for (const { endpoints, balance, weights } of tiers) {
          expect(endpoints.length).toBeGreaterThan(0);
          expect(weights).toHaveLength(endpoints.length);
          expect(Math.max(...weights)).toBeGreaterThan(0);
          const from = routes.find((other) =>
            endpoints.every((id) => [other.primary, ...other.peers].includes(id)),
          );
          if (endpoints.length > 1) expect(from).toBeDefined();
          if (from === undefined) expect([balance, weights]).toEqual(["order", [1]]);
        }
      }
    }),
    { numRuns: 200 },
  );
});

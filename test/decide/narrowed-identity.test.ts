import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  TOKEN_SCOPES,
  matchesOrigin,
  allowsOperation,
  allowsRoute,
  narrow,
  type TokenGrant,
  type TokenRequest,
} from "../../src/canon/credentials/narrowing.ts";
import type { ExchangeGrant } from "../../src/canon/credentials/service-key.ts";
import { MODEL_OPERATION_OF, OPERATIONS } from "../../src/canon/operation.ts";
import { SCOPES, type Identity } from "../../src/canon/identity.ts";
import { createDecider } from "../../src/decide/decider.ts";
import { usableRoutes } from "../../src/http/control/catalogue-handlers.ts";
import { fakePolicies, identity, model, route, shape, table, workspace } from "../support/table.ts";

const ROUTES = ["r", "s", "t", "hidden"];
const ORIGINS = ["https://a.example", "https://b.example:8443"];

const subset = <Item>(items: readonly Item[]): fc.Arbitrary<Item[]> => fc.subarray([...items]);
const listOf = <Item>(items: readonly Item[]): fc.Arbitrary<Item[] | null> =>
  fc.option(fc.subarray([...items], { minLength: 1 }));

const grants: fc.Arbitrary<ExchangeGrant> = fc.record({
  maximumLifetime: fc.integer({ min: 60, max: 900 }),
  operations: listOf(OPERATIONS),
  routes: listOf(ROUTES),
  origins: listOf(ORIGINS),
});

const requests: fc.Arbitrary<TokenRequest> = fc.record({
  scopes: fc.option(subset([...SCOPES, "root"])),
  operations: fc.option(subset([...OPERATIONS, "models"])),
  routes: fc.option(subset([...ROUTES, "", "a b"])),
  origin: fc.option(fc.constantFrom(...ORIGINS, "https://c.example", "null", "https://a.example/")),
  lifetime: fc.option(fc.integer({ min: 0, max: 1_000 })),
  ceilings: fc.record({
    requests: fc.option(fc.integer({ min: -1, max: 10 })),
    tokens: fc.option(fc.integer({ min: -1, max: 10 })),
  }),
});

/** Grants and requests that mostly fit together: refusals are tested above. */
const fitting: fc.Arbitrary<readonly [ExchangeGrant, TokenRequest]> = grants.chain((grant) =>
  fc
    .record({
      operations: listOf(grant.operations ?? OPERATIONS),
      routes: listOf(grant.routes ?? ROUTES),
      origin: grant.origins === null ? fc.constant(null) : fc.constantFrom(...grant.origins),
    })
    .map(
      (requested) =>
        [
          grant,
          {
            ...requested,
            scopes: null,
            lifetime: null,
            ceilings: { requests: null, tokens: null },
          },
        ] as const,
    ),
);

const scopesOf = subset(SCOPES).map((scopes) => new Set(scopes));

/** The identity that a token gives, as the door makes it. */
function holderOf(parent: Identity, grant: TokenGrant): Identity {
  const { scopes, operations, routes, origin, ceilings } = grant;
  const narrowed = { tokenId: "t", operations, routes, origin, ceilings };
  return { ...parent, scopes: new Set(scopes), narrowed };
}

describe("narrow", () => {
  it("grants exactly the requested members, or names one that is not granted", () => {
    fc.assert(
      fc.property(scopesOf, grants, requests, (scopes, grant, requested) => {
        const given = narrow({ scopes }, grant, requested);
        if ("field" in given) return;
        for (const scope of given.scopes) {
          expect(scopes.has(scope)).toBe(true);
          expect(TOKEN_SCOPES).toContain(scope);
        }
        expect(new Set(given.scopes)).toEqual(new Set(requested.scopes ?? ["inference"]));
        for (const [name, list] of [
          ["operations", grant.operations],
          ["routes", grant.routes],
        ] as const) {
          const granted: readonly string[] | null = list;
          const got: readonly string[] | null = given[name];
          if (granted !== null) {
            expect(got).not.toBeNull();
            for (const item of got ?? []) expect(granted).toContain(item);
          }
          if (requested[name] !== null) expect(new Set(got)).toEqual(new Set(requested[name]));
        }
        if (grant.origins !== null) expect(grant.origins).toContain(given.origin);
        expect(given.origin).toBe(requested.origin);
        expect(given.lifetime).toBeGreaterThanOrEqual(60);
        expect(given.lifetime).toBeLessThanOrEqual(grant.maximumLifetime);
        expect(given.ceilings).toEqual(requested.ceilings);
        for (const ceiling of Object.values(given.ceilings))
          if (ceiling !== null) expect(ceiling).toBeGreaterThan(0);
      }),
      { numRuns: 2_000 },
    );
  });

  it("grants every request within the grant", () => {
    fc.assert(
      fc.property(grants, (grant) => {
        const requested = {
          scopes: null,
          operations: grant.operations,
          routes: grant.routes,
          origin: grant.origins?.[0] ?? null,
          lifetime: null,
          ceilings: { requests: null, tokens: null },
        };
        expect(narrow({ scopes: new Set(["inference"] as const) }, grant, requested)).toMatchObject(
          {
            lifetime: grant.maximumLifetime,
          },
        );
      }),
    );
  });
});

const TABLE = table({
  models: [model("m", { operations: ["generate", "embed", "moderate"], dimensions: [8] })],
  routes: ["r", "s", "t", "hidden"].map((id) =>
    route(id, "a", ["b"], { operations: ["generate", "embed", "moderate"] }),
  ),
  workspaces: [
    workspace(
      "w",
      { routes: ["r", "s", "t"], dimensions: [8], contextWindow: 1_000_000 },
      { defaultModerationRoute: "s" },
    ),
  ],
});

describe("the holder of a token", () => {
  it("gets no decision that its key would not get, and none beyond the token's grant", () => {
    // One decider for all, so that a decision remembered for the key, or for another token, would
    // show.
    const decider = createDecider(TABLE, fakePolicies(), () => 0);
    fc.assert(
      fc.property(
        fitting,
        fc.constantFrom(...OPERATIONS),
        fc.constantFrom(...ROUTES, "nowhere", ""),
        ([grant, requested], operation, name) => {
          const parent: Identity = {
            ...identity,
            scopes: new Set(["inference", "catalogue:read"]),
          };
          const given = narrow(parent, grant, requested);
          if ("field" in given) throw new Error(`refused: ${given.field}`);
          const holder = holderOf(parent, given);
          const question = {
            model: name,
            preferences: null,
            shape: shape({ operation, dimensions: operation === "embeddings" ? 8 : null }),
          };
          const own = decider.decideRequest(parent, question);
          const decision = decider.decideRequest(holder, question);
          const asNamed = name === "" && operation === "moderations" ? "s" : name;
          const isLeft = allowsOperation(holder, operation) && allowsRoute(holder, asNamed);
          if (isLeft) expect(decision).toEqual(own);
          else
            expect(decision).toMatchObject({
              outcome: "deny",
              denial: { reason: "model_not_found" },
            });
          if (decision.outcome === "route") {
            expect(own.outcome).toBe("route");
            expect(given.routes === null || given.routes.includes(decision.route)).toBe(true);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("gets the key's catalogue without the routes and operations beyond the token's grant", () => {
    fc.assert(
      fc.property(fitting, ([grant, requested]) => {
        const given = narrow(identity, grant, requested);
        if ("field" in given) throw new Error(`refused: ${given.field}`);
        const holder = holderOf(identity, given);
        const own = usableRoutes(TABLE, identity, OPERATIONS);
        const seen = usableRoutes(TABLE, holder, OPERATIONS);
        const expected = own.flatMap(({ route: { id }, operations }) => {
          const left = operations.filter((operation) => allowsOperation(holder, operation));
          return allowsRoute(holder, id) && left.length > 0 ? [{ id, left }] : [];
        });
        expect(seen.map(({ route: { id }, operations }) => ({ id, left: operations }))).toEqual(
          expected,
        );
        for (const { operations } of seen) {
          for (const operation of operations) expect(MODEL_OPERATION_OF[operation]).toBeDefined();
        }
      }),
      { numRuns: 500 },
    );
    expect(usableRoutes(TABLE, identity, OPERATIONS).length).toBe(3);
  });

  it("must send exactly its origin", () => {
    const bound = {
      ...identity,
      narrowed: {
        tokenId: "t",
        operations: null,
        routes: null,
        origin: "https://a.example",
        ceilings: { requests: null, tokens: null },
      },
    };
    expect(matchesOrigin(bound, "https://a.example")).toBe(true);
    for (const origin of [
      undefined,
      "",
      "null",
      "https://a.example/",
      "https://A.example",
      "http://a.example",
    ]) {
      expect(matchesOrigin(bound, origin)).toBe(false);
    }
    expect(matchesOrigin(identity, undefined)).toBe(true);
  });
});

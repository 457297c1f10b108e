import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { CompiledPolicies } from "../../src/policy/compile-policies.ts";
import { compiledSides } from "../../src/simulate/side-contents.ts";
import { decideBothWays } from "./every-request.ts";
import { randomAssertions } from "./random-assertions.ts";
import { narrowings, policyPool, relations, twoSides } from "./random-sides.ts";

describe("classes stand for every request of the product", () => {
  let pool: readonly CompiledPolicies[];
  beforeAll(async () => {
    pool = await policyPool();
  }, 120_000);

  it("gives the same changes and violations, for as many requests, as deciding each of them on both sides", async () => {
    const sums = { changed: 0, collapsed: 0, violating: 0, kept: 0, ending: 0 };
    await fc.assert(
      fc.asyncProperty(
        twoSides,
        narrowings,
        randomAssertions,
        relations,
        async (drawn, narrow, assertions, relation) => {
          const none = { policies: [], modules: [] };
          const base = {
            table: drawn.base.table,
            policies: pool[22 + (drawn.base.policies % 3)] ?? none,
          };
          const head = {
            table: drawn.head.table,
            policies: pool[22 + (drawn.head.policies % 3)] ?? none,
          };
          const both = await decideBothWays(base, head, narrow, assertions, relation);
          const { contents } = compiledSides(base, head, relation.fresh).head;
          if (contents.some(({ isKept }) => isKept)) sums.kept += 1;
          if (contents.some(({ rules }) => rules === null)) sums.ending += 1;
          expect(both.found).toEqual(both.expected);
          sums.changed += both.changed;
          sums.collapsed += both.requests - both.classes;
          sums.violating += both.violating;
        },
      ),
      { numRuns: 120 },
    );
    // Otherwise the property is about nothing.
  }, 1_500_000);
});

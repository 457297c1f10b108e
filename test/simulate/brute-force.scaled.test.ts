import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { CompiledPolicies } from "../../src/policy/compile-policies.ts";
import { compiledSides } from "../../src/simulate/side-contents.ts";
import { fewOrMany } from "../support/long.ts";
import { decideBothWays } from "./every-request.ts";
import { randomAssertions } from "./random-assertions.ts";
import { narrowings, policyPool, relations, twoSides } from "./random-sides.ts";

describe("classes cover every request of the product", () => {
  let pool: readonly CompiledPolicies[];
  beforeAll(async () => {
    pool = await policyPool();
  }, 120_000);

  it("have the same changes, violations and verdicts, for as many requests, as deciding each of them on both sides", async () => {
    const sums = { changed: 0, collapsed: 0, violating: 0, kept: 0, ending: 0 };
    await fc.assert(
      fc.asyncProperty(
        twoSides,
        narrowings,
        randomAssertions,
        relations,
        async (drawn, narrow, assertions, relation) => {
          const none = { policies: [], modules: [] };
          const base = { table: drawn.base.table, policies: pool[drawn.base.policies] ?? none };
          const head = { table: drawn.head.table, policies: pool[drawn.head.policies] ?? none };
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
      { numRuns: fewOrMany(8, 150) },
    );
    // Otherwise the property is about nothing.
    expect(sums.changed).toBeGreaterThan(fewOrMany(-1, 200));
    expect(sums.collapsed).toBeGreaterThan(fewOrMany(0, 5_000));
    expect(sums.violating).toBeGreaterThan(fewOrMany(-1, 500));
    expect(sums.kept).toBeGreaterThan(fewOrMany(-1, 15));
    expect(sums.ending).toBeGreaterThan(fewOrMany(-1, 7));
  }, 900_000);
});

import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { conditionsText } from "../../../../src/cli/simulate/formats/screen/conditions.ts";
import { modelOf } from "../../../../src/cli/simulate/formats/model.ts";
import type { RoutingTable } from "../../../../src/canon/table.ts";
import type { CompiledPolicies } from "../../../../src/policy/compile-policies.ts";
import { changeKinds, destinationsOf } from "../../../../src/simulate/compare/change-kinds.ts";
import { groupKey } from "../../../../src/simulate/compare/comparison-tally.ts";
import { decideSample, outcomeOf } from "../../../../src/simulate/decide-sample.ts";
import { PLAIN_SCALARS } from "../../../../src/simulate/request-scalars.ts";
import type { Side } from "../../../../src/simulate/request.ts";
import { preferenceValues, type SampleRequest } from "../../../../src/simulate/sample-request.ts";
import { compiledSides, type CompiledSides } from "../../../../src/simulate/side-contents.ts";
import { textDigest } from "../../../../src/simulate/text-digest.ts";
import { sideViews } from "../../../../src/simulate/views.ts";
import { policyPool, twoSides } from "../../../simulate/random-sides.ts";
import { simulate } from "../../../simulate/small-sides.ts";
import { fewOrMany } from "../../../support/long.ts";

let pool: readonly CompiledPolicies[] = [];

beforeAll(async () => {
  pool = await policyPool();
});

function sideOf({ table, policies }: { table: RoutingTable; policies: number }): Side {
  const compiled = pool[policies];
  if (compiled === undefined) throw new Error("no such policies");
  const files = { routes: { path: "routes.yaml", text: "" }, policies: [] };
  return { name: ".", commit: null, table, policies: compiled, files, warnings: [] };
}

/** The id of the group that a request is in, as declared. */
async function groupsBy({ base, head }: CompiledSides): Promise<(sample: SampleRequest) => string> {
  const views = await Promise.all([base, head].map((side) => sideViews(side, () => false)));
  const destinations = { base: destinationsOf(base.table), head: destinationsOf(head.table) };
  return (sample) => {
    const [was, is] = [base, head].map(({ table }, index) => {
      const policies = views[index]?.declared;
      if (policies === undefined) throw new Error("no such view");
      return outcomeOf(decideSample(table, policies, sample));
    });
    if (was === undefined || is === undefined) throw new Error("two sides");
    const kinds = changeKinds(was, is, destinations);
    return textDigest(groupKey({ base: was, head: is, kinds }));
  };
}

const PREFERENCES = new Set(preferenceValues(null).map(([name]) => name));

it("a line has no fewer conditions than its requests: none without all plain requests, and none of several is lost", async () => {
  const met = { groups: 0, plain: 0, several: 0 };
  await fc.assert(
    fc.asyncProperty(twoSides, async ({ base, head }) => {
      const [before, after] = [sideOf(base), sideOf(head)];
      const report = modelOf(await simulate(before, after));
      const groupOf = await groupsBy(compiledSides(before, after, false, null));
      for (const group of report.declared.groups) {
        const { example, conditions, id } = group;
        const text = conditionsText([group], report);
        met.groups += 1;
        const plain: SampleRequest = {
          ...example,
          ...PLAIN_SCALARS,
          preferences: null,
          needs: [],
          signatureFamilies: [],
          dimensions: null,
          key: { ...example.key, labels: [] },
        };
        if (text === "") {
          met.plain += 1;
          expect([groupOf(plain), plain]).toEqual([id, plain]);
          continue;
        }
        // What callers set, or that it is only some of those with preferences.
        const chosen = Object.keys(example.preferences ?? {});
        if (chosen.length > 0 && groupOf(plain) !== id && !text.includes("some callers"))
          for (const name of chosen) expect(text).toContain(name);
        const own = conditions.filter(({ dimension }) => !PREFERENCES.has(dimension));
        const isNeeding = own.some(({ dimension }) => ["needs", "features"].includes(dimension));
        if (own.length > 2) met.several += 1;
        for (const { dimension } of own)
          if (dimension !== "time" && dimension !== "denied_for") expect(text).toContain(dimension);
          else if (dimension === "time") expect(text).toMatch(/only (?:on|in|at) /);
          else if (!isNeeding) expect(text).toContain("only with ");
      }
    }),
    { numRuns: fewOrMany(6, 120), seed: 7, endOnFailure: true },
  );
  expect(met.plain).toBeGreaterThan(0);
  expect(met.several).toBeGreaterThan(0);
});

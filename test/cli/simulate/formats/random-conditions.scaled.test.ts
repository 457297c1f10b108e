import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { conditionsText } from "../../../../src/cli/simulate/formats/screen/conditions.ts";
import { modelOf } from "../../../../src/cli/simulate/formats/model.ts";
import { BUDGET_STEPS } from "../../../../src/canon/limits.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../../../src/canon/policy.ts";
import type { CompiledPolicies } from "../../../../src/policy/compile-policies.ts";
import { changeKinds, destinationsOf } from "../../../../src/simulate/compare/change-kinds.ts";
import { groupKey } from "../../../../src/simulate/compare/comparison-tally.ts";
import { decideSample, outcomeOf } from "../../../../src/simulate/decide-sample.ts";
import { PLAIN_SCALARS } from "../../../../src/simulate/request-scalars.ts";
import type { ChangeGroup } from "../../../../src/simulate/report/report.ts";
import { preferenceValues, type SampleRequest } from "../../../../src/simulate/sample-request.ts";
import { compiledSides, type CompiledSides } from "../../../../src/simulate/side-contents.ts";
import { textDigest } from "../../../../src/simulate/text-digest.ts";
import { sideViews } from "../../../../src/simulate/views.ts";
import { policyPool, sideOfFacts, twoSides } from "../../../simulate/random-sides.ts";
import { simulate } from "../../../simulate/small-sides.ts";
import { fewOrMany } from "../../../support/long.ts";

let pool: readonly CompiledPolicies[] = [];

beforeAll(async () => {
  pool = await policyPool();
});

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

/** Plain requests of a group's first workspace, route and operation, with every key and hour. */
function* plainRequests({ example }: ChangeGroup): Generator<SampleRequest> {
  const { budget: _, ...plain } = {
    ...example,
    ...PLAIN_SCALARS,
    preferences: null,
    needs: [],
    signatureFamilies: [],
    dimensions: null,
  };
  for (const environment of ["production", "staging", "testing", "other"])
    for (const workload of ["web", "batch", ""])
      for (const owner of [{}, { owner: "group:pay" }, { owner: "group:web" }, { owner: "eu" }])
        for (const labels of [[], ["eu"], ["vip"], ["eu", "vip"]])
          for (const budget of BUDGET_STEPS)
            for (const day of DAY_BUCKETS)
              for (const hour of HOUR_BUCKETS)
                yield {
                  ...plain,
                  key: { environment, workload, labels, ...owner },
                  time: { ...example.time, day, hour },
                  ...(budget === "unlimited" ? {} : { budget }),
                };
}

function meets(
  { key, time, budget = "unlimited", ...sample }: SampleRequest,
  { dimension, values }: ChangeGroup["conditions"][number],
): boolean {
  if (dimension === "key_labels") return values.every((label) => key.labels.includes(label));
  if (dimension === "without_key_labels")
    return !values.some((label) => key.labels.includes(label));
  const found = new Map<string, string>([
    ["environment", key.environment],
    ["workload", key.workload || "other"],
    ["owner", key.owner ?? "other"],
    ["budget", budget],
    ["time", `${time.day} ${time.hour}`],
    ["stream", String(sample.stream)],
    ["context", sample.context],
    ["max_output", sample.maxOutput],
    ["reasoning_effort", sample.reasoningEffort],
  ]);
  return values.includes(found.get(dimension) ?? "");
}

it(
  "a line without a condition stands for every plain request; one of several conditions is named",
  { timeout: 300_000 },
  async () => {
    const met = { plain: 0, all: 0, any: 0, some: 0 };
    await fc.assert(
      fc.asyncProperty(twoSides, async ({ base, head }) => {
        const [before, after] = [sideOfFacts(base, pool), sideOfFacts(head, pool)];
        const report = modelOf(await simulate(before, after));
        const groupOf = await groupsBy(compiledSides(before, after, false, null));
        for (const group of report.declared.groups) {
          const { id, example, plain_requests: plain } = group;
          // Local clocks of the example are those of its hour.
          if (example.time.local !== undefined) continue;
          const text = conditionsText([group], report);
          const isPlain = text === "";
          if (!isPlain && plain === undefined) continue;
          if (plain?.any === true && plain.conditions.length === 0) {
            met.some += 1;
            if (example.preferences === null) expect(text).toContain("some callers");
            continue;
          }
          met[isPlain ? "plain" : plain?.any === true ? "any" : "all"] += 1;
          const { any = false, conditions = [] } = plain ?? {};
          for (const sample of plainRequests(group)) {
            const has = (one: ChangeGroup["conditions"][number]): boolean => meets(sample, one);
            const isMeant = any ? conditions.some(has) : conditions.every(has);
            expect([groupOf(sample) === id, text, sample]).toEqual([isMeant, text, sample]);
          }
          if (any)
            for (const { dimension } of conditions)
              if (dimension !== "time") expect(text).toContain(dimension.replace("without_", ""));
        }
      }),
      { numRuns: fewOrMany(6, 60), seed: 7, endOnFailure: true },
    );
    expect(met.plain).toBeGreaterThan(0);
    expect(met.all + met.any).toBeGreaterThan(0);
  },
);

it(
  "a line has no fewer conditions than its requests: none without all plain requests, and none of several is lost",
  { timeout: 300_000 },
  async () => {
    const met = { groups: 0, plain: 0, several: 0 };
    await fc.assert(
      fc.asyncProperty(twoSides, async ({ base, head }) => {
        const [before, after] = [sideOfFacts(base, pool), sideOfFacts(head, pool)];
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
            if (dimension !== "time" && dimension !== "denied_for")
              expect(text).toContain(dimension);
            else if (dimension === "time") expect(text).toMatch(/only (?:on|in|at) /);
            else if (!isNeeding) expect(text).toContain("only with ");
        }
      }),
      { numRuns: fewOrMany(6, 120), seed: 7, endOnFailure: true },
    );
    expect(met.plain).toBeGreaterThan(0);
    expect(met.several).toBeGreaterThan(0);
  },
);

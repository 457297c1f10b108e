import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { RoutingTable } from "../../src/canon/table.ts";
import type { CompiledPolicies } from "../../src/policy/compile-policies.ts";
import type { ComparisonTally } from "../../src/simulate/compare/comparison-tally.ts";
import type { SimulationTally } from "../../src/simulate/compare/simulation-tally.ts";
import { decideJobs } from "../../src/simulate/jobs/decide-jobs.ts";
import { type JobInput, jobRunner } from "../../src/simulate/jobs/job-runner.ts";
import { coverageFacts, unusedRuleFindings } from "../../src/simulate/report/unused-findings.ts";
import { locationsOf } from "../../src/simulate/explain/positions.ts";
import { compiledSides } from "../../src/simulate/side-contents.ts";
import { policyPool, relations, twoSides } from "./random-sides.ts";
import { WATCH } from "./small-sides.ts";

const NOWHERE = locationsOf({ routes: { path: "routes.yaml", text: "" }, policies: [] });

/** What a report shows of a tally, but for numbers of classes. */
function shown({ base, head }: JobInput, tally: SimulationTally): unknown {
  const comparison = ({
    changedShapes,
    groups,
    basePaths,
    headPaths,
    gains,
    loses,
  }: ComparisonTally): unknown => [
    changedShapes,
    gains,
    loses,
    [...groups].map(([key, { shapes }]) => `${key} ${shapes}`).toSorted(),
    [...headPaths.keys()].filter((key) => !basePaths.has(key)).toSorted(),
    [...basePaths.keys()].filter((key) => !headPaths.has(key)).toSorted(),
  ];
  return [
    tally.shapes,
    comparison(tally.declared),
    comparison(tally.promoted),
    unusedRuleFindings(base, tally.usage.base, head, tally.usage.head, NOWHERE),
    coverageFacts(head, tally.usage.head),
  ];
}

function withRoute(table: RoutingTable, other: RoutingTable): RoutingTable {
  const { t } = other.routes;
  return { ...table, routes: { ...table.routes, ...(t === undefined ? {} : { t }) } };
}

describe("unchanged jobs", () => {
  let pool: readonly CompiledPolicies[];
  beforeAll(async () => {
    pool = await policyPool();
  }, 240_000);

  it("are omitted without a difference in the report", async () => {
    let leftOut = 0;
    let changed = 0n;
    await fc.assert(
      fc.asyncProperty(
        twoSides,
        relations,
        fc.boolean(),
        async (drawn, { fresh, promoted }, isOneRoute) => {
          const none = { policies: [], modules: [] };
          const base = { table: drawn.base.table, policies: pool[drawn.base.policies] ?? none };
          // Of sides that differ in one route only, the requests for the others are omitted.
          const head = isOneRoute
            ? { ...base, table: withRoute(base.table, drawn.head.table) }
            : { table: drawn.head.table, policies: pool[drawn.head.policies] ?? none };
          const input: JobInput = {
            ...compiledSides(base, head, fresh),
            promoted,
            assertions: [],
            deadline: Infinity,
          };
          const whole = jobRunner(input);
          await whole.load();
          for (const index of whole.space.jobs.keys()) whole.run(index);
          const all = whole.takeTally();
          const { tally, cut } = await decideJobs(jobRunner(input), { workers: 1 }, WATCH, true);
          expect(cut).toEqual([]);
          expect(shown(input, tally)).toEqual(shown(input, all));
          leftOut += all.classes - tally.classes;
          changed += tally.declared.changedShapes;
        },
      ),
      { numRuns: 25 },
    );
    // Otherwise the property is about nothing.
    expect(leftOut).toBeGreaterThan(10);
    expect(changed).toBeGreaterThan(0n);
  }, 240_000);
});

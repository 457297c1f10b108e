import { expect, it } from "vitest";
import { costliestPolicy, widestRoute } from "../../src/simulate/jobs/decide-jobs.ts";
import { compiledSides } from "../../src/simulate/side-contents.ts";
import { planSpace } from "../../src/simulate/space/job-space.ts";
import { policySource } from "../policy/samples.ts";
import { table } from "../support/table.ts";
import { compiledSources, sideOf } from "./small-sides.ts";

const reads = policySource(
  "reads",
  { all: "{effect: gate, reasons: [NO]}" },
  "pass.all if input.request.stream",
);
const joins = policySource(
  "joins",
  { all: "{effect: gate, reasons: [NO]}" },
  'pass.all if not startswith(concat(" ", input.request.needs), "x")',
);

it("the policy that was evaluated most is named with the member by which it distinguishes most requests", async () => {
  const policies = await compiledSources([reads, joins]);
  const { table: rows } = await sideOf(table());
  const sides = compiledSides({ table: rows, policies }, { table: rows, policies }, true);
  const space = planSpace(sides.base, sides.head, []);
  const evaluations = new Map([
    ["reads", 2],
    ["joins", 5_000],
  ]);
  const needs = space.universe.operations.get("chat.completions")?.needs.length ?? 0;
  expect(costliestPolicy({ evaluations }, sides, space)).toEqual({
    policy: "joins",
    evaluations: 5_000,
    dimension: "needs",
    distinguished: 2 ** needs,
  });
  expect(costliestPolicy({ evaluations: new Map([["reads", 2]]) }, sides, space)?.dimension).toBe(
    "stream",
  );
  expect(costliestPolicy({ evaluations: new Map() }, sides, space)).toBeNull();
});

it("a route is named where its callers can leave more sets of providers than a policy distinguishes values", async () => {
  const { table: rows } = await sideOf(table());
  const policies = { policies: [], modules: [] };
  const sides = compiledSides({ table: rows, policies }, { table: rows, policies }, true);
  const { jobs } = planSpace(sides.base, sides.head, []);
  expect(widestRoute(jobs, rows, { distinguished: 2 })).toEqual({
    route: "r",
    providers: 2,
    sets: 3,
  });
  expect(widestRoute(jobs, rows, null)?.route).toBe("r");
  expect(widestRoute(jobs, rows, { distinguished: 3 })).toBeNull();
  expect(widestRoute([], rows, null)).toBeNull();
});

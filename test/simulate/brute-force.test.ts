import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { changeWords, destinationsOf } from "../../src/simulate/compare/change-words.ts";
import type { Outcome, RequestPoint } from "../../src/simulate/point.ts";
import { SideDecider, type SideOutcomes } from "../../src/simulate/side-decider.ts";
import { JobClasses } from "../../src/simulate/space/classes.ts";
import { planSpace } from "../../src/simulate/space/make-space.ts";
import type { OperationUniverse, Universe } from "../../src/simulate/space/universe.ts";
import { sideStandpoints, type CompiledSide } from "../../src/simulate/standpoints.ts";
import type { CompiledPolicies } from "../../src/policy/compile-policies.ts";
import { narrowings, policyPool, twoSides } from "./random-sides.ts";

/** Every subset, in no order that matters. */
function subsets<Value>(values: readonly Value[]): readonly (readonly Value[])[] {
  return values.reduce<readonly (readonly Value[])[]>(
    (all, value) => [...all, ...all.map((set) => [...set, value])],
    [[]],
  );
}

/** The whole product, written out without any of the engine's shortcuts. */
function* everyPoint(universe: Universe, sides: readonly CompiledSide[]): Generator<RequestPoint> {
  for (const workspace of universe.workspaces)
    for (const model of universe.models)
      for (const [operation, own] of universe.operations) {
        if (model === "") continue;
        for (const part of everyShape(own))
          for (const preferences of everyPreference(universe, sides, workspace, model))
            for (const environment of universe.environments)
              for (const workload of universe.workloads)
                for (const labels of subsets(universe.labels))
                  for (const time of universe.times)
                    yield {
                      workspace,
                      model,
                      operation,
                      ...part,
                      preferences,
                      key: { environment, workload, labels },
                      time,
                    };
      }
}

type Shape = Omit<RequestPoint, "workspace" | "model" | "operation" | "preferences" | "key" | "time">;

function* everyShape(own: OperationUniverse): Generator<Shape> {
  for (const needs of subsets(own.needs))
    for (const features of subsets(own.features))
      for (const signatureFamilies of features.includes("signed_reasoning") ? own.signatureFamilies : [[]])
        for (const stream of own.stream)
          for (const context of own.context)
            for (const maxOutput of own.maxOutput)
              yield {
                needs: needs.toSorted(),
                features: features.toSorted(),
                signatureFamilies,
                stream,
                context,
                maxOutput,
                reasoningEffort: "unspecified",
                dimensions: null,
              };
}

function everyPreference(
  { preferences }: Universe,
  sides: readonly CompiledSide[],
  workspace: string,
  model: string,
): readonly RequestPoint["preferences"][] {
  const providers = new Set<string>();
  for (const { table } of sides) {
    if (table.workspaces[workspace]?.approve.routes.includes(model) !== true) continue;
    for (const id of table.routes[model]?.tiers.flatMap(({ endpoints }) => endpoints) ?? []) {
      providers.add(table.endpoints[id]?.provider ?? "");
    }
  }
  const all: RequestPoint["preferences"][] = [];
  for (const only of [null, ...(preferences.only ? providers : [])])
    for (const allow_fallbacks of preferences.allowFallbacks)
      for (const data_collection of preferences.dataCollection)
        for (const zdr of preferences.zdr)
          all.push({ ...(only === null ? {} : { only: [only] }), allow_fallbacks, data_collection, zdr });
  return all;
}

describe("classes stand for every request of the product", () => {
  let pool: readonly CompiledPolicies[];
  beforeAll(async () => {
    pool = await policyPool();
  }, 120_000);

  it("gives the same changes, for as many requests, as deciding each of them on both sides", async () => {
    let changed = 0;
    let collapsed = 0;
    await fc.assert(
      fc.asyncProperty(twoSides, narrowings, async (drawn, narrow) => {
        const none = { policies: [], modules: [] };
        const base = { table: drawn.base.table, policies: pool[drawn.base.policies] ?? none };
        const head = { table: drawn.head.table, policies: pool[drawn.head.policies] ?? none };
        const { space, jobs } = planSpace(base, head, [], narrow);
        const deciders = await Promise.all(
          [base, head].map(async (side) => new SideDecider(side.table, await sideStandpoints(side, () => true))),
        );
        const line = liner(base, head);
        const expected = new Map<string, bigint>();
        for (const point of everyPoint(space.universe, [base, head])) {
          const [before, after] = deciders.map((decider) => decider.decide(point));
          add(expected, line(point, before, after), 1n);
        }
        const found = new Map<string, bigint>();
        for (const job of jobs) {
          const classes = new JobClasses(space, job);
          for (const decider of deciders) decider.beginJob();
          let shapes = 0n;
          let count = 0;
          for (const { point, size, stateKeys } of classes.classes()) {
            const [before, after] = deciders.map((decider, place) =>
              decider.decideClass(stateKeys[place] ?? "", point),
            );
            for (const member of job.pair.members) add(found, line({ ...point, ...member }, before, after), size);
            shapes += size;
            count += 1;
          }
          expect(shapes).toBe(classes.shapes);
          expect(count).toBe(classes.count);
          collapsed += Number(shapes) - count;
        }
        changed += [...found.keys()].filter((key) => !key.includes("[[],[]]")).length;
        expect(sorted(found)).toEqual(sorted(expected));
      }),
      { numRuns: 250 },
    );
    // Otherwise the property is about nothing.
    expect(changed).toBeGreaterThan(1_000);
    expect(collapsed).toBeGreaterThan(10_000);
  }, 240_000);
});

/** What a comparison says of a request, without the names that a class of several routes may have in another order. */
function liner(base: CompiledSide, head: CompiledSide) {
  const destinations = { base: destinationsOf(base.table), head: destinationsOf(head.table) };
  const shown = ({ plan, denial, edits, indeterminate }: Outcome): unknown => [
    plan.map(({ provider, region, tier }) => [provider, region, tier]),
    denial,
    edits,
    indeterminate,
  ];
  return (point: RequestPoint, before?: SideOutcomes, after?: SideOutcomes): string => {
    if (before === undefined || after === undefined) throw new Error("a side is missing");
    const words = (["declared", "promoted"] as const).map((at) => changeWords(before[at], after[at], destinations));
    const outcomes = [before.declared, after.declared, before.promoted, after.promoted].map(shown);
    return JSON.stringify([words, point.workspace, point.model, point.operation, outcomes]);
  };
}

function add(counts: Map<string, bigint>, key: string, size: bigint): void {
  counts.set(key, (counts.get(key) ?? 0n) + size);
}

function sorted(counts: ReadonlyMap<string, bigint>): readonly string[] {
  return [...counts].map(([key, size]) => `${size} ${key}`).toSorted();
}

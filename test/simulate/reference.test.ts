import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { CompiledPolicies } from "../../src/policy/compile-policies.ts";
import { changeKinds, destinationsOf } from "../../src/simulate/compare/change-kinds.ts";
import { emptyUsage, type UsageTally } from "../../src/simulate/compare/simulation-tally.ts";
import { Budget } from "../../src/simulate/diagram/budget.ts";
import { DecidedClasses } from "../../src/simulate/diagram/decided-classes.ts";
import { assertionDistinctions } from "../../src/simulate/jobs/job-runner.ts";
import type { Outcome } from "../../src/simulate/sample-request.ts";
import { SideDecider, type SideOutcomes } from "../../src/simulate/decide-sample.ts";
import { compiledSides } from "../../src/simulate/side-contents.ts";
import { JobSpace, type Job } from "../../src/simulate/space/job-space.ts";
import { planSpace } from "../../src/simulate/space/make-space.ts";
import { sideViews } from "../../src/simulate/views.ts";
import { randomAssertions } from "./random-assertions.ts";
import { narrowings, policyPool, relations, twoSides } from "./random-sides.ts";
import { ClassDecider } from "./reference/class-decider.ts";
import { JobClasses } from "./reference/product-classes.ts";

/** How many requests of each workspace, route and operation change in which way, in both views. */
class Counts {
  readonly #counts = new Map<string, bigint>();
  readonly #kindsOf: (base: Outcome, head: Outcome) => readonly string[];
  changed = 0n;

  constructor(kindsOf: (base: Outcome, head: Outcome) => readonly string[]) {
    this.#kindsOf = kindsOf;
  }

  add({ pair, operation }: Job, base: SideOutcomes, head: SideOutcomes, size: bigint): void {
    const kinds = [
      this.#kindsOf(base.declared, head.declared),
      this.#kindsOf(base.promoted, head.promoted),
    ];
    if (kinds.every(({ length }) => length === 0)) return;
    const key = JSON.stringify([pair.members, operation, kinds]);
    this.#counts.set(key, (this.#counts.get(key) ?? 0n) + size);
    this.changed += size;
  }

  get lines(): readonly string[] {
    return [...this.#counts].map(([key, size]) => `${size} ${key}`).toSorted();
  }
}

function usageLines(usage: UsageTally): unknown {
  return Object.entries(usage).map(([name, ids]) => [name, [...ids].map(String).toSorted()]);
}

describe("diagrams", () => {
  let pool: readonly CompiledPolicies[];
  beforeAll(async () => {
    pool = await policyPool();
  }, 240_000);

  it("come to the same numbers of requests and the same verdicts as the product of all values", async () => {
    let changed = 0n;
    await fc.assert(
      fc.asyncProperty(
        twoSides,
        narrowings,
        randomAssertions,
        relations,
        async (drawn, narrow, assertions, { fresh, promoted }) => {
          const none = { policies: [], modules: [] };
          const base = { table: drawn.base.table, policies: pool[drawn.base.policies] ?? none };
          const head = { table: drawn.head.table, policies: pool[drawn.head.policies] ?? none };
          const sides = compiledSides(base, head, fresh);
          const before = await sideViews(sides.base, () => promoted === null);
          const after = await sideViews(
            sides.head,
            (id) => promoted === null || promoted.includes(id),
          );
          const { space, jobs } = planSpace(
            sides.base,
            sides.head,
            assertionDistinctions(assertions, sides),
            (whole) => {
              const small = narrow(whole);
              return { ...small, labels: whole.labels, times: whole.times };
            },
          );
          const destinations = {
            base: destinationsOf(base.table),
            head: destinationsOf(head.table),
          };
          const kindsOf = (left: Outcome, right: Outcome) => changeKinds(left, right, destinations);

          const reference = { counts: new Counts(kindsOf), base: emptyUsage(), head: emptyUsage() };
          const left = new ClassDecider(base.table, before, reference.base);
          const right = new ClassDecider(head.table, after, reference.head);
          const found = { counts: new Counts(kindsOf), base: emptyUsage(), head: emptyUsage() };
          const loaded = {
            base: { decider: new SideDecider(base.table, before), views: before },
            head: { decider: new SideDecider(head.table, after), views: after },
          };
          const engine = new DecidedClasses(space, loaded, new Budget(Infinity));
          for (const job of jobs) {
            left.beginJob();
            right.beginJob();
            for (const { sample, size, stateKeys } of new JobClasses(space, job).classes()) {
              const outcomes = left.decideClass(stateKeys[0] ?? "", sample);
              reference.counts.add(
                job,
                outcomes,
                right.decideClass(stateKeys[1] ?? "", sample),
                size,
              );
            }
            for (const one of engine.of(new JobSpace(space, job), found)) {
              found.counts.add(job, one.base, one.head, one.size);
            }
          }
          expect(found.counts.lines).toEqual(reference.counts.lines);
          expect(usageLines(found.base)).toEqual(usageLines(reference.base));
          expect(usageLines(found.head)).toEqual(usageLines(reference.head));
          changed += found.counts.changed;
        },
      ),
      { numRuns: 60 },
    );
    // Otherwise the property is about nothing.
    expect(changed).toBeGreaterThan(10_000n);
  }, 240_000);
});

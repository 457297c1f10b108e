import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  runAssertions,
  mergeTallies,
  type AssertionTally,
} from "../../../src/simulate/assertions/run.ts";
import { assertionResults, assertionsReport } from "../../../src/simulate/assertions/run.ts";
import type { ClassComparison } from "../../../src/simulate/sample-request.ts";
import {
  assertionsOf,
  comparisonOf,
  denied,
  NOW,
  pairOf,
  pointWith,
  routed,
  TABLE,
} from "./samples.ts";

const FILE = `version: 1
assertions:
  - { kind: no_new_access, id: new, title: T, except: { labels: [eu] } }
  - { kind: access_not_granted, id: granted, title: T, to: { regions: [us] }, for: { tiers: [regulated] } }
  - { kind: always_routable, id: routable, title: T, view: promoted }
  - { kind: implies, id: implied, title: T, if: { outcome: deny }, then: { denied_by: { policy: approvals } } }
  - kind: cases
    id: points
    title: T
    cases: [{ request: { workspace: demo, model: chat-large, operation: responses }, expect: { outcome: route } }]
  - { kind: equivalent, id: same, title: T, view: declared, may_be_empty: true }
`;
const assertions = assertionsOf(FILE);
const tables = { base: TABLE, head: TABLE };

const outcome = fc.constantFrom(
  routed(["gpt-5-us"]),
  routed(["gpt-5-eu"]),
  routed(["gpt-5-us", "mistral-large-eu"]),
  denied(),
  denied("eu-residency", "processed_in_eu", "REGION_NOT_IN_EU"),
);
const pair = fc
  .tuple(outcome, outcome)
  .map(([base, head]) =>
    pairOf(base, head, ...(base === head ? [] : (["primary_changed"] as const))),
  );
const comparison: fc.Arbitrary<ClassComparison> = fc
  .tuple(pair, pair, fc.constantFrom("demo", "acme-dev", "acme-prod"), fc.boolean())
  .map(([declared, promoted, workspace, stream]) =>
    comparisonOf(declared, pointWith({ workspace, stream }), promoted),
  );

function tallyOf(comparisons: readonly ClassComparison[]): AssertionTally {
  const run = runAssertions(assertions, tables);
  for (const each of comparisons) run.visit(each);
  return run.snapshot();
}

describe("tallies", () => {
  test("are the same for every distribution of the classes", () => {
    fc.assert(
      fc.property(
        fc.array(comparison, { maxLength: 30 }),
        fc.array(fc.nat({ max: 30 }), { maxLength: 6 }),
        (comparisons, cuts) => {
          const bounds = [
            0,
            ...cuts.map((cut) => Math.min(cut, comparisons.length)),
            comparisons.length,
          ].toSorted((left, right) => left - right);
          const parts = bounds.slice(1).map((end, index) => comparisons.slice(bounds[index], end));
          const merged = mergeTallies(parts.map((part) => structuredClone(tallyOf(part))));
          expect(merged).toEqual(tallyOf(comparisons));
          // Workers may add up what they have before they hand it over.
          const [first, ...others] = parts.map(tallyOf);
          expect(mergeTallies([first ?? [], mergeTallies([tallyOf([]), ...others])])).toEqual(
            merged,
          );
          expect(JSON.parse(JSON.stringify(merged))).toEqual(merged);
        },
      ),
    );
  });

  test("of a new violation equal a count of its classes one by one", () => {
    fc.assert(
      fc.property(fc.array(comparison, { maxLength: 20 }), (comparisons) => {
        const [fresh] = tallyOf(comparisons);
        const meant = comparisons.filter(({ sample }) => sample.workspace !== "acme-prod");
        const bad = meant.filter((each) =>
          [each.declared, each.promoted].some(({ base, head }) =>
            head.plan.some(
              (candidate) => !base.plan.some((before) => before.provider === candidate.provider),
            ),
          ),
        );
        expect(fresh).toMatchObject({ id: "new", classes: meant.length, violations: bad.length });
        expect(fresh?.first?.sample).toEqual(bad[0]?.sample);
      }),
    );
  });

  test("of different assertions cannot be merged", () => {
    const [first, second, ...others] = tallyOf([]);
    if (first === undefined || second === undefined) throw new Error("no tally");
    expect(() => mergeTallies([tallyOf([]), [second, first, ...others]])).toThrow(
      "not of the same assertions",
    );
    expect(() => mergeTallies([tallyOf([]), []])).toThrow("not of the same assertions");
  });

  test("of no part are empty, and a result without its tally throws", () => {
    expect(mergeTallies([])).toEqual([]);
    expect(() => assertionResults(assertions, [], [], NOW, () => [])).toThrow(
      "the tally lacks assertion new",
    );
  });

  test("have the first violation in the order of the classes as their example", () => {
    const bad = (stream: boolean) =>
      comparisonOf(pairOf(denied(), denied()), pointWith({ stream }));
    const [, , routable] = mergeTallies([tallyOf([]), tallyOf([bad(true)]), tallyOf([bad(false)])]);
    expect(routable?.first?.sample.stream).toBe(true);
  });
});

describe("waivers", () => {
  const waived = (until: string) =>
    assertionsOf(
      `version: 1\nassertions:\n  - { kind: always_routable, id: a, title: T, waiver: { until: ${until}, reason: R, owner: O } }\n`,
    );
  const result = (until: string, now: string, passes: boolean) => {
    const rows = waived(until);
    const run = runAssertions(rows, tables);
    const head = passes ? routed(["gpt-5-us"]) : denied();
    run.visit(comparisonOf(pairOf(head, head)));
    return assertionResults(rows, run.snapshot(), [], new Date(now), ({ workspace }) => [
      "explain",
      workspace,
    ])[0];
  };

  test.for([
    ["2026-11-22", "2026-11-22T00:00:00Z", "WAIVED", false],
    ["2026-11-22", "2026-11-22T23:59:59.999Z", "WAIVED", false],
    ["2026-11-22", "2026-11-23T00:00:00Z", "FAIL", true],
    ["2026-12-31", "2026-12-31T23:30:00-01:00", "FAIL", true],
    ["2028-02-29", "2028-02-29T12:00:00Z", "WAIVED", false],
  ] as const)("until %s are, at %s, %s", ([until, now, status, expired]) => {
    const failed = result(until, now, false);
    expect(failed).toMatchObject({ status, waiver: { until, reason: "R", owner: "O", expired } });
    expect(failed?.message).toBe(
      `as declared, the request is denied by approvals/route_known (model_not_found)${expired ? `; its waiver ended on ${until}` : ""}`,
    );
    expect(failed?.explain).toEqual(["explain", "demo"]);
    expect(result(until, now, true)).toMatchObject({
      status: "PASS",
      message: "it passes, so its waiver can be removed",
      explain: null,
    });
  });

  test("an assertion without matches can be waived too", () => {
    const rows = waived("2026-12-31");
    expect(
      assertionResults(rows, runAssertions(rows, tables).snapshot(), [], NOW, () => [])[0]?.status,
    ).toBe("WAIVED");
  });

  test("the report counts results of assertions", () => {
    const results = (["2026-12-31", "2020-01-01"] as const).flatMap((until) => {
      const failed = result(until, NOW.toISOString(), false);
      return failed === undefined ? [] : [failed];
    });
    expect(assertionsReport("f", results, [])).toMatchObject({
      passed: 0,
      failed: 1,
      waived: 1,
      coverage: [],
    });
  });
});

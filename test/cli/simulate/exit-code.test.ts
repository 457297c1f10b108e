import { describe, expect, test } from "vitest";
import {
  verdictOf,
  FAIL_ON_VALUES,
  type ExitFlags,
  type FailOnValue,
} from "../../../src/cli/simulate/exit-code.ts";
import { CHANGE_KINDS, type ChangeKind } from "../../../src/simulate/change-kind.ts";
import type {
  ComparisonReport,
  LatentChange,
  SimulationReport,
} from "../../../src/simulate/report/report.ts";
import { latentReport } from "./latent-report.ts";
import { ASSERTIONS, PATH, reportOf, ROUTE_PATH, SAME, SETTING } from "./report.ts";

const NONE: ExitFlags = { detailedExitcode: false, failOn: [], promoting: false };
const DETAILED: ExitFlags = { ...NONE, detailedExitcode: true };
const failOn = (...values: readonly FailOnValue[]): ExitFlags => ({ ...NONE, failOn: values });

function changed(
  kind: ChangeKind,
  access: ComparisonReport["access"] = "incomparable",
): ComparisonReport {
  return {
    ...SAME,
    access,
    changed_classes: 1,
    changed_shapes: "1",
    kinds: [{ kind: kind, classes: 1, shapes: "1" }],
  };
}

const DENIED = changed("newly_denied", "less_permissive");
const INDETERMINATE = changed("indeterminate_new", "less_permissive");
const FAILED = { ...ASSERTIONS, failed: 1 };
const GATE = {
  what: "routes",
  covered: 1,
  of: 2,
  required: 100,
  missing: [],
  location: null,
} as const;

describe("exit codes of simulate", () => {
  test.for<[string, Partial<SimulationReport>, ExitFlags, number]>([
    ["nothing differs", {}, DETAILED, 0],
    ["settings that decide nothing", { changed_settings: [SETTING] }, DETAILED, 0],
    ["something differs, no flag requests a code", { declared: DENIED }, NONE, 0],
    ["something differs", { declared: DENIED }, DETAILED, 2],
    ["something differs as if promoted", { promoted: DENIED }, DETAILED, 2],
    ["a path is new", { declared: { ...SAME, new_data_paths: [PATH] } }, DETAILED, 2],
    ["a path is gone", { declared: { ...SAME, lost_data_paths: [PATH] } }, DETAILED, 2],
    ["assertions hold", { assertions: { ...ASSERTIONS, passed: 3, waived: 1 } }, DETAILED, 0],
    ["an assertion fails", { assertions: FAILED }, NONE, 3],
    [
      "a coverage gate fails",
      { assertions: { ...ASSERTIONS, coverage: [{ ...GATE, status: "FAIL" }] } },
      NONE,
      3,
    ],
    [
      "a coverage gate holds",
      { assertions: { ...ASSERTIONS, coverage: [{ ...GATE, status: "PASS" }] } },
      NONE,
      0,
    ],
    [
      "a coverage gate of an incomplete run fails",
      { complete: false, assertions: { ...ASSERTIONS, coverage: [{ ...GATE, status: "FAIL" }] } },
      NONE,
      4,
    ],
    [
      "a coverage gate and an assertion of an incomplete run fail",
      { complete: false, assertions: { ...FAILED, coverage: [{ ...GATE, status: "FAIL" }] } },
      NONE,
      3,
    ],
    ["not every class was decided", { complete: false }, NONE, 4],
    ["newly indeterminate", { declared: INDETERMINATE }, NONE, 4],
    ["newly indeterminate as if promoted", { promoted: INDETERMINATE }, NONE, 4],
    ["4 before 2", { complete: false, declared: DENIED }, DETAILED, 4],
    ["3 before 2", { assertions: FAILED, declared: DENIED }, DETAILED, 3],
    ["3 before 4", { assertions: FAILED, complete: false }, NONE, 3],
    ["3 of --fail-on before 4", { declared: INDETERMINATE }, failOn("indeterminate_new"), 3],
    [
      "a value that does not hold",
      { declared: DENIED },
      failOn("newly_allowed", "incomparable", "new_destination"),
      0,
    ],
    [
      "a value as if promoted, not promoting",
      { promoted: DENIED },
      failOn("newly_denied", "any"),
      0,
    ],
    [
      "a value as if promoted, promoting",
      { promoted: DENIED },
      { ...failOn("newly_denied"), promoting: true },
      3,
    ],
    [
      "a value as declared, promoting",
      { declared: DENIED },
      { ...failOn("newly_denied"), promoting: true },
      3,
    ],
    ["any, nothing differs", {}, failOn("any"), 0],
    [
      "a value without classes",
      { declared: { ...SAME, kinds: [{ kind: "newly_denied", classes: 0, shapes: "0" }] } },
      failOn("newly_denied"),
      0,
    ],
  ])("%s", ([, changes, flags, expected]) => {
    expect(verdictOf(reportOf(changes), flags).exitCode).toBe(expected);
  });

  test("every value of --fail-on fails for its own changes and for no others", () => {
    const declared = (changes: Partial<ComparisonReport>) => ({
      declared: { ...SAME, ...changes },
    });
    const contexts: Readonly<
      Record<string, readonly [Partial<SimulationReport>, readonly FailOnValue[]]>
    > = {
      ...Object.fromEntries(
        CHANGE_KINDS.map(
          (kind) => [kind, [{ declared: changed(kind, "equivalent") }, [kind, "any"]]] as const,
        ),
      ),
      more_permissive: [declared({ access: "more_permissive" }), ["more_permissive", "any"]],
      less_permissive: [declared({ access: "less_permissive" }), ["less_permissive", "any"]],
      // A grant must not hide behind a denial beside it.
      incomparable: [
        declared({ access: "incomparable" }),
        ["more_permissive", "less_permissive", "incomparable", "any"],
      ],
      new_destination: [declared({ new_data_paths: [PATH] }), ["new_destination", "any"]],
      new_region_for_route: [
        declared({ new_route_paths: [ROUTE_PATH] }),
        ["new_region_for_route", "any"],
      ],
      assertions: [
        { changed_settings: [{ ...SETTING, effect: "assertion", gate: "assertions" }] },
        ["assertions", "any"],
      ],
    };
    for (const [name, [report, holding]] of Object.entries(contexts)) {
      const failing = FAIL_ON_VALUES.filter(
        (value) => verdictOf(reportOf(report), failOn(value)).exitCode === 3,
      );
      expect(failing.toSorted(), name).toEqual(holding.toSorted());
    }
    expect(Object.keys(contexts)).toHaveLength(FAIL_ON_VALUES.length - 1);
  });

  test.for<[string, Partial<LatentChange>, boolean, readonly FailOnValue[]]>([
    ["a weaker rule", {}, false, ["more_permissive"]],
    ["a rule that is weaker once it is promoted", { view: "promoted" }, false, []],
    ["a rule that a promotion makes weaker", { view: "promoted" }, true, ["more_permissive"]],
    ["a weaker obligation", { kind: "obligation" }, false, ["weaker_obligation"]],
    ["a stricter rule", { direction: "stricter" }, false, []],
  ])(
    "%s that no request of today meets triggers the gates of its kind",
    ([, changes, promoting, holding]) => {
      const report = reportOf({ future_rows: latentReport(changes) });
      const failing = FAIL_ON_VALUES.filter(
        (value) => verdictOf(report, { ...failOn(value), promoting }).exitCode === 3,
      );
      expect(failing).toEqual(holding);
    },
  );

  test.for<[string, Partial<SimulationReport>, readonly FailOnValue[]]>([
    ["a raised limit", { changed_settings: [SETTING] }, ["higher_ceiling", "any"]],
    [
      "a removed assertion",
      {
        changed_settings: [
          {
            ...SETTING,
            path: "assertions.a",
            after: null,
            effect: "assertion",
            gate: "assertions",
          },
        ],
      },
      ["assertions", "any"],
    ],
    [
      "a stricter assertion",
      {
        changed_settings: [
          { ...SETTING, path: "assertions.a.to", effect: "assertion", gate: null },
        ],
      },
      ["any"],
    ],
    [
      "another credential",
      { changed_settings: [{ ...SETTING, effect: "credential", gate: null }] },
      ["any"],
    ],
    [
      "another title",
      { changed_settings: [{ ...SETTING, effect: "description", gate: null }] },
      [],
    ],
    [
      "another way to write the same",
      { changed_settings: [{ ...SETTING, effect: "equivalent", gate: null }] },
      [],
    ],
    [
      "a changed policy without a changed class",
      {
        head: {
          ...reportOf().head,
          policies: [{ id: "eu", digest: "d", slot: "candidate", content: "rules", from: "head" }],
        },
      },
      ["any"],
    ],
  ])("%s triggers the gates named after it", ([, report, holding]) => {
    const failing = FAIL_ON_VALUES.filter(
      (value) => verdictOf(reportOf(report), failOn(value)).exitCode === 3,
    );
    expect(failing).toEqual(holding);
  });
});

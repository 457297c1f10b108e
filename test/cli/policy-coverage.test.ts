import { describe, expect, test } from "vitest";
import type { CompiledPolicy } from "../../src/policy/compiled.ts";
import { ranges, linePercentage, percentText } from "../../src/cli/policy/testing/test-report.ts";
import {
  coveredConstraints,
  readSightings,
  type Sighting,
} from "../../src/cli/policy/testing/coverage.ts";
import { gatePolicy, testsOf, workplace } from "./policy-folder.ts";

/**
 * Every effect, a constraint with the name of a rule, rules that read each other in every spelling,
 * text beyond ASCII.
 */
const INTERTWINED = `# METADATA
# scope: package
# title: All sorts
# custom:
#   signalbox:
#     contract: 1
#     id: all-sorts
#     owners: [group:tests]
#     constraints:
#       every_one: {effect: require_all, reasons: [NOT_ONE, NOT_THIS_ONE]}
#       pass: {effect: gate, reasons: [NO_PASS, NO_PASS_AT_ALL]}
#       some_of: {effect: filter, reasons: [NONE_OF]}
package signalbox.policy.all_sorts

import data.signalbox.policy.all_sorts as own

pass.every_one contains candidate.id if { some candidate in input.candidates; candidate.rank == "primary" } {
	some candidate in input.candidates; candidate.zone == "é€😀"; pass.pass
}

	reason.every_one[candidate.id] := "NOT_THIS_ONE" if {
	some candidate in input.candidates; "é€😀" != "x"; not candidate.id in pass.every_one
}

default pass.pass := false

pass.pass if { input.workspace.tier == "standard" } else := false if { input.workspace.tier == "new" }

reason["pass"] := "NO_PASS_AT_ALL" if { not own.pass.pass; not data.signalbox.policy.all_sorts.pass["pass"]; input.workspace.tier == "new" }

pass["some_of"] contains candidate.id if { some candidate in input.candidates; passable(candidate) }

passable(candidate) if { candidate.rank in {"primary"}; allowed_here }

allowed_here := true
`;

const ALL_SORTS = INTERTWINED.replace('candidate.zone == "é€😀"', 'candidate.region == "é€😀"');

const ASKING = `one := {"id": "one", "rank": "primary"}

two := {"id": "two", "rank": "fallback"}

request(tier, candidates) := {"workspace": {"tier": tier}, "candidates": candidates}

evaluated(ids) if policy.pass.every_one == ids

test_every_one_through_a_rule_of_the_test if evaluated({"one"}) with input as request("standard", [one])

test_every_one_and_its_reason if {
	policy.pass.every_one == {"one"} with input as request("standard", [one, two])
	policy.reason.every_one == {"two": "NOT_THIS_ONE"} with input as request("standard", [one, two])
}

test_sets_of_nothing_are_no_evidence if {
	policy.pass.some_of == set() with input as request("standard", [])
}

test_reason_without_asking_for_pass if policy.reason.pass == "NO_PASS_AT_ALL" with input as request("new", [one])

test_pass_passes if policy.pass.pass with input as request("standard", [one])

test_the_printed_mark_is_not_to_be_guessed if {
	print("seen {}")
	policy.pass.some_of == set() with input as request("standard", [two])
}
`;

interface Document {
  readonly coverage: {
    readonly percent: number;
    readonly constraints: readonly {
      readonly constraint: string;
      readonly verdicts: object;
      readonly reasons: readonly object[];
    }[];
  };
  readonly diagnostics: readonly {
    readonly code: string;
    readonly message: string;
    readonly line: number;
  }[];
}

describe("coverage by constraint", () => {
  test("counts the tests of each verdict and each reason, and names untested ones", async () => {
    const { run } = workplace({
      "policies/all-sorts.rego": ALL_SORTS,
      "policies/all-sorts_test.rego": testsOf("all-sorts", ASKING),
      "policies/untested.rego": gatePolicy("untested"),
    });
    const { code, stdout, stderr } = await run(["test", "--coverage", "--format", "json"]);
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
    const { coverage, diagnostics }: Document = JSON.parse(stdout);
    const [everyOne, pass, someOf, untested] = coverage.constraints;
    expect(everyOne).toEqual({
      policy: "all-sorts",
      constraint: "every_one",
      effect: "require_all",
      verdicts: { pass: 1, fail: 1, indeterminate: 0 },
      reasons: [
        { reason: "NOT_ONE", tests: 0 },
        { reason: "NOT_THIS_ONE", tests: 1 },
      ],
    });
    expect(pass).toMatchObject({
      verdicts: { pass: 1, fail: 0 },
      reasons: [
        { reason: "NO_PASS", tests: 0 },
        { reason: "NO_PASS_AT_ALL", tests: 1 },
      ],
    });
    expect(someOf).toMatchObject({
      verdicts: { pass: 0, fail: 1 },
      reasons: [{ reason: "NONE_OF", tests: 1 }],
    });
    expect(untested).toMatchObject({ policy: "untested", verdicts: { pass: 0, fail: 0 } });
    expect(diagnostics.map(({ code: gap, line, message }) => `${gap} ${line} ${message}`)).toEqual([
      "REASON_NEVER_SEEN 10 no test has seen every_one give the reason NOT_ONE",
      "CONSTRAINT_NEVER_SEEN_FAILING 11 no test has seen pass fail",
      "REASON_NEVER_SEEN 11 no test has seen pass give the reason NO_PASS",
      "CONSTRAINT_NEVER_SEEN_PASSING 12 no test has seen some_of pass",
      "POLICY_NOT_TESTED 11 the policy untested has no tests",
    ]);
  });

  const HALF_TESTED = {
    "policies/half.rego": gatePolicy(
      "half",
      'pass["tier_approved"] if input.workspace.tier == "standard"\n\npass["tier_approved"] if {\n\tinput.workspace.tier == "new"\n\tinput.key.environment == "production"\n}',
    ),
    "policies/half_test.rego": testsOf(
      "half",
      'test_standard if policy.pass.tier_approved with input as {"workspace": {"tier": "standard"}}',
    ),
  };

  test("gaps are warnings, and errors under --strict; a missed threshold fails without --strict", async () => {
    const { run } = workplace(HALF_TESTED);
    const lenient = await run(["test", "--coverage"]);
    expect(lenient.code).toBe(0);
    expect(lenient.stdout).toMatch(/ \d\d\.\d % {2}policies\/half\.rego {2}not reached: 1\d/);
    expect(lenient.stdout).toMatch(/half tier_approved +1 +0 +0 {2}TIER_NOT_APPROVED 0\n/);
    expect(lenient.stdout).toContain(
      "warning CONSTRAINT_NEVER_SEEN_FAILING: no test has seen tier_approved fail",
    );
    const strict = await run(["test", "--strict"]);
    expect(strict.code).toBe(1);
    expect(strict.stdout).toContain("error CONSTRAINT_NEVER_SEEN_FAILING");
    const above = await run(["test", "--threshold", "90"]);
    expect(above.code).toBe(1);
    expect(above.stdout).toMatch(
      /error COVERAGE_BELOW_THRESHOLD: the tests reach \d\d\.\d % of the lines/,
    );
    expect(above.stdout).toContain("warning CONSTRAINT_NEVER_SEEN_FAILING");
    expect((await run(["test", "--threshold", "10"])).code).toBe(0);
  });

  test("constraints without a test fail under --strict in the JUnit and GitHub formats too", async () => {
    const { run } = workplace(HALF_TESTED);
    const junit = await run(["test", "--strict", "--format", "junit"]);
    expect(junit.code).toBe(1);
    expect(junit.stdout).toContain('<testsuite name="findings" tests="2" failures="2"');
    expect((await run(["test", "--coverage", "--format", "junit"])).stdout).not.toContain(
      "<failure",
    );
    const github = await run(["test", "--strict", "--format", "github"]);
    expect(github.stdout).toContain(
      "::error file=policies/half.rego,line=10,col=9,title=CONSTRAINT_NEVER_SEEN_FAILING",
    );
  });

  test("a test that reads the whole package is refused, not miscounted", async () => {
    const { run } = workplace({
      "policies/whole.rego": gatePolicy("whole"),
      "policies/whole_test.rego": testsOf(
        "whole",
        'test_whole if object.keys(policy) == {"pass"} with input as {"workspace": {"tier": "standard"}}',
      ),
    });
    expect((await run(["test"])).code).toBe(0);
    const { code, stdout, stderr } = await run(["test", "--coverage"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(
      "--coverage: policies/whole_test.rego: test_whole reads a policy in a way that cannot be measured",
    );
  });
});

describe("the text of a sighting", () => {
  const policy: CompiledPolicy = {
    contract: {
      contract: 1,
      id: "p",
      title: "P",
      owners: ["group:tests"],
      operations: ["messages"],
      obligations: [],
      constraints: [
        { name: "gate", effect: "gate", reasons: ["FIRST", "SECOND"] },
        { name: "set", effect: "filter", reasons: ["FIRST", "SECOND"] },
      ],
    },
    digest: "",
    sources: [],
    reasoned: [],
    reads: [],
    relates: false,
    hours: null,
    stringUse: { strings: [], inspects: [] },
    path: "policies/p.rego",
    locations: {},
  };
  const seen = (
    constraint: string,
    pass: unknown,
    reason: unknown = {},
    more: Partial<Sighting> = {},
  ): Sighting => ({
    policy: "p",
    constraint,
    requested: "pass",
    value: { pass: { [constraint]: pass }, reason },
    candidates: ["a", "b"],
    ...more,
  });
  const figures = (constraint: string, ...tests: readonly (readonly Sighting[])[]): string => {
    const found = coveredConstraints([policy], tests).find((one) => one.constraint === constraint);
    const { verdicts, reasons } = found ?? { verdicts: null, reasons: [] };
    return `${verdicts?.pass} ${verdicts?.fail} ${verdicts?.indeterminate} | ${reasons.map(({ tests: amount }) => amount).join(" ")}`;
  };

  test.for<readonly [string, string, readonly (readonly Sighting[])[], string]>([
    ["true passes", "gate", [[seen("gate", [true])]], "1 0 0 | 0 0"],
    ["undefined fails for the first reason", "gate", [[seen("gate", [])]], "0 1 0 | 1 0"],
    ["a reason of its own", "gate", [[seen("gate", [], { gate: ["SECOND"] })]], "0 1 0 | 0 1"],
    [
      "a reason where it passes is none",
      "gate",
      [[seen("gate", [true], { gate: ["SECOND"] })]],
      "1 0 0 | 0 0",
    ],
    [
      "asking for the reason is no verdict",
      "gate",
      [[seen("gate", [], {}, { requested: "reason" })]],
      "0 0 0 | 1 0",
    ],
    ["another type is indeterminate", "gate", [[seen("gate", ["yes"])]], "0 0 1 | 0 0"],
    [
      "tests count, not looks",
      "gate",
      [[seen("gate", [true]), seen("gate", [true])], [seen("gate", [true])]],
      "2 0 0 | 0 0",
    ],
    ["one test may see both", "gate", [[seen("gate", [true]), seen("gate", [])]], "1 1 0 | 1 0"],
    ["all candidates", "set", [[seen("set", [["a", "b"]])]], "1 0 0 | 0 0"],
    [
      "a candidate excluded",
      "set",
      [[seen("set", [["a"]], { set: [{ b: "SECOND" }] })]],
      "0 1 0 | 0 1",
    ],
    [
      "no candidates are no evidence",
      "set",
      [[seen("set", [[]], {}, { candidates: [] })]],
      "0 0 0 | 0 0",
    ],
    ["of another policy", "gate", [[seen("gate", [true], {}, { policy: "q" })]], "0 0 0 | 0 0"],
    ["of another constraint", "gate", [[seen("set", [["a"]])]], "0 0 0 | 0 0"],
  ])("%s", ([, constraint, tests, expected]) => {
    expect(figures(constraint, ...tests)).toBe(expected);
  });

  test("is distinguished from a test's own output", () => {
    const sighting = seen("gate", [true]);
    const lines = ["hello", `mark ${JSON.stringify(sighting)}`, "mark", "marked {}", " mark {}"];
    expect(readSightings(lines, "mark")).toEqual([sighting]);
  });
});

describe("figures", () => {
  test.for([
    [[], ""],
    [[3], "3"],
    [[3, 4], "3-4"],
    [[1, 3, 4, 5, 9], "1, 3-5, 9"],
  ] as const)("the lines %j are printed as %j", ([lines, text]) => {
    expect(ranges(lines)).toBe(text);
  });

  test("a percentage is never rounded up to a goal", () => {
    expect(percentText(linePercentage([{ covered_lines: 9_999, missed_lines: 1 }]))).toBe("99.9");
    expect(
      percentText(
        linePercentage([
          { covered_lines: 2, missed_lines: 1 },
          { covered_lines: 1, missed_lines: 2 },
        ]),
      ),
    ).toBe("50.0");
    expect(percentText(linePercentage([]))).toBe("100.0");
  });
});

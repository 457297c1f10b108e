import { beforeAll, describe, expect, test } from "vitest";
import { ToolchainError } from "../../src/policy/toolchain/protocol.ts";
import { createToolchain } from "../../src/policy/toolchain/toolchain.ts";
import { assess, isAsKnown } from "./assessment.ts";
import { toCase, type ConformanceCase, type PublishedCase } from "./cases/case.ts";
import { report } from "./report.ts";
import { runCases, type CaseResult } from "./run.ts";

const toolchain = createToolchain({ cache: null });

function caseOf(members: Partial<PublishedCase>, rules: string | null = null): ConformanceCase {
  const modules = rules === null ? [] : [`package t\n\n${rules}\n`];
  const read = toCase({ note: "note", query: "data.t.p = x", modules, ...members }, "cases.yaml");
  if (typeof read === "string") throw new Error(read);
  return read;
}

/**
 * Each judgement that the runner can make: members of the case, rules of its module, and what must
 * come out.
 */
const JUDGEMENTS: readonly (readonly [string, Partial<PublishedCase>, string | null, object])[] = [
  ["a value", { want_result: [{ x: 3 }] }, "p := 1 + 2", { kind: "right" }],
  [
    "another value",
    { want_result: [{ x: 4 }] },
    "p := 1 + 2",
    { kind: "wrong", detail: '[{"x":3}]' },
  ],
  ["a value instead of none", { want_result: [] }, "p := 1", { kind: "wrong" }],
  ["none", { want_result: [] }, "p if input.x", { kind: "right" }],
  [
    "none instead of a value",
    { want_result: [{ x: true }] },
    "p if input.x",
    { kind: "wrong", detail: "[]" },
  ],
  ["input", { want_result: [{ x: 7 }], input: { y: 7 } }, "p := input.y", { kind: "right" }],
  [
    "input as a term",
    { want_result: [{ x: 1 }], input_term: '{"y": 1.0}' },
    "p := input.y",
    { kind: "right" },
  ],
  ["no input", { want_result: [{ x: true }] }, "p if not input", { kind: "right" }],
  [
    "input null",
    { want_result: [{ x: true }], input: null },
    "p if is_null(input)",
    { kind: "right" },
  ],
  [
    "input that is a set",
    { want_result: [], input_term: "{1}" },
    "p := input",
    { kind: "not_expressible" },
  ],
  ["data", { want_result: [{ x: [1] }], data: { d: [1] } }, "p := data.d", { kind: "right" }],
  [
    "a query over all of data",
    { want_result: [], query: "data = x" },
    "p := 1",
    { kind: "not_expressible" },
  ],
  [
    "solutions in another order",
    {
      query: "data.t.p[i] = x",
      want_result: [
        { i: 1, x: "b" },
        { i: 0, x: "a" },
      ],
    },
    'p := ["a", "b"]',
    { kind: "right" },
  ],
  [
    "one solution twice",
    { query: "data.t.p[_] = x", want_result: [{ x: "a" }, { x: "b" }] },
    'p := ["a", "a"]',
    { kind: "wrong" },
  ],
  ["a set in any order", { want_result: [{ x: [3, 2, 1] }] }, "p := {1, 2, 3}", { kind: "right" }],
  [
    "a set within a set",
    { want_result: [{ x: [{ y: [2, 1] }] }] },
    'p := {{"y": {1, 2}}}',
    { kind: "right" },
  ],
  ["an array in order", { want_result: [{ x: [1, 2] }] }, "p := [2, 1]", { kind: "wrong" }],
  [
    "an array beside a set",
    {
      want_result: [
        {
          x: [
            [1, 2],
            [2, 1],
          ],
        },
      ],
    },
    "p := [[2, 1], {1, 2}]",
    { kind: "wrong" },
  ],
  [
    "an array that stands for a set",
    { want_result: [{ x: [1, 2] }], sort_bindings: true },
    "p := [2, 1]",
    { kind: "right" },
  ],
  [
    "an empty object for an empty array",
    { want_result: [{ x: [] }] },
    "p := {}",
    { kind: "wrong" },
  ],
  [
    "a member too many",
    { want_result: [{ x: { a: 1 } }] },
    'p := {"a": 1, "b": 2}',
    { kind: "wrong" },
  ],
  [
    "a number that a double has not",
    { want_result: [{ x: 2n ** 64n - 2n }] },
    "p := bits.lsh(9223372036854775807, 1)",
    { kind: "wrong" },
  ],
  ["defined", { want_defined: true }, "p := false", { kind: "right" }],
  ["not defined", { want_defined: true }, "p if input.x", { kind: "wrong" }],
  [
    "a conflict",
    { want_error_code: "eval_conflict_error" },
    "p := 1 if input.a\n\np := 2 if input.b",
    { kind: "wrong" },
  ],
  [
    "a conflict that comes",
    { want_error_code: "eval_conflict_error", input: { a: 1, b: 1 } },
    "p := 1 if input.a\n\np := 2 if input.b",
    { kind: "right" },
  ],
  [
    "a failure that was not expected",
    { want_result: [], input: { a: 1, b: 1 } },
    "p := 1 if input.a\n\np := 2 if input.b",
    { kind: "wrong" },
  ],
  [
    "a failure that is no conflict",
    { want_error_code: "eval_conflict_error" },
    "p := format_int(18446744073709551617, 10)",
    { kind: "wrong", detail: expect.stringContaining("failed: ") },
  ],
  [
    "another failure than expected",
    { want_error_code: "eval_type_error", input: { a: 1, b: 1 } },
    "p := 1 if input.a\n\np := 2 if input.b",
    { kind: "wrong" },
  ],
  [
    "refused when compiled, as expected",
    { want_error_code: "eval_conflict_error" },
    "p := x if { y := 1 }",
    { kind: "right" },
  ],
  [
    "refused when compiled",
    { want_result: [] },
    "p := x if { y := 1 }",
    { kind: "not_compiling", detail: expect.stringContaining("rego_unsafe_var_error") },
  ],
  [
    "strict error",
    { want_error: "division by zero", strict_error: true },
    "p := 1 / 0",
    { kind: "right" },
  ],
  [
    "strict error, yet a value",
    { want_error: "division by zero", strict_error: true },
    "p := 1 / 1",
    { kind: "wrong" },
  ],
  [
    "built-ins",
    { want_result: [] },
    'p := sprintf("", []) if time.now_ns() > 1',
    { kind: "refused", builtins: ["sprintf", "time.now_ns"] },
  ],
  [
    "a built-in, though an error is wanted",
    { want_error_code: "eval_conflict_error" },
    "p := opa.runtime()",
    { kind: "refused" },
  ],
  [
    "a built-in that is replaced",
    { want_result: [] },
    "p if data.t.q with opa.runtime as {}\n\nq := 1",
    { kind: "refused", builtins: ["opa.runtime"] },
  ],
  [
    "a template string",
    { want_result: [] },
    'p := $"{input.x}"',
    { kind: "refused", builtins: ["internal.template_string"] },
  ],
  [
    "a dollar before a quote",
    { want_result: [] },
    'p if { regex.match("^a$", "a") some }',
    { kind: "not_compiling" },
  ],
  ["an unknown function", { want_result: [] }, "p := count_all(1)", { kind: "not_compiling" }],
];

describe("judging a case", () => {
  let results: readonly CaseResult[] = [];
  beforeAll(async () => {
    results = await runCases(
      JUDGEMENTS.map(([, members, rules]) => caseOf(members, rules)),
      toolchain,
    );
  }, 60_000);
  test.each(JUDGEMENTS.map(([name, , , outcome], index) => ({ name, outcome, index })))(
    "$name",
    ({ outcome, index }) => {
      expect(results[index]?.outcome).toMatchObject(outcome);
    },
  );
});

describe("running cases", () => {
  const broken = (code: "TOOLCHAIN_TIMEOUT" | "ARTEFACT_DAMAGED") => ({
    build: () => Promise.reject(new ToolchainError(code, "broken")),
  });

  test("a compiler that ends without an answer is a finding about the case", async () => {
    const [result] = await runCases([caseOf({ want_result: [] })], broken("TOOLCHAIN_TIMEOUT"));
    expect(result?.outcome).toEqual({ kind: "not_compiling", detail: "broken" });
  });

  test("a broken installation ends the run with an error", async () => {
    await expect(
      runCases([caseOf({ want_result: [] })], broken("ARTEFACT_DAMAGED")),
    ).rejects.toThrow("broken");
  });

  test("cases that differ only in input are compiled once", async () => {
    let builds = 0;
    const counting = {
      build: async (): ReturnType<typeof toolchain.build> => {
        builds += 1;
        return { errors: [], wasm: null };
      },
    };
    await runCases(
      [caseOf({ want_result: [], input: 1 }), caseOf({ want_result: [], input: 2 })],
      counting,
    );
    expect(builds).toBe(1);
  });
});

describe("assessing a run", () => {
  const result = (note: string, outcome: CaseResult["outcome"]): CaseResult => ({
    testCase: { ...caseOf({ want_result: [] }), note },
    outcome,
  });
  const wrong = { kind: "wrong", detail: "[]" } as const;

  test("a wrong result that is not listed is unexpected", () => {
    const assessment = assess([result("a", wrong), result("b", { kind: "right" })], {});
    expect(assessment.unexpected.map(({ testCase }) => testCase.note)).toEqual(["a"]);
    expect(isAsKnown(assessment)).toBe(false);
    expect(report(assessment, "v0")).toContain("UNEXPECTED");
  });

  test("a case that does not compile and is not listed is unexpected", () => {
    expect(isAsKnown(assess([result("a", { kind: "not_compiling", detail: "" })], {}))).toBe(false);
  });

  test("a listed wrong result is known, and reported with its reason", () => {
    const assessment = assess([result("a", wrong)], { a: "because" });
    expect(isAsKnown(assessment)).toBe(true);
    expect(report(assessment, "v0")).toMatch(/a \(cases\.yaml\): gives \[\]\n\s+because/);
  });

  test("a listed case that has become right is outdated, and one that did not run is not", () => {
    const assessment = assess([result("a", { kind: "right" })], { a: "because", b: "elsewhere" });
    expect(assessment.outdated).toEqual(["a"]);
    expect(isAsKnown(assessment)).toBe(false);
    expect(report(assessment, "v0")).toContain("OUTDATED");
  });

  test("names that objects inherit are not taken for listed cases", () => {
    expect(isAsKnown(assess([result("constructor", wrong)], {}))).toBe(false);
  });

  test("built-ins are counted, the most needed first", () => {
    const refused = (...builtins: string[]): CaseResult =>
      result("a", { kind: "refused", builtins });
    expect(assess([refused("b"), refused("a", "c"), refused("c")], {}).refused).toEqual([
      ["c", 2],
      ["a", 1],
      ["b", 1],
    ]);
  });
});

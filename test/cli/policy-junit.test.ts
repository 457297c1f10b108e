import fc from "fast-check";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import {
  formatJunit,
  formatRun,
  type PolicyTest,
  type TestRun,
} from "../../src/cli/policy/testing/test-report.ts";
import { readXml } from "./read-xml.ts";
import { codePoint } from "../support/code-point.ts";

function outcome(changes: Partial<PolicyTest> = {}): PolicyTest {
  return {
    name: "test_a",
    file: "policies/a_test.rego",
    line: 5,
    column: 1,
    outcome: "pass",
    cases: [],
    printed: [],
    error: [],
    milliseconds: 1.5,
    ...changes,
  };
}

function runOf(...tests: readonly PolicyTest[]): TestRun {
  return {
    policies: [
      { id: "a", file: "policies/a_test.rego", tests },
      { id: "untested", file: "policies/untested_test.rego", tests: [] },
    ],
    coverage: null,
    milliseconds: 1_234.5,
  };
}

describe("JUnit XML", () => {
  test("has a suite for each policy with tests, with the result of each", () => {
    const run = runOf(
      outcome(),
      outcome({
        name: "test_b",
        outcome: "fail",
        cases: ["one", "two"],
        printed: ["<tier> & more", "  second"],
      }),
      outcome({ name: "test_c", outcome: "error", error: ["it broke", "  badly"] }),
      outcome({ name: "todo_test_d", outcome: "skip" }),
    );
    const root = readXml(formatJunit(run, []));
    const amounts = { tests: "4", failures: "1", errors: "1", skipped: "1" };
    expect(root).toMatchObject({
      name: "testsuites",
      attributes: { ...amounts, time: "1.234500" },
    });
    expect(root.children).toMatchObject([
      { name: "testsuite", attributes: { name: "a", ...amounts, time: "0.006000" } },
    ]);
    const [passed, failed, broken, skipped] = root.children[0]?.children ?? [];
    expect(passed).toEqual({
      name: "testcase",
      attributes: {
        name: "test_a",
        classname: "a",
        file: "policies/a_test.rego",
        line: "5",
        time: "0.001500",
      },
      children: [],
      text: "",
    });
    expect(failed?.children).toMatchObject([
      {
        name: "failure",
        attributes: { message: "failing case: one" },
        text: "policies/a_test.rego:5:1\nfailing case: one\nfailing case: two",
      },
      { name: "system-out", text: "<tier> & more\n  second" },
    ]);
    expect(broken?.children).toMatchObject([
      {
        name: "error",
        attributes: { message: "it broke" },
        text: "policies/a_test.rego:5:1\nit broke\n  badly",
      },
    ]);
    expect(skipped?.children).toMatchObject([{ name: "skipped" }]);
  });

  test("findings that fail the run are failures, also where nothing could be run", () => {
    const finding = {
      code: "POLICY_SYNTAX",
      severity: "error",
      file: "policies/a.rego",
      line: 3,
      column: 2,
      message: "unexpected }",
      hint: "Correct it.",
    } as const;
    const root = readXml(formatJunit(null, [finding]));
    expect(root.attributes).toMatchObject({ tests: "1", failures: "1" });
    expect(root.children[0]?.children[0]).toMatchObject({
      attributes: { name: "POLICY_SYNTAX policies/a.rego:3:2", classname: "findings", line: "3" },
      children: [{ text: "policies/a.rego:3:2\nunexpected }\nCorrect it." }],
    });
  });

  test("is valid and keeps the output of a policy that prints any characters", () => {
    const line = fc.string({
      unit: fc.oneof(
        fc.constantFrom(
          "<",
          ">",
          "&",
          '"',
          "'",
          "]]>",
          "\t",
          "\r",
          "\u0000",
          "\u001b",
          "\ud800",
          "\uffff",
          "\u2028",
        ),
        fc.string({ unit: codePoint, minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(
        fc.array(
          line.map((text) => text.replaceAll("\n", "")),
          { minLength: 1 },
        ),
        line,
        (printed, name) => {
          const root = readXml(
            formatJunit(runOf(outcome({ name, outcome: "fail", cases: [name], printed })), []),
          );
          const sayable = (text: string): string =>
            text
              .toWellFormed()
              // eslint-disable-next-line no-control-regex -- what XML 1.0 forbids
              .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, "\uFFFD");
          const found = root.children[0]?.children[0];
          expect(found?.attributes.name).toBe(sayable(name));
          expect(found?.children[1]?.text).toBe(sayable(printed.join("\n")));
        },
      ),
    );
  });
});

test("colours are printed only where requested, and escape sequences of a policy never", () => {
  const run = runOf(
    outcome({
      outcome: "fail",
      printed: ["\u001b[2J\u009b31m\u202e"],
      cases: ["\u001b]0;x\u0007"],
    }),
  );
  const plain = formatRun(run, { colour: false, verbose: false });
  expect(plain.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  const coloured = formatRun(run, { colour: true, verbose: false });
  expect(coloured).toContain("\u001b[31mFAIL\u001b[39m");
  expect(stripVTControlCharacters(coloured)).toBe(plain);
});

import type { Diagnostic } from "../../../canon/diagnostic.ts";
import { formatJunitXml, type JunitCase, type JunitSuite } from "../../terminal/junit.ts";
import { totalsOf, type PolicyTest, type TestedPolicy, type TestRun } from "./test-run.ts";

/**
 * JUnit XML as CI servers read it: a suite for each policy. Findings that fail the run are cases too, in a suite of
 * their own, because a report without a failure reads as a success.
 *
 * @param run `null` where the policies do not compile.
 * @param findings those that fail the run.
 */
export function formatJunit(run: TestRun | null, findings: readonly Diagnostic[]): string {
  const suites = (run?.policies ?? []).filter(({ tests }) => tests.length > 0).map(suiteOf);
  if (findings.length > 0) {
    suites.push({ name: "findings", file: null, cases: findings.map(findingCase), seconds: seconds(0) });
  }
  return formatJunitXml("signalbox policy test", suites, seconds(run?.milliseconds ?? 0));
}

function suiteOf({ id, file, tests }: TestedPolicy): JunitSuite {
  const cases = tests.map((test) => caseOf(id, test));
  return { name: id, file, cases, seconds: seconds(totalsOf(tests).milliseconds) };
}

function caseOf(className: string, test: PolicyTest): JunitCase {
  const { name, file, line, column, printed, milliseconds } = test;
  const position = { file, line };
  const one = { name, className, position, output: printed, seconds: seconds(milliseconds) };
  const location = `${file}:${line}:${column}`;
  switch (test.outcome) {
    case "pass":
      return { ...one, outcome: "passed", message: null, lines: [] };
    case "skip":
      return { ...one, outcome: "skipped", message: null, lines: [] };
    case "error":
      return { ...one, outcome: "error", message: test.error[0] ?? "error", lines: [location, ...test.error] };
    case "fail": {
      const failing = test.cases.map((text) => `failing case: ${text}`);
      const message = failing[0] ?? "the test failed";
      return { ...one, outcome: "failure", message, lines: [location, ...failing] };
    }
  }
}

function findingCase({ code, file, line, column, message, hint }: Diagnostic): JunitCase {
  const location = `${file}:${line}:${column}`;
  return {
    name: `${code} ${location}`,
    className: "findings",
    position: { file, line },
    outcome: "failure",
    message,
    lines: hint === "" ? [location, message] : [location, message, hint],
    output: [],
    seconds: seconds(0),
  };
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(6);
}

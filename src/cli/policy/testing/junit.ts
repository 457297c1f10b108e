import type { Diagnostic } from "../../../canon/diagnostic.ts";
import { escapeXml, escapeXmlLines, formatElement } from "../../terminal/xml.ts";
import { totalsOf, type PolicyTest, type TestedPolicy, type TestRun, type Totals } from "./test-run.ts";

/** A test case of the report. */
interface Case {
  readonly attributes: Readonly<Record<string, string>>;
  /** Elements, already escaped. */
  readonly content: readonly string[];
}

/**
 * JUnit XML as CI servers read it: a suite for each policy. Findings that fail the run are cases too, in a suite of
 * their own, because a report without a failure reads as a success.
 *
 * @param run `null` where the policies do not compile.
 * @param findings those that fail the run.
 */
export function formatJunit(run: TestRun | null, findings: readonly Diagnostic[]): string {
  const policies = run?.policies ?? [];
  const suites = policies.filter(({ tests }) => tests.length > 0).map(suiteOf);
  if (findings.length > 0) suites.push(findingSuite(findings));
  const totals = totalsOf(policies.flatMap(({ tests }) => tests));
  const attributes = amounts({
    ...totals,
    tests: totals.tests + findings.length,
    failed: totals.failed + findings.length,
    milliseconds: run?.milliseconds ?? 0,
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${formatElement("testsuites", { name: "signalbox policy test", ...attributes }, suites)}\n`;
}

function suiteOf({ id, file, tests }: TestedPolicy): string {
  const cases = tests.map((test) => caseOf(id, test)).map(caseElement);
  return formatElement("testsuite", { name: id, ...amounts(totalsOf(tests)), file }, cases);
}

function caseOf(policy: string, test: PolicyTest): Case {
  const { name, file, line, column, outcome, cases, printed, error, milliseconds } = test;
  const attributes = { name, classname: policy, file, line: String(line), time: seconds(milliseconds) };
  const place = `${file}:${line}:${column}`;
  const content: string[] = [];
  if (outcome === "skip") content.push(formatElement("skipped", {}, []));
  if (outcome === "error") content.push(problem("error", error[0] ?? "error", [place, ...error]));
  if (outcome === "fail") {
    const failing = cases.map((one) => `failing case: ${one}`);
    content.push(problem("failure", failing[0] ?? "the test does not hold", [place, ...failing]));
  }
  if (printed.length > 0) content.push(`<system-out>${escapeXmlLines(printed)}</system-out>`);
  return { attributes, content };
}

function findingSuite(findings: readonly Diagnostic[]): string {
  const cases = findings.map(({ code, file, line, column, message, hint }): Case => {
    const place = `${file}:${line}:${column}`;
    return {
      attributes: { name: `${code} ${place}`, classname: "findings", file, line: String(line), time: seconds(0) },
      content: [problem("failure", message, hint === "" ? [place, message] : [place, message, hint])],
    };
  });
  const totals = { tests: findings.length, failed: findings.length, errors: 0, skipped: 0, milliseconds: 0 };
  return formatElement("testsuite", { name: "findings", ...amounts(totals) }, cases.map(caseElement));
}

function amounts({ tests, failed, errors, skipped, milliseconds }: Omit<Totals, "passed">): Record<string, string> {
  return {
    tests: String(tests),
    failures: String(failed),
    errors: String(errors),
    skipped: String(skipped),
    time: seconds(milliseconds),
  };
}

function caseElement({ attributes, content }: Case): string {
  return formatElement("testcase", attributes, content);
}

function problem(name: "error" | "failure", message: string, lines: readonly string[]): string {
  return `<${name} message="${escapeXml(message)}">${escapeXmlLines(lines)}</${name}>`;
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(6);
}

import type { Diagnostic } from "../../../canon/diagnostic.ts";
import type { ConstraintEffect, Verdict } from "../../../canon/policy.ts";
import type { FileCoverage } from "../../../policy/toolchain/protocol.ts";
import {
  amountText,
  jsonText,
  painter,
  printable,
  type Paint,
  type Style,
} from "../../terminal/printing.ts";
import { formatJunitXml, type JunitCase, type JunitSuite } from "../../terminal/report.ts";

/** One rule `test_…`. */
export interface PolicyTest {
  readonly name: string;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly outcome: "pass" | "fail" | "error" | "skip";
  /** Failing cases of a test over many. */
  readonly cases: readonly string[];
  /** Lines that `print` wrote; a policy's author chose their text. */
  readonly printed: readonly string[];
  /** Lines of the error, where the outcome is `error`. */
  readonly error: readonly string[];
  readonly milliseconds: number;
}

/** The tests of one policy, in the order of the file. */
export interface TestedPolicy {
  /** A policy's id; `lib/<name>` for tests in a library. */
  readonly id: string;
  /** The file of its tests, whether it exists or not. */
  readonly file: string;
  readonly tests: readonly PolicyTest[];
}

export interface TestRun {
  /** Sorted by id, with policies that have no tests. */
  readonly policies: readonly TestedPolicy[];
  /** `null` where not requested. */
  readonly coverage: Coverage | null;
  readonly milliseconds: number;
}

export interface Coverage {
  /** Policies and libraries, sorted by path. */
  readonly files: readonly FileCoverage[];
  /** In the order of policies and of their constraints' names. */
  readonly constraints: readonly CoveredConstraint[];
  /** Gaps, sorted like every report. */
  readonly gaps: readonly Diagnostic<GapCode>[];
}

export interface CoveredConstraint {
  readonly policy: string;
  readonly constraint: string;
  readonly effect: ConstraintEffect;
  /** Number of tests that cover the verdict. */
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Declared reasons in their order, each with the number of tests that cover it. */
  readonly reasons: readonly { readonly reason: string; readonly tests: number }[];
}

export type GapCode =
  | "POLICY_NOT_TESTED"
  | "CONSTRAINT_NEVER_SEEN_PASSING"
  | "CONSTRAINT_NEVER_SEEN_FAILING"
  | "REASON_NEVER_SEEN"
  | "COVERAGE_BELOW_THRESHOLD";

type LineCounts = Pick<FileCoverage, "covered_lines" | "missed_lines">;

/** Number of tests by outcome. */
type Totals = ReturnType<typeof totalsOf>;

function totalsOf(tests: readonly PolicyTest[]) {
  const amount = (outcome: PolicyTest["outcome"]) =>
    tests.filter((test) => test.outcome === outcome).length;
  return {
    tests: tests.length,
    passed: amount("pass"),
    failed: amount("fail"),
    errors: amount("error"),
    skipped: amount("skip"),
    milliseconds: tests.reduce((sum, { milliseconds }) => sum + milliseconds, 0),
  };
}

function linesOf(files: readonly LineCounts[]): LineCounts {
  return {
    covered_lines: files.reduce((sum, file) => sum + file.covered_lines, 0),
    missed_lines: files.reduce((sum, file) => sum + file.missed_lines, 0),
  };
}

/** Covered lines in per cent; 100 if there are none to cover. */
export function linePercentage(files: readonly LineCounts[]): number {
  const { covered_lines: covered, missed_lines: missed } = linesOf(files);
  return covered + missed === 0 ? 100 : (100 * covered) / (covered + missed);
}

/** One decimal, rounded down: 99.96 is not 100.0. */
export function percentText(percentage: number): string {
  return (Math.floor(percentage * 10) / 10).toFixed(1);
}

interface TerminalOptions {
  readonly colour: boolean;
  /** Lists the tests that passed too, with their output. */
  readonly verbose: boolean;
}

/**
 * A block for each policy with its failed tests, then one line of totals. Gaps are printed as
 * findings.
 */
export function formatRun(
  { policies, coverage, milliseconds }: TestRun,
  options: TerminalOptions,
): string {
  const paint = painter(options.colour);
  const width = Math.max(0, ...policies.map(({ id }) => id.length));
  const lines = policies.flatMap((policy) => policyLines(policy, width, options.verbose, paint));
  const totals = totalsOf(policies.flatMap(({ tests }) => tests));
  const coverageLines = coverage === null ? [] : ["", ...coverageReport(coverage, paint)];
  return `${[...lines, "", summary(totals, milliseconds, paint), ...coverageLines].join("\n")}\n`;
}

function policyLines(
  { id, tests }: TestedPolicy,
  width: number,
  verbose: boolean,
  paint: Paint,
): readonly string[] {
  const name = printable(id).padEnd(width);
  if (tests.length === 0) return [`${paint("yellow", "NONE")}  ${name}  no tests`];
  const totals = totalsOf(tests);
  const result = totals.failed + totals.errors > 0 ? paint("red", "FAIL") : paint("green", "PASS");
  const amounts = [amountText(tests.length, "test"), ...exceptions(totals)].join(", ");
  const time = paint("dim", duration(totals.milliseconds));
  const shown = tests.filter((test) => verbose || isFailure(test));
  return [
    `${result}  ${name}  ${amounts}  ${time}`,
    ...shown.flatMap((test) => testLines(test, paint)),
  ];
}

const OUTCOME_TEXTS = {
  pass: ["ok", "green"],
  fail: ["failed", "red"],
  error: ["error", "red"],
  skip: ["skipped", "yellow"],
} as const satisfies Record<PolicyTest["outcome"], readonly [string, Style]>;

function testLines(test: PolicyTest, paint: Paint): readonly string[] {
  const [text, style] = OUTCOME_TEXTS[test.outcome];
  const head = `      ${paint(style, text.padEnd(7))}  ${printable(test.name)}  ${paint("dim", duration(test.milliseconds))}`;
  const details: string[] = [];
  if (isFailure(test)) {
    details.push(`${printable(test.file)}:${test.line}:${test.column}`);
    details.push(...test.cases.map((one) => `failing case: ${printable(one)}`));
    details.push(...test.error.map(printable));
  }
  details.push(...test.printed.map((line) => `${paint("dim", "printed |")} ${printable(line)}`));
  return [head, ...details.map((detail) => `               ${detail}`)];
}

function summary(totals: Totals, milliseconds: number, paint: Paint): string {
  const failed = totals.failed + totals.errors > 0;
  const parts = [`${totals.passed} passed`, ...exceptions(totals)].join(", ");
  return `${amountText(totals.tests, "test")}: ${paint(failed ? "red" : "green", parts)} ${paint("dim", `in ${duration(milliseconds)}`)}`;
}

export function isFailure({ outcome }: PolicyTest): boolean {
  return outcome === "fail" || outcome === "error";
}

function exceptions({ failed, errors, skipped }: Totals): readonly string[] {
  return [
    failed > 0 ? `${failed} failed` : "",
    errors > 0 ? amountText(errors, "error") : "",
    skipped > 0 ? `${skipped} skipped` : "",
  ].filter(Boolean);
}

function duration(milliseconds: number) {
  return milliseconds >= 1_000
    ? `${(milliseconds / 1_000).toFixed(2)} s`
    : `${milliseconds.toFixed(1)} ms`;
}

function coverageReport({ files, constraints }: Coverage, paint: Paint): readonly string[] {
  const all = { path: "all files", missed: [], ...linesOf(files) };
  const fileLines = [...files, all].map((file) => fileLine(file, paint));
  const table = constraints.length === 0 ? [] : ["", ...constraintTable(constraints, paint)];
  return [paint("bold", "Lines that the tests reach"), ...fileLines, ...table];
}

function fileLine(file: FileCoverage, paint: Paint): string {
  const percentage = `${percentText(linePercentage([file]))} %`.padStart(7);
  const missed = file.missed.length === 0 ? "" : `  not reached: ${ranges(file.missed)}`;
  return `  ${paint(file.missed_lines === 0 ? "green" : "yellow", percentage)}  ${printable(file.path)}${missed}`;
}

/** `3, 7-9` of 3, 7, 8, 9. */
export function ranges(lines: readonly number[]): string {
  const found: [number, number][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === line - 1) last[1] = line;
    else found.push([line, line]);
  }
  return found
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
    .join(", ");
}

/** Number of tests that cover each verdict and each reason; 0 is a gap. */
function constraintTable(
  constraints: readonly CoveredConstraint[],
  paint: Paint,
): readonly string[] {
  const names = constraints.map(({ policy, constraint }) => `${policy} ${constraint}`);
  const width = Math.max(10, ...names.map((name) => name.length));
  const head = `  ${"".padEnd(width)}  pass  fail  indeterminate  reasons`;
  const amount = (value: number, columns: number): string => {
    const text = String(value).padStart(columns);
    return value === 0 ? paint("red", text) : text;
  };
  const rows = constraints.map(({ verdicts, reasons }, index) => {
    const reasonCells = reasons
      .map(({ reason, tests }) => `${reason} ${amount(tests, 1)}`)
      .join(", ");
    // A test of an indeterminate verdict is not required, so 0 is not a gap there.
    const indeterminate = String(verdicts.indeterminate).padStart(13);
    const cells = [amount(verdicts.pass, 4), amount(verdicts.fail, 4), indeterminate, reasonCells];
    return `  ${(names[index] ?? "").padEnd(width)}  ${cells.join("  ")}`;
  });
  return [paint("bold", "Tests that have seen each verdict and each reason"), head, ...rows];
}

/**
 * JUnit XML as CI servers read it: a suite for each policy. Findings that fail the run are cases
 * too, in a suite of their own, because a report without a failure reads as a success.
 *
 * @param run `null` where the policies do not compile.
 * @param findings those that fail the run.
 */
export function formatJunit(run: TestRun | null, findings: readonly Diagnostic[]): string {
  const suites = (run?.policies ?? []).filter(({ tests }) => tests.length > 0).map(suiteOf);
  if (findings.length > 0) {
    suites.push({
      name: "findings",
      file: null,
      cases: findings.map(findingCase),
      seconds: seconds(0),
    });
  }
  return formatJunitXml("signalbox policy test", suites, seconds(run?.milliseconds ?? 0));
}

function suiteOf({ id, file, tests }: TestedPolicy): JunitSuite {
  const cases = tests.map((test) => caseOf(id, test));
  return { name: id, file, cases, seconds: seconds(totalsOf(tests).milliseconds) };
}

const JUNIT_OUTCOMES = {
  pass: "passed",
  skip: "skipped",
  error: "error",
  fail: "failure",
} as const;

function caseOf(className: string, test: PolicyTest): JunitCase {
  const { name, file, line, column, printed, milliseconds, outcome, error, cases } = test;
  const reasons = outcome === "error" ? error : cases.map((text) => `failing case: ${text}`);
  const fallback = outcome === "error" ? "error" : "the test failed";
  return {
    name,
    className,
    position: { file, line },
    outcome: JUNIT_OUTCOMES[outcome],
    message: isFailure(test) ? (reasons[0] ?? fallback) : null,
    lines: isFailure(test) ? [`${file}:${line}:${column}`, ...reasons] : [],
    output: printed,
    seconds: seconds(milliseconds),
  };
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

function seconds(milliseconds: number) {
  return (milliseconds / 1_000).toFixed(6);
}

/**
 * Version 1 of this form: members are only ever added. Names are those of
 * `signalbox check --format json` for the same facts.
 *
 * @param run `null` where the policies do not compile.
 */
export function formatTestJson(run: TestRun | null, diagnostics: readonly Diagnostic[]): string {
  const { milliseconds: _ofTests, ...totals } = totalsOf(
    run?.policies.flatMap(({ tests }) => tests) ?? [],
  );
  const { files = [], constraints } = run?.coverage ?? {};
  const coverage =
    constraints === undefined
      ? null
      : { percent: Number(percentText(linePercentage(files))), files, constraints };
  const document = {
    version: 1,
    ...totals,
    milliseconds: run?.milliseconds ?? 0,
    policies: run?.policies ?? [],
    coverage,
    diagnostics,
  };
  return jsonText(document);
}

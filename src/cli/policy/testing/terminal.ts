import { printable, amountOf } from "../../terminal/printing.ts";
import {
  linePercentage,
  percentText,
  totalsOf,
  type Coverage,
  type CoveredConstraint,
  type CoveredFile,
  type PolicyTest,
  type TestedPolicy,
  type TestRun,
  type Totals,
} from "./test-run.ts";
import { painter, type Paint, type Style } from "../../terminal/layout.ts";

interface TerminalOptions {
  readonly colour: boolean;
  /** Lists the tests that passed too, with what they printed. */
  readonly verbose: boolean;
}

/** A block for each policy, what failed in it, and one line for all. Gaps are not here: they are printed as findings. */
export function formatRun({ policies, coverage, milliseconds }: TestRun, options: TerminalOptions): string {
  const paint = painter(options.colour);
  const width = Math.max(0, ...policies.map(({ id }) => id.length));
  const lines = policies.flatMap((policy) => policyLines(policy, width, options.verbose, paint));
  const totals = totalsOf(policies.flatMap(({ tests }) => tests));
  const coverageLines = coverage === null ? [] : ["", ...coverageReport(coverage, paint)];
  return `${[...lines, "", summary(totals, milliseconds, paint), ...coverageLines].join("\n")}\n`;
}

function policyLines({ id, tests }: TestedPolicy, width: number, verbose: boolean, paint: Paint): readonly string[] {
  const totals = totalsOf(tests);
  const failed = totals.failed + totals.errors > 0;
  const result = failed ? paint("red", "FAIL") : tests.length === 0 ? paint("yellow", "NONE") : paint("green", "PASS");
  const amounts = tests.length === 0 ? "no tests" : [amountOf(tests.length, "test"), ...exceptions(totals)].join(", ");
  const time = tests.length === 0 ? "" : `  ${paint("dim", duration(totals.milliseconds))}`;
  const shown = tests.filter(({ outcome }) => verbose || outcome === "fail" || outcome === "error");
  return [
    `${result}  ${printable(id).padEnd(width)}  ${amounts}${time}`,
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
  if (test.outcome === "fail" || test.outcome === "error") {
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
  return `${amountOf(totals.tests, "test")}: ${paint(failed ? "red" : "green", parts)} ${paint("dim", `in ${duration(milliseconds)}`)}`;
}

function exceptions({ failed, errors, skipped }: Totals): readonly string[] {
  return [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(errors > 0 ? [amountOf(errors, "error")] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
}

function duration(milliseconds: number): string {
  return milliseconds >= 1_000 ? `${(milliseconds / 1_000).toFixed(2)} s` : `${milliseconds.toFixed(1)} ms`;
}

function coverageReport({ files, constraints }: Coverage, paint: Paint): readonly string[] {
  const all = { path: "all files", missed: [], ...sumOf(files) };
  const fileLines = [...files, all].map((file) => fileLine(file, paint));
  const table = constraints.length === 0 ? [] : ["", ...constraintTable(constraints, paint)];
  return [paint("bold", "Lines that the tests reach"), ...fileLines, ...table];
}

function sumOf(files: readonly CoveredFile[]): Pick<CoveredFile, "coveredLines" | "missedLines"> {
  return {
    coveredLines: files.reduce((sum, { coveredLines }) => sum + coveredLines, 0),
    missedLines: files.reduce((sum, { missedLines }) => sum + missedLines, 0),
  };
}

function fileLine(file: CoveredFile, paint: Paint): string {
  const percentage = `${percentText(linePercentage([file]))} %`.padStart(7);
  const missed = file.missed.length === 0 ? "" : `  not reached: ${ranges(file.missed)}`;
  return `  ${paint(file.missedLines === 0 ? "green" : "yellow", percentage)}  ${printable(file.path)}${missed}`;
}

/** `3, 7-9` of 3, 7, 8, 9. */
export function ranges(lines: readonly number[]): string {
  const found: [number, number][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === line - 1) last[1] = line;
    else found.push([line, line]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(", ");
}

/** How many tests have seen each verdict and each reason; a nought is a gap. */
function constraintTable(constraints: readonly CoveredConstraint[], paint: Paint): readonly string[] {
  const names = constraints.map(({ policy, constraint }) => `${policy} ${constraint}`);
  const width = Math.max(10, ...names.map((name) => name.length));
  const head = `  ${"".padEnd(width)}  pass  fail  indeterminate  reasons`;
  const amount = (value: number, columns: number): string => {
    const text = String(value).padStart(columns);
    return value === 0 ? paint("red", text) : text;
  };
  const rows = constraints.map(({ verdicts, reasons }, index) => {
    const given = reasons.map(({ reason, tests }) => `${reason} ${amount(tests, 1)}`).join(", ");
    // A test of an indeterminate verdict is not required, so 0 is not a gap there.
    const indeterminate = String(verdicts.indeterminate).padStart(13);
    const cells = [amount(verdicts.pass, 4), amount(verdicts.fail, 4), indeterminate, given];
    return `  ${(names[index] ?? "").padEnd(width)}  ${cells.join("  ")}`;
  });
  return [paint("bold", "Tests that have seen each verdict and each reason"), head, ...rows];
}

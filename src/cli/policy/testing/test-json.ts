import type { Diagnostic } from "../../../canon/diagnostic.ts";
import { linePercentage, percentText, totalsOf, type Coverage, type PolicyTest, type TestRun } from "./test-run.ts";
import { jsonText } from "../../terminal/printing.ts";

/**
 * Version 1 of this form: members are only ever added. Names are those of `signalbox check --format json` where both say
 * the same.
 *
 * @param run `null` where the policies do not compile.
 */
export function formatTestJson(run: TestRun | null, diagnostics: readonly Diagnostic[]): string {
  const { milliseconds: _ofTests, ...totals } = totalsOf(run?.policies.flatMap(({ tests }) => tests) ?? []);
  const document = {
    version: 1,
    ...totals,
    milliseconds: run?.milliseconds ?? 0,
    policies: run?.policies.map(({ id, file, tests }) => ({ id, file, tests: tests.map(testDocument) })) ?? [],
    coverage: run === null || run.coverage === null ? null : coverageDocument(run.coverage),
    diagnostics,
  };
  return jsonText(document);
}

function testDocument({ name, outcome, file, line, column, cases, printed, error, milliseconds }: PolicyTest): object {
  return { name, outcome, file, line, column, cases, printed, error, milliseconds };
}

function coverageDocument({ files, constraints }: Coverage): object {
  return {
    percent: Number(percentText(linePercentage(files))),
    files: files.map(({ path, coveredLines, missedLines, missed }) => ({
      path,
      covered_lines: coveredLines,
      missed_lines: missedLines,
      missed,
    })),
    constraints: constraints.map(({ policy, constraint, effect, verdicts, reasons }) => ({
      policy,
      constraint,
      effect,
      verdicts,
      reasons,
    })),
  };
}

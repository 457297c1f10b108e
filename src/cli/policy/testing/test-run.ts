import type { Diagnostic } from "../../../canon/diagnostic.ts";
import type { ConstraintEffect, Verdict } from "../../../canon/policy.ts";
import type { FileCoverage } from "../../../policy/toolchain/protocol.ts";

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
  /** What ended it, where the outcome is `error`; lines. */
  readonly error: readonly string[];
  readonly milliseconds: number;
}

/** The tests of one policy, in the order of the file. */
export interface TestedPolicy {
  /** A policy's id; `lib/<name>` for tests that stand in a library. */
  readonly id: string;
  /** Where its tests stand or should stand. */
  readonly file: string;
  readonly tests: readonly PolicyTest[];
}

export interface TestRun {
  /** Sorted by id; a policy without tests stands here too. */
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
  /** What no test has seen, sorted like every report. */
  readonly gaps: readonly Diagnostic<GapCode>[];
}

export interface CoveredConstraint {
  readonly policy: string;
  readonly constraint: string;
  readonly effect: ConstraintEffect;
  /** How many tests have seen it give the verdict. */
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Declared reasons in their order, each with how many tests have seen it given. */
  readonly reasons: readonly { readonly reason: string; readonly tests: number }[];
}

export type GapCode =
  | "POLICY_NOT_TESTED"
  | "CONSTRAINT_NEVER_SEEN_PASSING"
  | "CONSTRAINT_NEVER_SEEN_FAILING"
  | "REASON_NEVER_SEEN"
  | "COVERAGE_BELOW_THRESHOLD";

type LineCounts = Pick<FileCoverage, "covered_lines" | "missed_lines">;

/** How many tests ended how. */
export interface Totals {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly skipped: number;
  readonly milliseconds: number;
}

export function totalsOf(tests: readonly PolicyTest[]): Totals {
  const amount = (outcome: PolicyTest["outcome"]): number => tests.filter((test) => test.outcome === outcome).length;
  return {
    tests: tests.length,
    passed: amount("pass"),
    failed: amount("fail"),
    errors: amount("error"),
    skipped: amount("skip"),
    milliseconds: tests.reduce((sum, { milliseconds }) => sum + milliseconds, 0),
  };
}

export function linesOf(files: readonly LineCounts[]): LineCounts {
  return {
    covered_lines: files.reduce((sum, file) => sum + file.covered_lines, 0),
    missed_lines: files.reduce((sum, file) => sum + file.missed_lines, 0),
  };
}

/** Lines reached out of those that could be, 0 to 100; 100 where there is nothing to reach. */
export function linePercentage(files: readonly LineCounts[]): number {
  const { covered_lines: covered, missed_lines: missed } = linesOf(files);
  return covered + missed === 0 ? 100 : (100 * covered) / (covered + missed);
}

/** One decimal, rounded down: 99.96 is not 100.0. */
export function percentText(percentage: number): string {
  return (Math.floor(percentage * 10) / 10).toFixed(1);
}

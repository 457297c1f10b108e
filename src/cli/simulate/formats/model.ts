import { isWithoutEffect } from "../../../simulate/report/cause-parts.ts";
import type { View } from "../../../simulate/sample-request.ts";
import type {
  AssertionResult,
  AssertionsReport,
  CauseReport,
  ChangedEntry,
  CoverageResult,
  UnusedFinding,
  SimulationReport,
} from "../../../simulate/report/report.ts";
import type { Verdict } from "../exit-code.ts";
import { valueText } from "./wording/change-wording.ts";
import {
  policyDifferences,
  promotedDifference,
  spaceText,
  unchangedText,
  verdictText,
  type PolicyDifference,
  type PromotedDifference,
} from "./wording/comparison.ts";
import {
  assertionCounts,
  coverageJudgement,
  coverageText,
  needlessWaiver,
  viewText,
  statusText,
  type CoverageJudgement,
} from "./wording/messages.ts";

/** What a format gets besides the report. */
export interface FormatContext {
  readonly colour: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  /**
   * SHA-256 of the JSON report, in hexadecimal: what an approver signs; `null` where it was not
   * made.
   */
  readonly reportDigest: string | null;
  /** What the command ends with; `null` where the report is printed by itself. */
  readonly verdict?: Verdict | null;
  /**
   * `false`: the terminal leaves variants by condition, changed reasons, coverage and unused rules
   * out, and says how many there are.
   */
  readonly all?: boolean;
}

/** A report with its texts, made once: every format but JSON prints this. */
export interface ReportModel extends Omit<SimulationReport, "assertions"> {
  readonly assertions: AssertionsModel | null;
  /** Causes that change more than text or the order of a list. */
  readonly changing: readonly CauseReport[];
  /** What differs as if candidates were promoted. */
  readonly difference: PromotedDifference;
  /** `null` where some request is treated differently. */
  readonly unchanged: ReturnType<typeof unchangedText>;
  readonly policyDifferences: readonly PolicyDifference[];
  /** Findings that base does not have. */
  readonly newFindings: readonly UnusedFinding[];
  /** One sentence without a full stop for each of the two comparisons. */
  readonly verdicts: Readonly<Record<View, string>>;
  /** "3,184 classes stand for 1,926,400 request shapes" */
  readonly spaceText: string;
}

interface AssertionsModel extends Omit<AssertionsReport, "results" | "coverage"> {
  /** In the order of the file. */
  readonly results: readonly AssertionModel[];
  /** Failures first, then waived ones. */
  readonly worstFirst: readonly AssertionModel[];
  readonly coverage: readonly CoverageModel[];
  readonly failedGates: readonly CoverageModel[];
  /** "1 failed, 1 waived, 12 passed" */
  readonly counts: string;
}

export interface AssertionModel extends AssertionResult {
  /** The status, which an incomplete run qualifies. */
  readonly label: string;
  /** "as declared and as if promoted" */
  readonly lookedAt: string;
  /** That the waiver can go; `null` where it cannot, or there is none. */
  readonly needless: string | null;
}

export interface CoverageModel extends CoverageResult {
  readonly title: string;
  readonly judgement: CoverageJudgement;
  /** "12 of 14 (85.7 %), 90 % required" */
  readonly text: string;
}

export function modelOf(report: SimulationReport): ReportModel {
  const { base, head, findings, declared, promoted } = report;
  const causes = report.causes.map((cause) => ({ ...cause, entries: worstFirst(cause.entries) }));
  return {
    ...report,
    causes,
    changing: causes.filter((cause) => !isWithoutEffect(cause)),
    assertions: assertionsOf(report),
    difference: promotedDifference(report),
    unchanged: unchangedText(report),
    policyDifferences: policyDifferences(base, head),
    newFindings: findings.filter(({ in_base: known }) => !known),
    verdicts: { declared: verdictText(declared, report), promoted: verdictText(promoted, report) },
    spaceText: spaceText(report),
  };
}

/** An endpoint's other provider comes before the approvals that it needs: headlines have the first. */
function worstFirst(entries: CauseReport["entries"]): CauseReport["entries"] {
  const isMoved = ({ kind, path }: ChangedEntry): boolean =>
    kind === "endpoint" && path.endsWith(".provider");
  return entries[0]?.kind === "workspace"
    ? entries.toSorted((left, right) => Number(isMoved(right)) - Number(isMoved(left)))
    : entries;
}

const STATUSES = ["FAIL", "WAIVED", "PASS"] as const;

function assertionsOf({ assertions, complete }: SimulationReport): AssertionsModel | null {
  if (assertions === null) return null;
  const results = assertions.results.map((result) => ({
    ...result,
    label: statusText(result, complete),
    lookedAt: viewText(result),
    needless: needlessWaiver(result, complete),
  }));
  const coverage = assertions.coverage.map((result) => ({
    ...result,
    title: valueText(result.what),
    judgement: coverageJudgement(result, complete),
    text: coverageText(result),
  }));
  return {
    ...assertions,
    results,
    worstFirst: STATUSES.flatMap((status) => results.filter((result) => result.status === status)),
    coverage,
    failedGates: coverage.filter(({ judgement }) => judgement === "FAIL"),
    counts: assertionCounts(assertions, complete),
  };
}

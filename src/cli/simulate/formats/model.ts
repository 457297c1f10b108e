import type {
  AssertionResult,
  AssertionsReport,
  CauseReport,
  ChangedEntry,
  DimensionCut,
  EvidenceReport,
  SimulationReport,
} from "../../../simulate/report/report.ts";
import { isWithoutEffect } from "../../../simulate/report/cause-parts.ts";
import {
  amountText,
  capitalised,
  classesText,
  joinTexts,
  listText,
  numberText,
  percentageText,
} from "../../terminal/printing.ts";
import type { Verdict } from "../exit-code.ts";
import {
  policyDifferences,
  promotedDifference,
  spaceText,
  unchangedText,
  valueText,
  verdictText,
} from "./wording/comparison.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { sampleText } from "./wording/results.ts";

/** Input of a format besides the report. */
export interface FormatContext {
  readonly colour: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  /**
   * SHA-256 of the JSON report, in hexadecimal: what an approver signs; `null` where it was not
   * made.
   */
  readonly reportDigest: string | null;
  /** The outcome of the command; `null` where a report is printed without one. */
  readonly verdict?: Verdict | null;
  /**
   * `false`: the terminal leaves variants by condition, changed reasons, coverage and unused rules
   * out, and prints how many there are.
   */
  readonly all?: boolean;
}

/** A report with its texts, made once: every format but JSON prints this. */
export type ReportModel = ReturnType<typeof modelOf>;
type AssertionsModel = ReturnType<typeof assertionsOf>;
export type AssertionModel = AssertionsModel["results"][number];
export type CoverageModel = AssertionsModel["coverage"][number];

export function modelOf(report: SimulationReport) {
  const { base, head, findings, declared, promoted, assertions, complete } = report;
  const causes = report.causes.map((cause) => ({ ...cause, entries: worstFirst(cause.entries) }));
  return {
    ...report,
    causes,
    /** Causes that change more than text or the order of a list. */
    changing: causes.filter((cause) => !isWithoutEffect(cause)),
    assertions: assertions && assertionsOf(assertions, complete),
    /** Changes that only promotion makes. */
    difference: promotedDifference(report),
    /** `null` where some request is treated differently. */
    unchanged: unchangedText(report),
    policyDifferences: policyDifferences(base, head),
    /** Findings that base does not have. */
    newFindings: findings.filter(({ in_base: inBase }) => !inBase),
    /** One sentence without a full stop for each of the two comparisons. */
    verdicts: { declared: verdictText(declared, report), promoted: verdictText(promoted, report) },
    /** "3,184 classes stand for 1,926,400 request shapes" */
    spaceText: spaceText(report),
  };
}

/**
 * An endpoint's other provider comes before the approvals that it needs: headlines have the first.
 */
function worstFirst(entries: CauseReport["entries"]): CauseReport["entries"] {
  const movesProvider = ({ kind, path }: ChangedEntry) =>
    kind === "endpoint" && path.endsWith(".provider");
  return entries[0]?.kind === "workspace"
    ? entries.toSorted((left, right) => Number(movesProvider(right)) - Number(movesProvider(left)))
    : entries;
}

const STATUSES = ["FAIL", "WAIVED", "PASS"] as const;

const VIEW_TEXTS = {
  declared: "as declared",
  promoted: "as if promoted",
  both: "as declared and as if promoted",
} as const;

function assertionsOf(assertions: AssertionsReport, complete: boolean) {
  const { passed, failed, waived } = assertions;
  const results = assertions.results.map((result) => {
    const { status, view, waiver } = result;
    const isPassed = status === "PASS";
    return {
      ...result,
      /** The status: in an incomplete run other classes may break what passes so far. */
      label: isPassed && !complete ? "PASS so far" : status,
      /** An assertion may fail in one of both views only, which its message names. */
      lookedAt: VIEW_TEXTS[view],
      /**
       * That the waiver can go; `null` where it is needed, maybe by classes not decided, or absent.
       */
      needless:
        isPassed && waiver !== null && complete
          ? `the waiver can go (${waiverText(waiver)})`
          : null,
    };
  });
  const coverage = assertions.coverage.map((result) => {
    const { what, covered, of, required, status } = result;
    const share = of === 0 ? "" : ` (${percentageText(covered, of)})`;
    return {
      ...result,
      title: valueText(what),
      /** A measure without a gate does not pass, and an incomplete run may have missed requests. */
      judgement: required === null ? "not gated" : complete ? status : "not judged",
      /** "12 of 14 (85.7 %), 90 % required" */
      text: `${numberText(covered)} of ${numberText(of)}${share}${required === null ? "" : `, ${required} % required`}`,
    } as const;
  });
  const counts = [
    failed === 0 ? "" : `${numberText(failed)} failed`,
    waived === 0 ? "" : `${numberText(waived)} waived`,
    passed === 0 ? "" : `${numberText(passed)} ${complete ? "passed" : "passed so far"}`,
  ];
  return {
    ...assertions,
    /** In the order of the file. */
    results,
    worstFirst: STATUSES.flatMap((status) => results.filter((result) => result.status === status)),
    coverage,
    failedGates: coverage.filter(({ judgement }) => judgement === "FAIL"),
    /** "1 failed, 1 waived, 12 passed" */
    counts: joinTexts(counts) || "none",
  };
}

export function waiverText({
  until,
  owner,
  reason,
}: NonNullable<AssertionResult["waiver"]>): string {
  return `until ${until} by ${owner}: ${reason}`;
}

/** Why an assertion does not hold, with the request that shows it. */
export function assertionLinesOf(result: AssertionModel): readonly string[] {
  const { message, violations, classes, example, explain, waiver } = result;
  return [
    message ?? "The assertion fails.",
    ...(violations === 0
      ? []
      : [
          `Violated by ${numberText(violations)} of ${classesText(classes)}.`,
          `Looked at ${result.lookedAt}.`,
        ]),
    ...(waiver === null
      ? []
      : [`${waiver.expired ? "The waiver has expired" : "Waived"}: ${waiverText(waiver)}`]),
    ...(example === null ? [] : [`Example: ${sampleText(example)}`]),
    ...(explain === null ? [] : [`Try: ${explainCommand(explain)}`]),
  ];
}

/** The limits of an incomplete run. */
export const INCOMPLETE =
  "Not every class of requests was decided. A pass covers the decided ones only; coverage and unused parts are not judged.";

export function cutText(cut: DimensionCut): string {
  return `${cut.dimension}: ${keptText(cut)}`;
}

/** "1 of 8 values", the costliest part of the run, and how to get further. */
export function keptText({
  values,
  kept,
  costliest,
  widest,
  ended_by: endedBy,
}: DimensionCut): string {
  const amount = `${numberText(kept)} of ${amountText(values, "value")}`;
  const raise =
    endedBy === "memory"
      ? "Give it more memory (NODE_OPTIONS=--max-old-space-size=8192)"
      : "Raise --time-limit";
  if (widest !== undefined) {
    const { route, providers, sets } = widest;
    const why = `route ${route} has ${amountText(providers, "provider")}, of which callers can leave ${amountText(sets, "set")}`;
    return `${amount}; ${why}. ${raise}, or split the route`;
  }
  if (costliest === undefined) return amount;
  const { policy, evaluations, dimension, distinguished } = costliest;
  const most = `policy ${policy} was evaluated most, ${amountText(evaluations, "time")}`;
  const why = `it distinguishes about ${amountText(distinguished, "value")} of ${dimension}`;
  return `${amount}; ${most}: ${why}. ${raise}, or let the policy read less of ${dimension}`;
}

/** Meaning of PASS in an incomplete run. */
export const SO_FAR = "only the classes that were decided were looked at";

/** Why coverage and unused rules are not reported. */
export const NOT_JUDGED = "not judged: not every class of requests was decided";

export function coverageMessage({ title, text, missing }: CoverageModel): string {
  const missingText = missing.length === 0 ? "" : `; missing: ${listText(missing)}`;
  return `${capitalised(title)} covered by all requests of head: ${text}${missingText}`;
}

/**
 * Why counts from evidence may be less than true; without a full stop, and empty where nothing is
 * wrong.
 */
export function evidenceCautions({
  not_reproduced: otherwise,
  unreadable,
}: EvidenceReport): readonly string[] {
  const cautions: string[] = [];
  if (otherwise > 0) {
    cautions.push(
      `${amountText(otherwise, "decision was", "decisions were")} made differently than base decides: under other files, or with data that an older record does not have`,
    );
  }
  if (unreadable > 0) {
    cautions.push(`${amountText(unreadable, "line is", "lines are")} not evidence and not counted`);
  }
  return cautions;
}

import type {
  AssertionResult,
  AssertionsReport,
  CoverageResult,
  DimensionCut,
  EvidenceReport,
} from "../../../../simulate/report/report.ts";
import {
  amountText,
  capitalised,
  classesText,
  listText,
  numberText,
  percentageText,
} from "../../../terminal/printing.ts";
import { valueText } from "./change-wording.ts";
import { sampleText } from "./results.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";

/** Why an assertion does not hold, with the request that shows it. */
export function assertionLinesOf(result: AssertionResult): readonly string[] {
  const { message, violations, classes, example, explain, waiver } = result;
  return [
    message ?? "The assertion fails.",
    ...(violations === 0
      ? []
      : [
          `Violated by ${numberText(violations)} of ${classesText(classes)}.`,
          `Looked at ${viewText(result)}.`,
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

/** "1 of 8 values", and what took the time: a reader has to know what to change. */
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

/** What a pass of an incomplete run means. */
export const SO_FAR = "only the classes that were decided were looked at";

/** Why coverage and unused rules are not reported. */
export const NOT_JUDGED = "not judged: not every class of requests was decided";

/** "PASS so far" where not every class was decided: the others may break it. */
export function statusText({ status }: AssertionResult, complete: boolean): string {
  return status === "PASS" && !complete ? "PASS so far" : status;
}

export type CoverageJudgement = "PASS" | "FAIL" | "not gated" | "not judged";

/** A measure without a gate does not pass, and an incomplete run may have missed requests. */
export function coverageJudgement(
  { required, status }: CoverageResult,
  complete: boolean,
): CoverageJudgement {
  if (required === null) return "not gated";
  return complete ? status : "not judged";
}

export const COVERAGE_TITLE = "Coverage by all requests of head";

/**
 * "the waiver can go (until 2026-12-01 by platform: …)"; `null` where it is needed, or may be in
 * classes that were not decided.
 */
export function needlessWaiver(
  { status, waiver }: AssertionResult,
  complete: boolean,
): string | null {
  if (status !== "PASS" || waiver === null || !complete) return null;
  return `the waiver can go (${waiverText(waiver)})`;
}

/** "1 failed, 1 waived, 12 passed". */
export function assertionCounts(
  { passed, failed, waived }: AssertionsReport,
  complete: boolean,
): string {
  const counts: readonly (readonly [number, string])[] = [
    [failed, "failed"],
    [waived, "waived"],
    [passed, complete ? "passed" : "passed so far"],
  ];
  const some = counts
    .filter(([count]) => count > 0)
    .map(([count, outcome]) => `${numberText(count)} ${outcome}`);
  return some.length === 0 ? "none" : some.join(", ");
}

/** The views of an assertion; it may fail in one of both only, which its message names. */
export function viewText({ view }: AssertionResult): string {
  return {
    declared: "as declared",
    promoted: "as if promoted",
    both: "as declared and as if promoted",
  }[view];
}

export function waiverText({
  until,
  owner,
  reason,
}: NonNullable<AssertionResult["waiver"]>): string {
  return `until ${until} by ${owner}: ${reason}`;
}

/** "12 of 14 (85.7 %), 90 % required". */
export function coverageText({ covered, of, required }: CoverageResult): string {
  const share = of === 0 ? "" : ` (${percentageText(covered, of)})`;
  return `${numberText(covered)} of ${numberText(of)}${share}${required === null ? "" : `, ${required} % required`}`;
}

export function coverageMessage(result: CoverageResult): string {
  const missing = result.missing.length === 0 ? "" : `; missing: ${listText(result.missing)}`;
  return `${capitalised(valueText(result.what))} covered by all requests of head: ${coverageText(result)}${missing}`;
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

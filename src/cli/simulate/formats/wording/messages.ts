import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import type { DimensionCut, EvidenceReport } from "../../../../simulate/report/report.ts";
import {
  amountText,
  capitalised,
  classesText,
  listText,
  numberText,
} from "../../../terminal/printing.ts";
import { waiverText, type AssertionModel, type CoverageModel } from "../model.ts";
import { sampleText } from "./results.ts";

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
  const left = missing.length === 0 ? "" : `; missing: ${listText(missing)}`;
  return `${capitalised(title)} covered by all requests of head: ${text}${left}`;
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

import type {
  AssertionResult,
  AssertionsReport,
  ChangeGroup,
  CoverageResult,
  DataPath,
  DimensionCut,
  EvidenceReport,
} from "../../../../simulate/report/report.ts";
import { amountText, classesText, extentText, listText, numberText, percentageText, seenText } from "./amounts.ts";
import { COVERAGE_WORDING, titleOf } from "./change-words.ts";
import { pointText, shortResults } from "./results.ts";
import { explainCommand } from "./shell.ts";

/** Sentences that stand alone, for formats that machines read and people click on. */
export function groupMessage(group: ChangeGroup): string {
  const { lines, left } = shortResults(group);
  const changed = lines
    .filter(({ mark }) => mark !== null)
    .map(({ mark, text, note }) => `${mark} ${text}${note === "" ? "" : ` (${note})`}`);
  const more = left === 0 ? [] : [`… ${amountText(left, "more line")}`];
  const seen = seenText(group.seen);
  const extent = seen === null ? extentText(group) : `${extentText(group)}, ${seen}`;
  const who = `${listText(group.workspaces)} asking ${listText(group.routes, 4)}`;
  return [`${titleOf(group.words)}: ${who} (${extent})`, ...changed, ...more, tryLine(group.explain)].join("\n");
}

export function pathMessage({ workspace, operation, provider, region, routes, seen, explain }: DataPath): string {
  const often = seenText(seen);
  const by = `by ${listText(routes, 4)}${often === null ? "" : `, ${often}`}`;
  return `New data path: ${workspace} ${operation} → ${provider} in ${region}, ${by}\n${tryLine(explain)}`;
}

/** Why an assertion does not hold, with the request that shows it. */
export function assertionLinesOf(result: AssertionResult): readonly string[] {
  const { message, violations, classes, witness, explain, waiver } = result;
  return [
    message ?? "The assertion does not hold.",
    ...(violations === 0
      ? []
      : [`Violated by ${numberText(violations)} of ${classesText(classes)}.`, `Looked at ${standpointText(result)}.`]),
    ...(waiver === null ? [] : [`${waiver.expired ? "The waiver has expired" : "Waived"}: ${waiverText(waiver)}`]),
    ...(witness === null ? [] : [`Witness: ${pointText(witness)}`]),
    ...(explain === null ? [] : [tryLine(explain)]),
  ];
}

function tryLine(explain: readonly string[]): string {
  return `Try: ${explainCommand(explain)}`;
}

export function cutText({ dimension, values, kept }: DimensionCut): string {
  return `${dimension}: ${numberText(kept)} of ${amountText(values, "value")} decided`;
}

/** "1 failed, 1 waived, 12 passed". */
export function assertionCounts({ passed, failed, waived }: AssertionsReport): string {
  const counts: readonly (readonly [number, string])[] = [
    [failed, "failed"],
    [waived, "waived"],
    [passed, "passed"],
  ];
  const some = counts.filter(([count]) => count > 0).map(([count, word]) => `${numberText(count)} ${word}`);
  return some.length === 0 ? "none" : some.join(", ");
}

/** From where an assertion looks at requests; it may fail from one of both only, which its message says. */
export function standpointText({ standpoint }: AssertionResult): string {
  return { declared: "as declared", promoted: "as if promoted", both: "as declared and as if promoted" }[standpoint];
}

export function waiverText({ until, owner, reason }: NonNullable<AssertionResult["waiver"]>): string {
  return `until ${until} by ${owner}: ${reason}`;
}

/** "12 of 14 (85.7 %), 90 % required". */
export function coverageText({ covered, of, required }: CoverageResult): string {
  const share = of === 0 ? "" : ` (${percentageText(covered, of)})`;
  return `${numberText(covered)} of ${numberText(of)}${share}${required === null ? "" : `, ${required} % required`}`;
}

export function coverageMessage(result: CoverageResult): string {
  const missing = result.missing.length === 0 ? "" : `; missing: ${listText(result.missing)}`;
  return `Assertions cover ${coverageText(result)} ${COVERAGE_WORDING[result.what]}${missing}`;
}

/** Why counts from evidence may be less than true; without a full stop, and empty where nothing is wrong. */
export function evidenceCautions({ not_reproduced: otherwise, unreadable }: EvidenceReport): readonly string[] {
  const cautions: string[] = [];
  if (otherwise > 0) {
    cautions.push(
      `${amountText(otherwise, "decision was", "decisions were")} made otherwise than base decides: under other files, or by what evidence does not hold`,
    );
  }
  if (unreadable > 0) {
    cautions.push(`${amountText(unreadable, "line is", "lines are")} no evidence and not counted`);
  }
  return cautions;
}

import type {
  AssertionResult,
  CoverageResult,
  EvidenceReport,
  SimulationReport,
} from "../../../../simulate/report/report.ts";
import { amountText, classesText, listText, numberText, percentageText } from "../wording/amounts.ts";
import { COVERAGE_WORDING, FINDING_WORDING } from "../wording/change-words.ts";
import { newFindings } from "../wording/comparison.ts";
import { assertionCounts, coverageText, evidenceCautions, standpointText, waiverText } from "../wording/messages.ts";
import { pointText } from "../wording/results.ts";
import { explainCommand } from "../wording/shell.ts";
import { columnWidth, moreLine, placed } from "./changes.ts";
import { BLANK, commandLine, line, nameLine, padded, span, type Line, type Style } from "./layout.ts";

const MOST = 20;

/** What no request meets any more; what was so in base already is only counted. */
export function findingLines(report: SimulationReport): readonly Line[] {
  const found = newFindings(report);
  const known = report.findings.length - found.length;
  if (report.findings.length === 0) return [];
  const inBase = known === 0 ? "" : `; ${numberText(known)} more ${known === 1 ? "is" : "are"} so in base already`;
  const shown = found.slice(0, MOST);
  const width = columnWidth(shown.map(({ kind }) => FINDING_WORDING[kind]));
  return [
    BLANK,
    line(0, span("Never met by any request", "bold"), span(` (${numberText(found.length)} new in head${inBase})`)),
    ...shown.map(({ kind, subject, place }) =>
      line(
        2,
        span("! ", "yellow"),
        span(`${padded(FINDING_WORDING[kind], width)}  `),
        span(subject, "bold"),
        span(place === null ? "" : `  ${placed(place)}`, "dim"),
      ),
    ),
    ...moreLine(found.length - shown.length, "finding"),
  ];
}

export function otherChangeLines({ other_changes: changes }: SimulationReport): readonly Line[] {
  if (changes.length === 0) return [];
  const shown = changes.slice(0, MOST);
  return [
    BLANK,
    line(
      0,
      span("Other changes", "bold"),
      span(` (${numberText(changes.length)}; they decide nothing about where requests go)`),
    ),
    ...shown.map((change) => line(2, span("~ ", "yellow"), span(change))),
    ...moreLine(changes.length - shown.length, "change"),
  ];
}

export function warningLines({ base, head }: SimulationReport): readonly Line[] {
  const known = new Set(base.warnings.map(({ code, file, message }) => JSON.stringify([code, file, message])));
  const added = head.warnings.filter(({ code, file, message }) => !known.has(JSON.stringify([code, file, message])));
  if (added.length === 0) return [];
  const shown = added.slice(0, MOST);
  return [
    BLANK,
    line(0, span("Warnings of the compiler", "bold"), span(` (${numberText(added.length)} new in head)`)),
    ...shown.map((warning) =>
      line(2, span("! ", "yellow"), span(`${warning.code}: ${warning.message}`), span(`  ${placed(warning)}`, "dim")),
    ),
    ...moreLine(added.length - shown.length, "warning"),
  ];
}

export function evidenceLines({ evidence, declared, promoted }: SimulationReport): readonly Line[] {
  if (evidence === null) return [];
  const { decisions, from, to, unrepresentable } = evidence;
  const between = from === null || to === null ? "" : ` from ${from} to ${to}`;
  const shown = unrepresentable.slice(0, MOST);
  return [
    BLANK,
    line(0, span("Evidence", "bold"), span(` (${amountText(decisions, "decision")}${between})`)),
    seenLine("as declared", declared.groups.length, evidence.declared, evidence),
    seenLine("as if promoted", promoted.groups.length, evidence.promoted, evidence),
    ...evidenceCautions(evidence).map((caution) => line(2, span("! ", "yellow"), span(caution))),
    ...shown.map(({ why, decisions: lost }) =>
      line(2, span("! ", "yellow"), span(`${amountText(lost, "decision")} cannot be said in head's files: ${why}`)),
    ),
    ...moreLine(unrepresentable.length - shown.length, "reason"),
  ];
}

function seenLine(
  standpoint: string,
  changed: number,
  { groups, decisions }: EvidenceReport["declared"],
  evidence: EvidenceReport,
): Line {
  const of = `${numberText(groups)} of ${amountText(changed, "change")}`;
  const share = percentageText(decisions, evidence.decisions);
  return line(2, span(`${padded(standpoint, 14)}  ${of} seen: ${amountText(decisions, "decision")}, ${share}`));
}

const STATUS_STYLES = { FAIL: "red", WAIVED: "yellow", PASS: "green" } as const satisfies Record<string, Style>;
const STATUS_ORDER = ["FAIL", "WAIVED", "PASS"] as const;

export function assertionLines({ assertions }: SimulationReport): readonly Line[] {
  if (assertions === null) return [];
  const { results, coverage, file } = assertions;
  const sorted = STATUS_ORDER.flatMap((status) => results.filter((result) => result.status === status));
  // What failed is never left out: somebody has to mend it.
  const shown = sorted.slice(0, Math.max(MOST, assertions.failed));
  const width = columnWidth(shown.map(({ id }) => id));
  return [
    BLANK,
    line(0, span("Assertions", "bold"), span(` (${file}): ${assertionCounts(assertions)}`)),
    ...shown.flatMap((result) => assertionLine(result, width)),
    ...moreLine(sorted.length - shown.length, "assertion"),
    ...coverageLines(coverage),
  ];
}

function assertionLine(result: AssertionResult, width: number): readonly Line[] {
  const { id, kind, status, title, classes, violations, waiver } = result;
  const row = line(
    2,
    span(padded(status, 8), STATUS_STYLES[status], "bold"),
    span(`${padded(id, width)}  `, "bold"),
    span(title === "" ? "" : `${title}  `),
    span(`${kind}, ${classesText(classes)}`, "dim"),
  );
  const head = { ...row, hang: 12 + width };
  const detail = (name: string, text: string): Line => nameLine(10, name, 8, span(text));
  if (status === "PASS") return [head];
  const until = waiver === null ? [] : [detail(waiver.expired ? "expired" : "waived", waiverText(waiver))];
  const broken =
    violations === 0
      ? []
      : [
          detail(
            "violated",
            `by ${numberText(violations)} of ${classesText(classes)}; looked at ${standpointText(result)}`,
          ),
        ];
  if (status === "WAIVED") return [head, ...broken, ...until];
  return [
    head,
    ...(result.message === null ? [] : [detail("why", result.message)]),
    ...broken,
    ...until,
    ...(result.witness === null ? [] : [detail("witness", pointText(result.witness))]),
    detail("look at", placed(result.place)),
    ...(result.explain === null ? [] : [commandLine(10, "try", 8, explainCommand(result.explain))]),
  ];
}

function coverageLines(coverage: readonly CoverageResult[]): readonly Line[] {
  if (coverage.length === 0) return [];
  const rows = coverage.flatMap((result) => {
    const { what, status, missing, place } = result;
    const head = line(
      2,
      span(padded(status, 8), STATUS_STYLES[status], "bold"),
      span(padded(COVERAGE_WORDING[what], 14)),
      span(`  ${coverageText(result)}`),
      span(place === null ? "" : `  ${placed(place)}`, "dim"),
    );
    return missing.length === 0 ? [head] : [head, nameLine(10, "missing", 8, span(listText(missing)))];
  });
  return [BLANK, line(0, span("Coverage of the assertions", "bold")), ...rows];
}

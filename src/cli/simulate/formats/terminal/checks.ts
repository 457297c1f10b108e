import type { EvidenceReport } from "../../../../simulate/report/report.ts";
import type { AssertionModel, CoverageModel, ReportModel } from "../model.ts";
import { amountText, classesText, listText, numberText, percentageText } from "../../../terminal/amounts.ts";
import { valueText } from "../wording/change-wording.ts";
import {
  COVERAGE_TITLE,
  evidenceCautions,
  NOT_JUDGED,
  SO_FAR,
  waiverText,
  type CoverageJudgement,
} from "../wording/messages.ts";
import { sampleText } from "../wording/results.ts";
import { LATENT_TITLE, latentCut, latentText } from "../wording/latent.ts";
import { settingText } from "../wording/settings.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import { columnWidth, moreLine, placed, MARK_STYLES } from "./changes.ts";
import { BLANK, commandLine, line, nameLine, padded, span, type Line, type Style } from "../../../terminal/layout.ts";

const MOST = 20;

/** Rules that no request uses any more; those that base has already are only counted. */
export function findingLines(report: ReportModel): readonly Line[] {
  const found = report.newFindings;
  const known = report.findings.length - found.length;
  if (report.findings.length === 0) return [];
  const inBase = known === 0 ? "" : `; ${numberText(known)} more already in base`;
  const judged = report.complete ? "" : `; ${NOT_JUDGED}`;
  const shown = found.slice(0, MOST);
  const width = columnWidth(shown.map(({ kind }) => valueText(kind)));
  return [
    BLANK,
    line(
      0,
      span(report.complete ? "Unused parts of head" : "Parts of head unused by the decided requests", "bold"),
      span(` (${numberText(found.length)} new in head${inBase}${judged})`),
    ),
    ...shown.map(({ kind, subject, place }) =>
      line(
        2,
        span("! ", "yellow"),
        span(`${padded(valueText(kind), width)}  `),
        span(subject, "bold"),
        span(place === null ? "" : `  ${placed(place)}`, "dim"),
      ),
    ),
    ...moreLine(found.length - shown.length, "finding"),
  ];
}

export function settingLines({ changed_settings: changes }: ReportModel): readonly Line[] {
  if (changes.length === 0) return [];
  // A setting that meets a gate must always be shown.
  const shown = [...changes.filter(({ gate }) => gate !== null), ...changes.filter(({ gate }) => gate === null)];
  const most = Math.max(MOST, changes.filter(({ gate }) => gate !== null).length);
  return [
    BLANK,
    line(0, span("Changed settings", "bold"), span(` (${numberText(changes.length)})`)),
    ...shown.slice(0, most).flatMap((change) => {
      const { mark, path, values, note, where } = settingText(change);
      return [
        line(2, span(`${mark} `, MARK_STYLES[mark]), span(path, "bold"), span(`  ${values}  `), span(where, "dim")),
        ...(note === "" ? [] : [line(4, span(note, change.gate === null ? "dim" : "yellow"))]),
      ];
    }),
    ...moreLine(changes.length - most, "setting"),
  ];
}

export function warningLines({ base, head }: ReportModel): readonly Line[] {
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

export function evidenceLines({ evidence, declared, promoted }: ReportModel): readonly Line[] {
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
      line(
        2,
        span("! ", "yellow"),
        span(`${amountText(lost, "decision")} cannot be expressed by head's files: ${why}`),
      ),
    ),
    ...moreLine(unrepresentable.length - shown.length, "reason"),
  ];
}

function seenLine(
  view: string,
  changed: number,
  { groups, decisions }: EvidenceReport["declared"],
  evidence: EvidenceReport,
): Line {
  const of = `${numberText(groups)} of ${amountText(changed, "change")}`;
  const share = percentageText(decisions, evidence.decisions);
  return line(2, span(`${padded(view, 14)}  ${of} seen: ${amountText(decisions, "decision")}, ${share}`));
}

export function latentLines({ latent }: ReportModel): readonly Line[] {
  const changes = latent?.changes ?? [];
  const cut = latentCut(latent);
  if (changes.length === 0 && cut === null) return [];
  return [
    BLANK,
    line(0, span(LATENT_TITLE, "bold"), span(` (${numberText(changes.length)})`)),
    ...changes.slice(0, MOST).map((change) => ({
      ...line(
        2,
        span(change.direction === "weaker" ? "+ " : "- ", change.direction === "weaker" ? "green" : "red"),
        span(`${change.policy}  `, "bold"),
        span(latentText(change)),
        span(change.place === null ? "" : `  ${placed(change.place)}`, "dim"),
      ),
      hang: 4,
    })),
    ...moreLine(changes.length - Math.min(changes.length, MOST), "latent change"),
    ...(cut === null ? [] : [line(2, span("! ", "yellow"), span(cut))]),
  ];
}

const STATUS_STYLES = { FAIL: "red", WAIVED: "yellow", PASS: "green" } as const satisfies Record<string, Style>;

/** @param all whether coverage is shown where no gate fails. */
export function assertionLines({ assertions, complete }: ReportModel, all: boolean): readonly Line[] {
  if (assertions === null) return [];
  const { worstFirst: sorted, coverage, file } = assertions;
  // Failures are never left out: they have to be fixed.
  const shown = sorted.slice(0, Math.max(MOST, assertions.failed));
  const width = columnWidth(shown.map(({ id }) => id));
  return [
    BLANK,
    line(0, span("Assertions", "bold"), span(` (${file}): ${assertions.counts}`)),
    ...(complete || assertions.passed === 0 ? [] : [line(2, span("! ", "yellow"), span(`PASS so far: ${SO_FAR}`))]),
    ...shown.flatMap((result) => assertionLine(result, width, complete)),
    ...moreLine(sorted.length - shown.length, "assertion"),
    ...(all || assertions.failedGates.length > 0 ? coverageLines(coverage, complete) : []),
  ];
}

function assertionLine(result: AssertionModel, width: number, complete: boolean): readonly Line[] {
  const { id, kind, status, title, classes, violations, waiver, needless } = result;
  const columns = complete ? 8 : 13;
  const row = line(
    2,
    span(padded(result.label, columns), STATUS_STYLES[status], "bold"),
    span(`${padded(id, width)}  `, "bold"),
    span(title === "" ? "" : `${title}  `),
    span(`${kind}, ${classesText(classes)}`, "dim"),
  );
  const head = { ...row, hang: columns + 4 + width };
  const detail = (name: string, text: string): Line => nameLine(10, name, 8, span(text));
  if (status === "PASS") return needless === null ? [head] : [head, detail("waiver", needless)];
  const until = waiver === null ? [] : [detail(waiver.expired ? "expired" : "waived", waiverText(waiver))];
  const broken =
    violations === 0
      ? []
      : [detail("violated", `by ${numberText(violations)} of ${classesText(classes)}; looked at ${result.lookedAt}`)];
  if (status === "WAIVED") return [head, ...broken, ...until];
  return [
    head,
    ...(result.message === null ? [] : [detail("why", result.message)]),
    ...broken,
    ...until,
    ...(result.example === null ? [] : [detail("example", sampleText(result.example))]),
    detail("look at", placed(result.place)),
    ...(result.explain === null ? [] : [commandLine(10, "try", 8, explainCommand(result.explain))]),
  ];
}

const JUDGEMENT_STYLES = {
  FAIL: "red",
  PASS: "green",
  "not gated": "dim",
  "not judged": "yellow",
} as const satisfies Record<CoverageJudgement, Style>;

function coverageLines(coverage: readonly CoverageModel[], complete: boolean): readonly Line[] {
  if (coverage.length === 0) return [];
  const rows = coverage.flatMap((result) => {
    const { title, judgement, text, missing, place } = result;
    const head = line(
      2,
      span(padded(judgement, 12), JUDGEMENT_STYLES[judgement], "bold"),
      span(padded(title, 14)),
      span(`  ${text}`),
      span(place === null ? "" : `  ${placed(place)}`, "dim"),
    );
    return missing.length === 0 ? [head] : [head, nameLine(14, "missing", 8, span(listText(missing)))];
  });
  return [BLANK, line(0, span(COVERAGE_TITLE, "bold"), span(complete ? "" : ` (${NOT_JUDGED})`)), ...rows];
}

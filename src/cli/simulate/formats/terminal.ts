import type { ChangeGroup } from "../../../simulate/report/report.ts";
import type { FormatContext, ReportModel } from "./model.ts";
import {
  assertionLines,
  evidenceLines,
  findingLines,
  latentLines,
  settingLines,
  warningLines,
} from "./terminal/checks.ts";
import { groupHead, groupLines, pathLines, routePathLines, MARK_STYLES } from "./terminal/changes.ts";
import { effectsOf } from "./screen/effects.ts";
import { firstScreen } from "./terminal/first-screen.ts";
import { BLANK, line, nameLine, renderLines, span, type Line } from "../../terminal/layout.ts";
import { cutText } from "./wording/messages.ts";
import { ROUTE_PATHS_TITLE } from "./wording/settings.ts";
import { amountText, capitalised, classesText, listText, numberText } from "../../terminal/amounts.ts";
import { ACCESS_WORDING } from "./wording/change-wording.ts";
import { changesText, FRESH, sideText } from "./wording/comparison.ts";

/** The report for a person at a terminal: what is compared and how bad it is first, the sum of it last. */
export function formatTerminal(whole: ReportModel, context: FormatContext): string {
  const all = context.all !== false;
  const report = all ? whole : withoutVariants(whole);
  const left = whole.declared.groups.length - report.declared.groups.length;
  const lines = [
    ...firstScreen(whole, context),
    BLANK,
    line(0, span("Details", "bold")),
    ...headLines(report),
    ...assertionLines(report, all),
    ...routePathLines(ROUTE_PATHS_TITLE, report.declared.new_route_paths),
    ...pathLines("New data paths", "+", report.declared.new_data_paths),
    ...pathLines("Lost data paths", "-", report.declared.lost_data_paths),
    ...declaredLines(report),
    ...(left === 0
      ? []
      : [BLANK, line(2, span(`… ${amountText(left, "more group")} of the same changes: --all`, "dim"))]),
    ...promotedLines(report),
    ...latentLines(report),
    ...(all ? findingLines(report) : []),
    ...settingLines(report),
    ...warningLines(report),
    ...evidenceLines(report),
    ...summaryLines(whole),
  ];
  return renderLines(lines, context);
}

/** Of each change the group that the first screen speaks of: the others differ by conditions, names or reasons. */
function withoutVariants(report: ReportModel): ReportModel {
  const described = new Set(
    report.causes.flatMap((cause) => effectsOf(cause, report).effects.map(({ group }) => group.id)),
  );
  // Where a cause is not known, nothing stands for its groups.
  const known = new Set(report.causes.flatMap(({ groups, promoted_groups: later }) => [...groups, ...later]));
  const isShown = ({ id }: ChangeGroup): boolean => described.has(id) || !known.has(id);
  const { declared, difference } = report;
  return {
    ...report,
    declared: { ...declared, groups: declared.groups.filter(isShown) },
    difference: { ...difference, onlyPromoted: difference.onlyPromoted.filter(isShown) },
  };
}

/** Columns of the names in the head of the report. */
const NAMES = 10;

function headLines(report: ReportModel): readonly Line[] {
  const { base, head, declared, promoted, assertions, verdicts } = report;
  const access = ACCESS_WORDING[declared.access];
  const asIf = ACCESS_WORDING[promoted.access];
  return [
    line(0, span("Simulation of ", "bold"), span(`${sideText(base)} → ${sideText(head)}`, "bold")),
    ...(report.fresh ? [line(0, span(FRESH))] : []),
    ...incompleteLines(report),
    ...indeterminateLines(report),
    ...(report.promoted_policies.length === 0
      ? [nameLine(0, "Access:", NAMES, span(verdicts.declared, access.colour, "bold"))]
      : [
          nameLine(0, "Access:", NAMES, span("as declared     "), span(verdicts.declared, access.colour, "bold")),
          nameLine(0, "", NAMES, span("as if promoted  "), span(verdicts.promoted, asIf.colour, "bold")),
        ]),
    ...(assertions === null
      ? []
      : [
          nameLine(
            0,
            "Checks:",
            NAMES,
            span(`assertions ${assertions.counts}`, assertions.failed > 0 ? "red" : "green"),
            ...gateSpans(report),
          ),
        ]),
    nameLine(0, "Table:", NAMES, span(revisionText(report))),
    ...report.policyDifferences.map(({ mark, id, what, digests }, index) =>
      nameLine(
        0,
        index === 0 ? "Policies:" : "",
        NAMES,
        span(`${mark} `, MARK_STYLES[mark]),
        span(`${id}  ${what}`),
        span(digests === "" ? "" : `  ${digests}`, "dim"),
      ),
    ),
  ];
}

function gateSpans({ assertions }: ReportModel) {
  const failed = assertions?.failedGates.length ?? 0;
  return failed === 0 ? [] : [span(`, ${amountText(failed, "coverage gate")} failed`, "red")];
}

function revisionText({ base, head }: ReportModel): string {
  const [before, after] = [base.table_revision.slice(0, 12), head.table_revision.slice(0, 12)];
  return base.table_revision === head.table_revision ? `${after}, the same on both sides` : `${before} → ${after}`;
}

/** Loud and early: a report that has not seen everything must not be taken for one that has. */
function incompleteLines({ complete, cut }: ReportModel): readonly Line[] {
  if (complete) return [];
  const text = "INCOMPLETE: not every class of requests was decided. The results below cover only those that were.";
  return [
    line(0, span(text, "red", "bold")),
    ...cut.map((one) => line(2, span("! ", "red", "bold"), span(cutText(one)))),
    BLANK,
  ];
}

/** Counted over the view with more of them: either ends the command with exit code 4. */
function indeterminateLines({ declared, promoted }: ReportModel): readonly Line[] {
  const most = Math.max(
    0,
    ...[declared, promoted].flatMap(({ words }) =>
      words.filter(({ word }) => word === "indeterminate_new").map(({ classes }) => classes),
    ),
  );
  if (most === 0) return [];
  const text = `INDETERMINATE: in ${classesText(most)} a policy cannot be evaluated any more.`;
  return [line(0, span(text, "magenta", "bold")), BLANK];
}

function declaredLines(report: ReportModel): readonly Line[] {
  const { declared, complete, unchanged } = report;
  if (unchanged !== null) return [BLANK, line(0, span(unchanged.sentence, complete ? "green" : "yellow", "bold"))];
  if (declared.groups.length === 0)
    return [BLANK, line(0, span("As declared, no request is treated differently.", "bold"))];
  const title = span(`Changes as declared`, "bold");
  return [
    BLANK,
    line(0, title, span(` (${amountText(declared.groups.length, "group")})`)),
    ...groupLines(declared.groups),
  ];
}

/** Only what the view adds: a group must not be printed twice. */
function promotedLines(report: ReportModel): readonly Line[] {
  const { promoted_policies: policies, difference } = report;
  if (policies.length === 0 && !difference.any) return [];
  const title = span(capitalised(report.promotedTitle), "bold");
  const which = policies.length === 0 ? "" : ` (${listText(policies)})`;
  if (!difference.any) return [BLANK, line(0, title, span(`${which}: the same changes.`))];
  const { shared, onlyPromoted, shrunk, onlyDeclared, newDataPaths, lostDataPaths } = difference;
  const same = shared === 0 ? "" : `, ${amountText(shared, "group")} as declared`;
  return [
    BLANK,
    line(0, title, span(`${which}: ${amountText(onlyPromoted.length, "other group")}${same}`)),
    ...routePathLines(`${ROUTE_PATHS_TITLE} only as if promoted`, difference.newRoutePaths),
    ...pathLines("New data paths only as if promoted", "+", newDataPaths),
    ...pathLines("Lost data paths only as if promoted", "-", lostDataPaths),
    ...groupLines(onlyPromoted),
    ...groupHeads("as declared, of fewer requests", shrunk),
    ...groupHeads("of those declared would not be so", onlyDeclared),
  ];
}

/** Groups that are printed above: their heads are enough. */
function groupHeads(what: string, groups: readonly ChangeGroup[]): readonly Line[] {
  if (groups.length === 0) return [];
  return [
    BLANK,
    line(2, span(`${amountText(groups.length, "group")} ${what}:`)),
    ...groups.slice(0, 10).map(groupHead),
    ...(groups.length > 10 ? [line(2, span(`… ${numberText(groups.length - 10)} more`, "dim"))] : []),
  ];
}

function summaryLines(report: ReportModel): readonly Line[] {
  const { declared, assertions, complete, difference, unchanged } = report;
  const paths = declared.new_data_paths.length;
  const findings = report.newFindings.length;
  const only = difference.onlyPromoted.length;
  const parts = [
    unchanged === null ? changesText(declared) : unchanged.title,
    paths === 0 ? "" : amountText(paths, "new data path"),
    only === 0 ? "" : `${amountText(only, "group")} only as if promoted`,
    findings === 0 || !complete ? "" : amountText(findings, "new finding"),
    assertions === null || assertions.failed === 0 ? "" : `${amountText(assertions.failed, "assertion")} failed`,
    complete ? "" : "incomplete",
  ].filter((part) => part !== "");
  const text = parts.length === 0 ? "as declared, no request is treated differently" : parts.join("; ");
  return [
    BLANK,
    line(0, span("Simulation: ", "bold"), span(`${text}.`, "bold")),
    line(0, span(`${report.spaceText}.`)),
  ];
}

import type { ChangeGroup, DataPath, RoutePath } from "../../../simulate/report/report.ts";
import { Comment, code, codeBlock, codes, htmlCode } from "./markdown/comment.ts";
import { firstScreenBlock, writeLatent } from "./markdown/sections.ts";
import { screenOf } from "./screen/screen.ts";
import type { AssertionModel, FormatContext, ReportModel } from "./model.ts";
import { amountText, scopeText, numberText, percentageText, seenText } from "../../terminal/amounts.ts";
import { ACCESS_WORDING, changeWording, valueText, titleOf, worstChange } from "./wording/change-wording.ts";
import { FRESH, changeCounts } from "./wording/comparison.ts";
import { COVERAGE_TITLE, evidenceCautions, keptText, NOT_JUDGED, SO_FAR } from "./wording/messages.ts";
import { commonOf, shortResults } from "./wording/results.ts";
import { ROUTE_PATHS_TITLE, routePathText, settingText } from "./wording/settings.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { routeText } from "./screen/effect-text.ts";

/** By which a workflow finds its comment again; GitHub shows nothing of it. */
export const MARKER = "<!-- signalbox-simulation -->";

/** What has to stay free for the sections after the one that is written, the footer last. */
const FOOTER = 4_000;
const AFTER_GROUPS = 15_000;
const AFTER_PATHS = 40_000;
/** A longer command is for the HTML report. */
const LONGEST_COMMAND = 2_000;

/** Of a plan. */
const LONGEST_LINE = 400;

/** One comment for a pull request: whole markdown, never longer than 60,000 characters. */
export function formatMarkdown(report: ReportModel, context: FormatContext): string {
  const comment = new Comment();
  const { declared, difference, promotedTitle } = report;
  writeHead(comment, report, context);
  const folded = report.unchanged === null || report.assertions !== null;
  comment.write("", ...(folded ? ["<details>", `<summary>Details: ${detailsText(report)}</summary>`, ""] : []));
  writeCounts(comment, report);
  writeRoutePaths(comment, ROUTE_PATHS_TITLE, declared.new_route_paths);
  writeRoutePaths(comment, `${ROUTE_PATHS_TITLE} ${promotedTitle}`, difference.newRoutePaths);
  writePaths(comment, "New data paths", declared.new_data_paths);
  writePaths(comment, `New data paths ${promotedTitle}`, difference.newDataPaths);
  writeGroups(comment, "Changes as declared", declared.groups);
  writeGroups(comment, `Only ${promotedTitle}`, difference.onlyPromoted);
  if (report.promoted_policies.length > 0 && !difference.any) comment.write("", `The same changes ${promotedTitle}.`);
  if (difference.shrunk.length > 0) {
    comment.write(
      "",
      `${amountText(difference.shrunk.length, "group")} as declared, of fewer requests ${promotedTitle}.`,
    );
  }
  if (difference.onlyDeclared.length > 0) {
    const count = amountText(difference.onlyDeclared.length, "group");
    comment.write("", `${count} of those declared would not be so ${promotedTitle}.`);
  }
  writeAssertions(comment, report);
  writeRest(comment, report);
  if (folded) comment.write("", "</details>");
  writeFooter(comment, report, context);
  return comment.toString();
}

/** What is folded: a comment is read before it is opened. */
function detailsText({ declared, difference, assertions }: ReportModel): string {
  const paths = declared.new_data_paths.length;
  return [
    ...(paths === 0 ? [] : [amountText(paths, "new data path")]),
    amountText(declared.groups.length + difference.onlyPromoted.length, "group of changes", "groups of changes"),
    ...(assertions === null ? [] : [`assertions ${assertions.counts}`]),
  ].join(", ");
}

function writeHead(comment: Comment, report: ReportModel, context: FormatContext): void {
  const { declared, complete, cut, unchanged } = report;
  const { title } = ACCESS_WORDING[declared.access];
  comment.write(
    MARKER,
    `## Signalbox simulation: ${screenOf(report, context).verdict}, ${unchanged?.title ?? `${title}${complete ? "" : " among the classes that were decided"}`}`,
    "",
  );
  if (!complete) {
    const dimensions = cut.map((one) => `${code(one.dimension)} ${keptText(one)}`);
    comment.write("> [!CAUTION]", "> **Incomplete: not every class of requests was decided.**");
    comment.list(
      dimensions.map((text) => () => [`> - ${text}`]),
      "dimension",
      20,
      AFTER_PATHS,
    );
    comment.write("");
  }
  comment.write(...firstScreenBlock(report, context));
}

function writeCounts(comment: Comment, report: ReportModel): void {
  const { base, head, declared, complete, assertions, unchanged, verdicts } = report;
  const { sentence } = ACCESS_WORDING[declared.access];
  const counts = changeCounts(declared);
  comment.write(
    `${code(base.name)} → ${code(head.name)}. ${unchanged?.sentence ?? (complete ? sentence : "The results below cover only the classes that were decided.")}`,
    "",
    ...(report.fresh ? [FRESH, ""] : []),
    `- as declared: ${verdicts.declared}${counts === "" ? "" : `: ${counts}`}`,
    ...(report.promoted_policies.length === 0 ? [] : [`- ${report.promotedTitle}: ${verdicts.promoted}`]),
    ...(assertions === null ? [] : [`- assertions: ${assertions.counts}`]),
  );
  // A policy that is no longer enforced is a change, even if no request is affected today.
  const marks = { "+": "new, ", "-": "gone, it was ", "~": "" } as const;
  const ordered = (["+", "-", "~"] as const).flatMap((mark) =>
    report.policyDifferences.filter((policy) => policy.mark === mark),
  );
  comment.list(
    ordered.map(({ mark, id, what, digests }) => () => [
      `- policy ${code(id)}: ${marks[mark]}${what}${digests === "" ? "" : ` ${code(digests)}`}`,
    ]),
    "policy difference",
    20,
    AFTER_PATHS,
  );
}

function writeRoutePaths(comment: Comment, title: string, paths: readonly RoutePath[]): void {
  if (paths.length === 0) return;
  comment.write("", `### ${title} (${numberText(paths.length)})`, "");
  comment.list(
    paths.map((path) => () => [`- ${code(routePathText(path))}`]),
    "path",
    50,
    AFTER_PATHS,
  );
}

function writePaths(comment: Comment, title: string, paths: readonly DataPath[]): void {
  if (paths.length === 0) return;
  comment.write(
    "",
    `### ${title} (${numberText(paths.length)})`,
    "",
    "| Workspace | Operation | Provider | Region | By routes | Seen |",
    "|---|---|---|---|---|---|",
  );
  const rows = paths.map((path) => () => {
    const { workspace, operation, provider, region, routes, seen, host, other_host: other } = path;
    const cells = [
      code(workspace),
      code(operation),
      other === null ? code(provider) : `${code(provider)} at ${code(host)}, was ${code(other)}`,
      code(region),
      codes(routes, 3),
      seenText(seen) ?? "",
    ];
    return [`| ${cells.join(" | ")} |`];
  });
  comment.list(rows, "path", 50, AFTER_PATHS);
}

function writeGroups(comment: Comment, title: string, groups: readonly ChangeGroup[]): void {
  if (groups.length === 0) return;
  comment.write("", `### ${title} (${amountText(groups.length, "group")})`);
  comment.list(
    groups.map((group) => () => ["", ...groupBlock(group)]),
    "group",
    100,
    AFTER_GROUPS,
  );
}

/** The blank line after the summary lets GitHub read markdown again; the one before the end lets it stop. */
function groupBlock(group: ChangeGroup): readonly string[] {
  const { symbol } = changeWording(worstChange(group.words));
  const routes = group.routes
    .slice(0, 4)
    .map((name) => htmlCode(routeText(name)))
    .join(", ");
  const more = group.routes.length > 4 ? ` and ${numberText(group.routes.length - 4)} more` : "";
  const seen = seenText(group.seen, group.seen_usage);
  const { lines, left } = shortResults(group);
  const command = explainCommand(group.explain);
  return [
    "<details>",
    `<summary><b>${symbol} ${titleOf(group.words)}</b> ${routes}${more}: ${scopeText(group)}</summary>`,
    "",
    ...commonOf(group).map(({ name, values }) => `- ${code(name)}: ${codes(values)}`),
    ...(group.place === null
      ? []
      : [
          `- look at ${code(`${group.place.file}:${group.place.line}`)}${group.place.side === "base" ? " in base" : ""}`,
        ]),
    ...(seen === null ? [] : [`- ${seen}`]),
    `- group ${code(group.id)}`,
    "",
    ...codeBlock(
      "diff",
      [
        ...lines.map(({ mark, text, note }) => `${mark ?? " "} ${text}${note === "" ? "" : ` (${note})`}`),
        ...(left === 0 ? [] : [`  … ${amountText(left, "more line")}`]),
      ],
      LONGEST_LINE,
    ),
    "",
    ...(command.length > LONGEST_COMMAND ? [] : codeBlock("sh", [command], LONGEST_COMMAND)),
    "",
    "</details>",
  ];
}

const SIGNS = { FAIL: "❌ ", WAIVED: "⚠️ ", PASS: "✅ ", "not gated": "", "not judged": "⚠️ " } as const;

function writeAssertions(comment: Comment, { assertions, complete }: ReportModel): void {
  if (assertions === null) return;
  const { worstFirst: sorted, coverage } = assertions;
  if (sorted.length > 0) {
    comment.write(
      "",
      `### Assertions: ${assertions.counts}`,
      "",
      ...(complete || assertions.passed === 0 ? [] : [`PASS so far: ${SO_FAR}.`, ""]),
      "| | Assertion | Classes | What |",
      "|---|---|---|---|",
    );
    comment.list(
      sorted.map((result) => () => [assertionRow(result)]),
      "assertion",
      100,
      FOOTER + 5_000,
    );
  }
  if (coverage.length === 0) return;
  comment.write(
    "",
    `### ${COVERAGE_TITLE}${complete ? "" : ` (${NOT_JUDGED})`}`,
    "",
    "| | What | | Missing |",
    "|---|---|---|---|",
  );
  const rows = coverage.map(({ title, judgement, text, missing }) => () => [
    `| ${[`${SIGNS[judgement]}${judgement}`, title, text, codes(missing)].join(" | ")} |`,
  ]);
  comment.list(rows, "gate", 10, FOOTER + 2_000);
}

function assertionRow(result: AssertionModel): string {
  const { id, title, kind, status, classes, violations, message, waiver, place } = result;
  const what: string[] = title === "" ? [] : [code(title)];
  if (status !== "PASS" && message !== null) what.push(code(message));
  if (violations > 0) what.push(`violated by ${numberText(violations)}`, `looked at ${result.lookedAt}`);
  if (result.needless !== null) what.push("the waiver can go");
  if (waiver !== null && status !== "PASS") {
    const state = waiver.expired ? "waiver expired" : "waived until";
    what.push(`${state} ${code(waiver.until)} by ${code(waiver.owner)}: ${code(waiver.reason)}`);
  }
  if (status !== "PASS") what.push(code(`${place.file}:${place.line}`));
  return `| ${[`${SIGNS[status]}${result.label}`, `${code(id)} ${code(kind)}`, numberText(classes), what.join("<br>")].join(" | ")} |`;
}

function writeRest(comment: Comment, report: ReportModel): void {
  const { findings, newFindings: found, changed_settings: settings, evidence, declared, complete } = report;
  if (found.length > 0) {
    const known = findings.length - found.length;
    const already = known === 0 ? "" : `; ${numberText(known)} more already in base`;
    const title = complete ? "Unused parts of head" : "Parts of head unused by the decided requests";
    const judged = complete ? "" : `; ${NOT_JUDGED}`;
    comment.write("", `### ${title} (${numberText(found.length)} new${already}${judged})`, "");
    const rows = found.map(({ kind, subject }) => () => [`- ${valueText(kind)} ${code(subject)}`]);
    comment.list(rows, "finding", 20, FOOTER + 1_000);
  }
  writeLatent(comment, report, FOOTER + 500);
  if (settings.length > 0) {
    comment.write("", `### Changed settings (${numberText(settings.length)})`, "");
    comment.list(
      // Those that meet a gate first: they must not be cut.
      settings
        .toSorted((left, right) => Number(left.gate === null) - Number(right.gate === null))
        .map((change) => () => {
          const { path, values, note, where } = settingText(change);
          return [
            `- ${code(path)} ${code(values)}${note === "" ? "" : `: ${note}`}${where === "" ? "" : `, ${code(where)}`}`,
          ];
        }),
      "setting",
      20,
      FOOTER + 500,
    );
  }
  if (evidence === null) return;
  const { groups, decisions } = evidence.declared;
  const share = percentageText(decisions, evidence.decisions);
  const seen = `${numberText(groups)} of ${amountText(declared.groups.length, "change")} seen`;
  const of = amountText(evidence.decisions, "decision");
  comment.write("", `Evidence: ${seen}, ${numberText(decisions)} of ${of} (${share}).`);
  for (const caution of evidenceCautions(evidence)) comment.write("", `${caution}.`);
}

function writeFooter(comment: Comment, report: ReportModel, { reportDigest }: FormatContext): void {
  const { base, head } = report;
  comment.write(
    "",
    "---",
    `${report.spaceText}. Table ${code(base.table_revision)} → ${code(head.table_revision)}.${reportDigest === null ? "" : ` Report ${code(`sha256:${reportDigest}`)}.`}`,
  );
}

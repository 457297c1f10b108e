import { createHash } from "node:crypto";
import { CHANGE_WORDS } from "../../../simulate/point.ts";
import type { AssertionResult, ChangeGroup, DataPath, SimulationReport } from "../../../simulate/report/report.ts";
import { printable } from "../../terminal/printing.ts";
import { formatSarifLog, type SarifLevel, type SarifResult, type SarifRule } from "../../terminal/sarif.ts";
import type { AnnotationLevel } from "../../terminal/workflow-command.ts";
import type { FormatContext } from "./context.ts";
import { CHANGE_WORDING, FINDING_WORDING, NEW_DATA_PATH, worstWord } from "./wording/change-words.ts";
import { newFindings, promotedDifference, promotedTitle } from "./wording/comparison.ts";
import {
  assertionLinesOf,
  coverageMessage,
  failedGates,
  INCOMPLETE,
  printableLines,
  cutText,
  groupMessage,
  pathMessage,
  waiverText,
} from "./wording/messages.ts";

const LEVELS: Readonly<Record<AnnotationLevel, SarifLevel>> = { error: "error", warning: "warning", notice: "note" };

const RULES: readonly SarifRule[] = [
  rule(
    "incomplete",
    "Not every class of requests was decided.",
    "error",
    "Raise --max-classes, or make policies look at less.",
  ),
  rule(
    "assertion_failed",
    "An assertion does not hold.",
    "error",
    "Change the files, or waive the assertion with a reason.",
  ),
  rule("assertion_waived", "An assertion does not hold and is waived.", "note", "Mend it before the waiver ends."),
  rule(
    "coverage_failed",
    "All requests of head together cover less than the assertions ask for.",
    "error",
    "Remove or correct what no request covers, or except it from coverage.",
  ),
  rule("new_data_path", NEW_DATA_PATH.sentence, "warning", "See that the workspace may use this provider and region."),
  ...CHANGE_WORDS.map((word) => {
    const { sentence, level } = CHANGE_WORDING[word];
    return rule(word, sentence, LEVELS[level], "Try the command of the result: it explains one such request.");
  }),
  rule(
    "dead_configuration",
    "Something of head that no request ever meets.",
    "note",
    "Remove it, or correct what keeps requests from it.",
  ),
];

function rule(id: string, meaning: string, level: SarifLevel, fix: string): SarifRule {
  return { id, meaning, level, fix };
}

/** SARIF 2.1.0 with the rules that results name. */
export function formatSarif(report: SimulationReport, _context: FormatContext): string {
  const results = resultsOf(report).map(seen);
  const used = new Set(results.map(({ ruleId }) => ruleId));
  return formatSarifLog(
    RULES.filter(({ id }) => used.has(id)),
    results,
  );
}

/** Controls of bidirectional text and the like would let a name say something else beside the code. */
function seen(result: SarifResult): SarifResult {
  const { message, suppression } = result;
  return {
    ...result,
    message: printableLines(message),
    ...(suppression === undefined ? {} : { suppression: printable(suppression) }),
  };
}

function resultsOf(report: SimulationReport): readonly SarifResult[] {
  const { declared, assertions, complete, cut } = report;
  const difference = promotedDifference(report);
  const asIf = `${promotedTitle(report)}: `;
  const incomplete = [INCOMPLETE, ...cut.map(cutText)].join("\n");
  return [
    ...(complete ? [] : [{ ruleId: "incomplete", level: "error", message: incomplete, place: null } as const]),
    ...(assertions?.results ?? []).flatMap(assertionResult),
    ...failedGates(report).map((gate): SarifResult => {
      const fingerprints = fingerprint("coverage", [gate.what]);
      return {
        ruleId: "coverage_failed",
        level: "error",
        message: coverageMessage(gate),
        place: gate.place,
        fingerprints,
      };
    }),
    ...declared.new_data_paths.map((path) => pathResult(path, "", placeOf(path, declared.groups))),
    ...difference.newDataPaths.map((path) => pathResult(path, asIf, placeOf(path, difference.onlyPromoted))),
    ...declared.groups.map((group) => groupResult(group, "")),
    ...difference.onlyPromoted.map((group) => groupResult(group, asIf)),
    ...(complete ? newFindings(report) : []).map(({ kind, subject, place }): SarifResult => ({
      ruleId: "dead_configuration",
      level: "note",
      message: `${FINDING_WORDING[kind]}: ${subject}`,
      place,
      fingerprints: fingerprint("finding", [kind, subject]),
    })),
  ];
}

function assertionResult(result: AssertionResult): readonly SarifResult[] {
  const { id, status, title, waiver, place } = result;
  if (status === "PASS") return [];
  const message = [`${id}: ${title}`, ...assertionLinesOf(result)].join("\n");
  const fingerprints = fingerprint("assertion", [id]);
  if (status === "FAIL") return [{ ruleId: "assertion_failed", level: "error", message, place, fingerprints }];
  const suppression = waiver === null ? "waived" : waiverText(waiver);
  return [{ ruleId: "assertion_waived", level: "note", message, place, fingerprints, suppression }];
}

function groupResult(group: ChangeGroup, standpoint: string): SarifResult {
  const word = worstWord(group.words);
  return {
    ruleId: word,
    level: LEVELS[CHANGE_WORDING[word].level],
    message: `${standpoint}${groupMessage(group)}`,
    place: group.place,
    fingerprints: { "signalboxGroup/v1": group.id },
  };
}

function pathResult(path: DataPath, standpoint: string, place: SarifResult["place"]): SarifResult {
  const { workspace, operation, provider, region } = path;
  return {
    ruleId: "new_data_path",
    level: "warning",
    message: `${standpoint}${pathMessage(path)}`,
    place,
    fingerprints: fingerprint("path", [workspace, operation, provider, region]),
  };
}

/** Code scanning shows only what has a place: that of the first group that sends requests of these routes there. */
function placeOf({ routes, provider, region }: DataPath, groups: readonly ChangeGroup[]): SarifResult["place"] {
  const group = groups.find(
    ({ routes: changed, head, place }) =>
      place !== null &&
      changed.some((route) => routes.includes(route)) &&
      head.plan.some((there) => there.provider === provider && there.region === region),
  );
  return group?.place ?? null;
}

function fingerprint(kind: string, parts: readonly string[]): Readonly<Record<string, string>> {
  const digest = createHash("sha256")
    .update(JSON.stringify([kind, ...parts]))
    .digest("hex");
  return { "signalboxResult/v1": digest.slice(0, 12) };
}

import type { ChangeGroup, SimulationReport } from "../../../simulate/report/report.ts";
import { printable } from "../../terminal/printing.ts";
import { formatAnnotation, type Annotation, type AnnotationLevel } from "../../terminal/workflow-command.ts";
import type { FormatContext } from "./context.ts";
import { amountText } from "./wording/amounts.ts";
import { CHANGE_WORDING, FINDING_WORDING, NEW_DATA_PATH, titleOf, worstWord } from "./wording/change-words.ts";
import {
  FRESH,
  newFindings,
  policyDifferences,
  policyLine,
  promotedDifference,
  promotedTitle,
  spaceText,
  unchangedText,
  verdictText,
} from "./wording/comparison.ts";
import {
  assertionLinesOf,
  coverageMessage,
  cutText,
  failedGates,
  groupMessage,
  INCOMPLETE,
  needlessWaiver,
  pathMessage,
  printableLines,
} from "./wording/messages.ts";

/** GitHub shows ten annotations of each level a step; one of them says how many more there are. */
const MOST = 10;

/** Workflow commands of GitHub Actions, the worst level first. */
export function formatGithub(report: SimulationReport, _context: FormatContext): string {
  const all = annotationsOf(report);
  const levels: readonly AnnotationLevel[] = ["error", "warning", "notice"];
  return levels
    .flatMap((level) => shortened(all.filter((one) => one.level === level)))
    .map((one) => formatAnnotation(seen(one)))
    .join("");
}

/** Controls of bidirectional text and the like would let a name say something else in the log of a workflow. */
function seen({ place, title, message, level }: Annotation): Annotation {
  const where = place === null ? null : { ...place, file: printable(place.file) };
  return { level, place: where, title: printable(title), message: printableLines(message) };
}

function shortened(annotations: readonly Annotation[]): readonly Annotation[] {
  const [first] = annotations;
  if (first === undefined || annotations.length <= MOST) return annotations;
  const left = annotations.length - (MOST - 1);
  const message = `${amountText(left, `more ${first.level}`)}; --format json and html have them all`;
  return [...annotations.slice(0, MOST - 1), { level: first.level, place: null, title: "more", message }];
}

function annotationsOf(report: SimulationReport): readonly Annotation[] {
  const { declared, promoted, assertions, complete, cut } = report;
  const difference = promotedDifference(report);
  const standpoint = promotedTitle(report);
  const incomplete = [INCOMPLETE, ...cut.map(cutText)].join("\n");
  const results = assertions?.results.filter(({ status }) => status !== "PASS") ?? [];
  const needless = assertions?.results.filter((result) => needlessWaiver(result, complete) !== null) ?? [];
  const gates = failedGates(report);
  const paths = [...declared.new_data_paths, ...difference.newDataPaths.map((path) => ({ ...path, standpoint }))];
  const policies = policyDifferences(report.base, report.head);
  const unchanged = unchangedText(report);
  const verdict = [
    ...(unchanged === null ? [] : [unchanged.sentence]),
    ...(report.fresh ? [FRESH] : []),
    verdictText(declared, report),
    `${standpoint}: ${verdictText(promoted, report)}`,
    spaceText(report),
  ];
  return [
    ...(complete ? [] : [{ level: "error", place: null, title: "incomplete", message: incomplete } as const]),
    { level: "notice", place: null, title: "Signalbox simulation", message: verdict.join("\n") },
    ...(policies.length === 0
      ? []
      : [
          {
            level: "notice",
            place: null,
            title: amountText(policies.length, "policy differs", "policies differ"),
            message: policies.map(policyLine).join("\n"),
          } as const,
        ]),
    ...results.map((result): Annotation => ({
      level: result.status === "FAIL" ? "error" : "notice",
      place: result.place,
      title: `${result.status} ${result.id}`,
      message: [result.title, ...assertionLinesOf(result)].filter((text) => text !== "").join("\n"),
    })),
    ...needless.map((result): Annotation => ({
      level: "notice",
      place: result.place,
      title: `PASS ${result.id}`,
      message: needlessWaiver(result, complete) ?? "",
    })),
    ...gates.map((gate): Annotation => ({
      level: "error",
      place: gate.place,
      title: "coverage",
      message: coverageMessage(gate),
    })),
    ...paths.map((path): Annotation => ({
      level: "warning",
      place: null,
      title: "standpoint" in path ? `${NEW_DATA_PATH.title} ${standpoint}` : NEW_DATA_PATH.title,
      message: pathMessage(path),
    })),
    ...declared.groups.map((group) => groupAnnotation(group, titleOf(group.words))),
    ...difference.onlyPromoted.map((group) => groupAnnotation(group, `${titleOf(group.words)} ${standpoint}`)),
    ...(complete ? newFindings(report) : []).map(({ kind, subject, place }): Annotation => ({
      level: "notice",
      place,
      title: FINDING_WORDING[kind],
      message: `${FINDING_WORDING[kind]}: ${subject}`,
    })),
  ];
}

function groupAnnotation(group: ChangeGroup, title: string): Annotation {
  return {
    level: CHANGE_WORDING[worstWord(group.words)].level,
    place: group.place,
    title,
    message: groupMessage(group),
  };
}

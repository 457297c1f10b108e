import { amountText, jsonText, printable, printableLines } from "../../terminal/printing.ts";
import { type AnnotationLevel, formatAnnotation } from "../../terminal/report.ts";
import type { FormatContext, ReportModel } from "./model.ts";
import { identityOf, type Notice, noticesOf } from "./notices.ts";
import { rowText, screenOf } from "./screen/screen.ts";

/** The most annotations that one request of the API may bring. */
const MOST_ANNOTATIONS = 100;
/** Characters that the API takes. */
const LONGEST_SUMMARY = 450;
const LONGEST_DETAILS = 2_000;

/** Severity of a finding in GitLab and in Bitbucket. */
const SEVERITIES = {
  error: { gitlab: "critical", bitbucket: "HIGH" },
  warning: { gitlab: "major", bitbucket: "MEDIUM" },
  notice: { gitlab: "info", bitbucket: "LOW" },
} as const;

/**
 * A report of Bitbucket Cloud's API (`PUT …/commit/{commit}/reports/{id}`), and beside it the
 * annotations of `POST …/reports/{id}/annotations`: two requests take the two members as their
 * bodies.
 */
export function formatBitbucket(model: ReportModel, context: FormatContext): string {
  const { verdict, headline, facts, rows } = screenOf(model, context);
  const amount = (tag: string) => rows.filter((row) => row.tag === tag).length;
  const report = {
    title: "Signalbox simulation",
    details: truncate([headline, ...facts, ...rows.map(rowText)].join("\n"), LONGEST_DETAILS),
    report_type: "BUG",
    reporter: "signalbox",
    result: verdict === "FAIL" || verdict === "INCOMPLETE" ? "FAILED" : "PASSED",
    data: [
      { title: "Verdict", type: "TEXT", value: verdict },
      { title: "Changes", type: "NUMBER", value: model.causes.length },
      { title: "Breaks", type: "NUMBER", value: amount("BREAKS") },
      { title: "Widens", type: "NUMBER", value: amount("WIDENS") },
      { title: "New data paths", type: "NUMBER", value: model.declared.new_data_paths.length },
    ],
  };
  const annotations = noticesOf(model).flatMap(annotationOf).slice(0, MOST_ANNOTATIONS);
  return jsonText({ report, annotations });
}

function annotationOf(notice: Notice): readonly object[] {
  const { rule, level, location, title, alone } = notice;
  if (rule === null || location === null) return [];
  return [
    {
      external_id: identityOf(notice),
      annotation_type: "BUG",
      summary: truncate(title, LONGEST_SUMMARY),
      details: truncate(alone, LONGEST_DETAILS),
      path: printable(location.file),
      line: location.line,
      severity: SEVERITIES[level].bitbucket,
    },
  ];
}

function truncate(text: string, longest: number): string {
  const shown = printableLines(text);
  return shown.length <= longest ? shown : `${shown.slice(0, longest - 1).toWellFormed()}…`;
}

/**
 * GitLab takes no finding without a line, and a change whose cause is not found must not be left
 * out.
 */
const ANYWHERE = { file: "routes.yaml", line: 1 };

/**
 * A code quality report of GitLab CI (`artifacts: reports: codequality`): what has a line in a
 * changed file is shown beside the change.
 */
export function formatGitlab(model: ReportModel): string {
  return jsonText(noticesOf(model).flatMap(issueOf));
}

function issueOf(notice: Notice): readonly object[] {
  const { rule, level, alone } = notice;
  if (rule === null) return [];
  const location = notice.location ?? ANYWHERE;
  return [
    {
      description: alone,
      check_name: `signalbox/${rule}`,
      // GitLab recognises by it whether a finding is new.
      fingerprint: identityOf(notice),
      severity: SEVERITIES[level].gitlab,
      location: { path: printable(location.file), lines: { begin: location.line } },
    },
  ];
}

/** GitHub shows ten annotations of each level a step; one of them counts the rest. */
const MOST = 10;

const LEVELS: readonly AnnotationLevel[] = ["error", "warning", "notice"];

/** Workflow commands of GitHub Actions, the worst level first. */
export function formatGithub(model: ReportModel): string {
  const all = noticesOf(model);
  return LEVELS.map((level) =>
    levelText(
      level,
      all.filter((one) => one.level === level),
    ),
  ).join("");
}

function levelText(level: AnnotationLevel, notices: readonly Notice[]): string {
  const shown = notices.length <= MOST ? notices : notices.slice(0, MOST - 1);
  const omitted = notices.length - shown.length;
  const message = `${amountText(omitted, `more ${level}`)}; --format json and html have them all`;
  return [
    ...shown.map(({ title, message: text, location }) =>
      formatAnnotation({ level, title, message: text, location }),
    ),
    ...(omitted === 0 ? [] : [formatAnnotation({ level, location: null, title: "more", message })]),
  ].join("");
}

import { printable, printableLines } from "../../terminal/printing.ts";
import type { AnnotationLevel } from "../../terminal/report.ts";
import type { FormatContext, ReportModel } from "./model.ts";
import { identityOf, noticesOf, type Notice } from "./notices.ts";
import { screenOf } from "./screen/screen.ts";

/** The most annotations that one request of the API may bring. */
const MOST_ANNOTATIONS = 100;
/** Characters that the API takes. */
const LONGEST_SUMMARY = 450;
const LONGEST_DETAILS = 2_000;

const SEVERITIES: Readonly<Record<AnnotationLevel, string>> = {
  error: "HIGH",
  warning: "MEDIUM",
  notice: "LOW",
};

/**
 * A report of Bitbucket Cloud's API (`PUT …/commit/{commit}/reports/{id}`), and beside it the
 * annotations of `POST …/reports/{id}/annotations`: two requests take the two members as their
 * bodies.
 */
export function formatBitbucket(model: ReportModel, context: FormatContext): string {
  const { verdict, headline, facts, rows } = screenOf(model, context);
  const amount = (tag: string): number => rows.filter((row) => row.tag === tag).length;
  const report = {
    title: "Signalbox simulation",
    details: cut(
      [headline, ...facts, ...rows.map(({ tag, who, text }) => `${tag} ${who} ${text}`)].join("\n"),
      LONGEST_DETAILS,
    ),
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
  return `${JSON.stringify({ report, annotations }, null, 2)}\n`;
}

function annotationOf(notice: Notice): readonly object[] {
  const { rule, level, location, title, alone } = notice;
  if (rule === null || location === null) return [];
  return [
    {
      external_id: identityOf(notice),
      annotation_type: "BUG",
      summary: cut(title, LONGEST_SUMMARY),
      details: cut(alone, LONGEST_DETAILS),
      path: printable(location.file),
      line: location.line,
      severity: SEVERITIES[level],
    },
  ];
}

function cut(text: string, longest: number): string {
  const shown = printableLines(text);
  return shown.length <= longest ? shown : `${shown.slice(0, longest - 1).toWellFormed()}…`;
}

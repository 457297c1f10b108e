import { printable } from "../../terminal/printing.ts";
import type { AnnotationLevel } from "../../terminal/report.ts";
import type { ReportModel } from "./model.ts";
import { identityOf, noticesOf, type Notice } from "./notices.ts";

/** GitLab's words for how bad a finding is. */
const SEVERITIES: Readonly<Record<AnnotationLevel, string>> = {
  error: "critical",
  warning: "major",
  notice: "info",
};

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
  const issues = noticesOf(model).flatMap(issueOf);
  return `${JSON.stringify(issues, null, 2)}\n`;
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
      severity: SEVERITIES[level],
      location: { path: printable(location.file), lines: { begin: location.line } },
    },
  ];
}

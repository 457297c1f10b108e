import { formatAnnotation, type AnnotationLevel } from "../../terminal/report.ts";
import type { ReportModel } from "./model.ts";
import { noticesOf, type Notice } from "./notices.ts";
import { amountText } from "../../terminal/printing.ts";

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
  const left = notices.length - shown.length;
  const message = `${amountText(left, `more ${level}`)}; --format json and html have them all`;
  return [
    ...shown.map(({ title, message: text, location }) =>
      formatAnnotation({ level, title, message: text, location }),
    ),
    ...(left === 0 ? [] : [formatAnnotation({ level, location: null, title: "more", message })]),
  ].join("");
}

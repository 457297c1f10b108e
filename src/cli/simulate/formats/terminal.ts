import { blockLines, inlineLine, sectionLines } from "../../document/terminal.ts";
import { BLANK, line, renderLines, span } from "../../terminal/printing.ts";
import type { FormatContext, ReportModel } from "./model.ts";
import { documentOf } from "./report-document.ts";
import { firstScreen } from "./screen/first-screen.ts";

/**
 * The report for a person at a terminal: what is compared and how bad it is first, the sum of it
 * last.
 */
export function formatTerminal(report: ReportModel, context: FormatContext): string {
  const all = context.all !== false;
  const { screen, notices, summary, sections, footer } = documentOf(report, context);
  const loud = blockLines(notices, all);
  const lines = [
    ...firstScreen(screen, all),
    ...(loud.length === 0 ? [] : [BLANK, ...loud]),
    BLANK,
    line(0, span("Details", "bold")),
    ...blockLines(summary, all),
    ...sectionLines(sections, all),
    BLANK,
    ...footer.map(inlineLine),
  ];
  return renderLines(lines, context);
}

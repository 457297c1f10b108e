import { Comment, markdownOf, writeBlocks, writeSections } from "../../document/markdown.ts";
import type { FormatContext, ReportModel } from "./model.ts";
import { documentOf } from "./report-document.ts";

/** By which a workflow finds its comment again; GitHub shows nothing of it. */
export const MARKER = "<!-- signalbox-simulation -->";

/** Characters that stay free for the sections after the first screen. */
const RESERVE = 40_000;

/** One comment for a pull request: whole Markdown, never longer than 60,000 characters. */
export function formatMarkdown(report: ReportModel, context: FormatContext): string {
  const comment = new Comment();
  const { heading, opening, notices, summary, folded, sections, footer } = documentOf(
    report,
    context,
  );
  comment.write(MARKER, `## Signalbox simulation: ${heading}`);
  writeBlocks(comment, opening, RESERVE);
  writeBlocks(comment, notices, RESERVE);
  if (folded !== null) comment.write("", "<details>", `<summary>Details: ${folded}</summary>`);
  writeBlocks(comment, summary, RESERVE);
  // Variants are for the page; sections of details are folded here.
  writeSections(
    comment,
    sections.map((section) => ({ ...section, detail: false })),
    false,
  );
  if (folded !== null) comment.write("", "</details>");
  comment.write("", "---", footer.map(markdownOf).join(" "));
  return comment.toString();
}

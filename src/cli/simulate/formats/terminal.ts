import { blockLines, inlineLine, sectionLines, TONE_STYLES } from "../../document/terminal.ts";
import {
  BLANK,
  type Line,
  columnsOf,
  joinTexts,
  line,
  padded,
  printable,
  renderLines,
  span,
} from "../../terminal/printing.ts";
import type { FormatContext, ReportModel } from "./model.ts";
import { documentOf } from "./report-document.ts";
import type { Screen, ScreenRow } from "./screen/screen.ts";

/**
 * The report for a person at a terminal: what is compared and how bad it is first, the sum of it
 * last.
 */
export function formatTerminal(report: ReportModel, context: FormatContext): string {
  const all = context.all !== false;
  const { screen, notices, summary, sections, footer } = documentOf(report, context);
  const loud = blockLines(notices, all);
  const { first, further } = firstScreen(screen, all);
  const lines = [
    ...first,
    ...(loud.length === 0 ? [] : [BLANK, ...loud]),
    BLANK,
    line(0, span("Details", "bold")),
    ...further,
    ...blockLines(summary, all),
    ...sectionLines(sections, all),
    BLANK,
    ...footer.map(inlineLine),
  ];
  return renderLines(lines, context);
}

/**
 * Columns in which lines are counted: what is shown must not depend on how wide the terminal is.
 */
const USUAL_WIDTH = 100;

/** A terminal of 24 lines shows them at once, with the prompt. */
const MOST_LINES = 23;

const TAGS = 8;

/**
 * The verdict, the facts, and the questions, in {@link MOST_LINES} lines of {@link USUAL_WIDTH}
 * columns; in more where facts that are never left out need them. `further`: those left out.
 */
export function firstScreen(
  screen: Screen,
  all: boolean,
): Record<"first" | "further", readonly Line[]> {
  const head = headLines(screen);
  const tail = tailLines(screen, all);
  const columns = whoColumns(screen);
  const linesOf = (rows: readonly ScreenRow[]): readonly Line[] =>
    rows.flatMap((row) => rowLines(row, columns));
  const omitted = new Set<ScreenRow>();
  const shown = (): readonly Line[] => {
    const tags = new Set([...omitted].map(({ tag }) => tag));
    const more = `… ${omitted.size} more below: ${[...tags].join(", ")}`;
    return [
      ...head,
      ...(screen.rows.length === 0 ? [] : [BLANK]),
      ...linesOf(screen.rows.filter((row) => !omitted.has(row))),
      ...(omitted.size === 0 ? [] : [line(0, span(`${padded("", TAGS)}${more}`, "dim"))]),
      ...(tail.length === 0 ? [] : [BLANK]),
      ...tail,
    ];
  };
  const height = () =>
    renderLines(shown(), { colour: false, width: USUAL_WIDTH }).split("\n").length - 1;
  const cuttable = screen.rows.filter(({ alwaysShown }) => !alwaysShown).toReversed();
  for (const row of cuttable.toSorted((one, other) => other.rank - one.rank)) {
    if (height() <= MOST_LINES) break;
    omitted.add(row);
  }
  return { first: shown(), further: linesOf(screen.rows.filter((row) => omitted.has(row))) };
}

function headLines({ verdict, tone, headline, location: where, facts }: Screen): readonly Line[] {
  return [
    line(
      0,
      span(padded(`${verdict}  `, TAGS), TONE_STYLES[tone], "bold"),
      span(headline, "bold"),
      span(where && `   ${where}`, "dim"),
    ),
    line(0, span(facts.join("   "))),
  ];
}

/** Names of assertions are long, and must not make the column of workspaces wide. */
function whoColumns({ rows }: Screen): number {
  const withWorkspaces = rows.filter(({ tag }) => tag !== "FAILS");
  return Math.min(32, Math.max(0, ...withWorkspaces.map(({ who }) => columnsOf(printable(who)))));
}

function rowLines(
  { tag, tone, who, text, calls, location: where, gates }: ScreenRow,
  columns: number,
): readonly Line[] {
  const fails = gates.length === 0 || tag === "FAILS" ? "" : `fails ${gates.join(", ")}`;
  const right = joinTexts([calls, where, fails], "   ");
  const first = line(
    0,
    span(padded(tag, TAGS), TONE_STYLES[tone], "bold"),
    span(who && `${padded(who, columns)}  `, "bold"),
    span(text),
    span(right && `   ${right}`, "dim"),
  );
  const hang = TAGS + (who === "" || tag === "FAILS" ? 0 : columns + 2);
  return [{ ...first, hang }];
}

/** The questions that a terminal prints. */
const MOST_QUESTIONS = 5;

function tailLines({ decide, explain, more, counts }: Screen, all: boolean): readonly Line[] {
  const shown = decide.slice(0, MOST_QUESTIONS);
  const further = decide.length - shown.length;
  const questions = [
    ...shown,
    ...(further === 0 ? [] : [`… ${further} more; --format markdown has them all`]),
  ];
  return [
    ...questions.map((question, index) => ({
      ...line(0, span(padded(index === 0 ? "Decide: " : "", TAGS), "bold"), span(question)),
      hang: TAGS,
    })),
    ...(explain === null
      ? []
      : [{ ...line(0, span("explain: ", "bold"), span(explain)), whole: true }]),
    ...(more === ""
      ? []
      : [{ ...line(0, span("More: ", "bold"), span(all ? more : `${more}   --all`)), hang: 6 }]),
    ...(counts === "" ? [] : [line(0, span("Facts: ", "bold"), span(counts))]),
  ];
}

import { printable } from "../../../terminal/printing.ts";
import { BLANK, columnsOf, line, padded, renderLines, span, type Line, type Style } from "../../../terminal/layout.ts";
import type { FormatContext, ReportModel } from "../model.ts";
import { screenOf, type Screen, type ScreenRow } from "../screen/screen.ts";
import type { Tone } from "../wording/change-wording.ts";

/** Columns in which lines are counted: what is shown must not depend on how wide the terminal is. */
const USUAL_WIDTH = 100;

/** So much of a terminal is read at once. */
const MOST_LINES = 15;

const STYLES: Readonly<Record<Tone, Style>> = {
  stop: "red",
  widen: "yellow",
  narrow: "magenta",
  quiet: "dim",
  good: "green",
};

const TAGS = 8;

/** The verdict, what changes, for whom, and what has to be decided, in at most {@link MOST_LINES} lines of {@link USUAL_WIDTH} columns. */
export function firstScreen(report: ReportModel, context: FormatContext): readonly Line[] {
  const screen = screenOf(report, context);
  const head = headLines(screen);
  const tail = tailLines(screen, context.all !== false);
  const rows = screen.rows.map((row) => rowLines(row, whoColumns(screen)));
  const height = (lines: readonly Line[]): number =>
    renderLines(lines, { colour: false, width: USUAL_WIDTH }).split("\n").length - 1;
  const gap = tail.length === 0 ? [] : [BLANK];
  let shown = rows.length;
  const cut = (): readonly Line[] =>
    shown === rows.length
      ? rows.flat()
      : [
          ...rows.slice(0, shown).flat(),
          line(0, span(`${padded("", TAGS)}… ${rows.length - shown} more below`, "dim")),
        ];
  while (shown > 0 && height([...head, BLANK, ...cut(), ...gap, ...tail]) > MOST_LINES) shown -= 1;
  const body = cut();
  return [...head, ...(body.length === 0 ? [] : [BLANK, ...body]), ...gap, ...tail];
}

function headLines({ verdict, tone, headline, location: where, facts }: Screen): readonly Line[] {
  return [
    line(
      0,
      span(padded(verdict, TAGS), STYLES[tone], "bold"),
      span(headline, "bold"),
      span(where === "" ? "" : `   ${where}`, "dim"),
    ),
    line(0, span(facts.join("   "))),
  ];
}

function whoColumns({ rows }: Screen): number {
  return Math.min(32, Math.max(0, ...rows.map(({ who }) => columnsOf(printable(who)))));
}

function rowLines({ tag, tone, who, text, calls, location: where }: ScreenRow, columns: number): readonly Line[] {
  const right = [calls, where].filter((part) => part !== "").join("   ");
  const first = line(
    0,
    span(padded(tag, TAGS), STYLES[tone], "bold"),
    span(who === "" ? "" : `${padded(who, columns)}  `, "bold"),
    span(text),
    span(right === "" ? "" : `   ${right}`, "dim"),
  );
  const hang = TAGS + (who === "" ? 0 : columns + 2);
  return [{ ...first, hang }];
}

function tailLines({ decide, explain, more }: Screen, all: boolean): readonly Line[] {
  return [
    ...(decide === "" ? [] : [{ ...line(0, span("Decide: ", "bold"), span(decide)), hang: 8 }]),
    ...(explain === null ? [] : [{ ...line(0, span("explain: ", "bold"), span(explain)), whole: true }]),
    ...(more === "" ? [] : [{ ...line(0, span("More: ", "bold"), span(all ? more : `${more}   --all`)), hang: 6 }]),
  ];
}

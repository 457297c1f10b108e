import {
  BLANK,
  columnsOf,
  line,
  padded,
  printable,
  renderLines,
  span,
  type Line,
} from "../../../terminal/printing.ts";
import { TONE_STYLES } from "../../../document/terminal.ts";
import type { Screen, ScreenRow } from "./screen.ts";

/**
 * Columns in which lines are counted: what is shown must not depend on how wide the terminal is.
 */
const USUAL_WIDTH = 100;

/** So much of a terminal is read at once. */
const MOST_LINES = 15;

const TAGS = 8;

/**
 * The verdict, what changes, for whom, and what has to be decided, in at most {@link MOST_LINES}
 * lines of {@link USUAL_WIDTH} columns.
 */
export function firstScreen(screen: Screen, all: boolean): readonly Line[] {
  const head = headLines(screen);
  const tail = tailLines(screen, all);
  const rows = screen.rows.map((row) => rowLines(row, whoColumns(screen)));
  const height = (lines: readonly Line[]): number =>
    renderLines(lines, { colour: false, width: USUAL_WIDTH }).split("\n").length - 1;
  const gap = tail.length === 0 ? [] : [BLANK];
  // What is left out is what matters least, and of equals the last.
  const order = screen.rows
    .map((_, index) => index)
    .toSorted((left, right) => rankOf(right) - rankOf(left) || right - left);
  const left = new Set<number>();
  function rankOf(index: number): number {
    return IMPORTANCE.indexOf(screen.rows[index]?.tag ?? "NOTE");
  }
  const cut = (): readonly Line[] =>
    left.size === 0
      ? rows.flat()
      : [
          ...rows.filter((_, index) => !left.has(index)).flat(),
          line(0, span(`${padded("", TAGS)}… ${left.size} more below: ${tagsOf(left)}`, "dim")),
        ];
  // A reader must know of a refusal that has no room.
  const tagsOf = (some: ReadonlySet<number>): string =>
    IMPORTANCE.filter((tag) => [...some].some((index) => screen.rows[index]?.tag === tag)).join(
      ", ",
    );
  const fits = (): boolean => height([...head, BLANK, ...cut(), ...gap, ...tail]) <= MOST_LINES;
  for (const index of order) {
    if (fits()) break;
    left.add(index);
  }
  // Without a long row, the one before it may fit again; none may fit past one that matters more.
  for (const index of order.toReversed()) {
    if (!left.delete(index) || fits()) continue;
    left.add(index);
    break;
  }
  const body = cut();
  return [...head, ...(body.length === 0 ? [] : [BLANK, ...body]), ...gap, ...tail];
}

/** Tags of rows, those that are left out last first. */
const IMPORTANCE: readonly ScreenRow["tag"][] = [
  "FAILS",
  "CHANGE",
  "LATENT",
  "BREAKS",
  "WIDENS",
  "MOVES",
  "NARROWS",
  "WITH",
  "CHANGES",
  "SAME",
  "NOTE",
  "COST",
];

function headLines({ verdict, tone, headline, location: where, facts }: Screen): readonly Line[] {
  return [
    line(
      0,
      span(padded(`${verdict}  `, TAGS), TONE_STYLES[tone], "bold"),
      span(headline, "bold"),
      span(where === "" ? "" : `   ${where}`, "dim"),
    ),
    line(0, span(facts.join("   "))),
  ];
}

/** Names of assertions are long, and must not make the column of workspaces wide. */
function whoColumns({ rows }: Screen): number {
  const named = rows.filter(({ tag }) => tag !== "FAILS");
  return Math.min(32, Math.max(0, ...named.map(({ who }) => columnsOf(printable(who)))));
}

function rowLines(
  { tag, tone, who, text, calls, location: where }: ScreenRow,
  columns: number,
): readonly Line[] {
  const right = [calls, where].filter((part) => part !== "").join("   ");
  const first = line(
    0,
    span(padded(tag, TAGS), TONE_STYLES[tone], "bold"),
    span(who === "" ? "" : `${padded(who, columns)}  `, "bold"),
    span(text),
    span(right === "" ? "" : `   ${right}`, "dim"),
  );
  const hang = TAGS + (who === "" || tag === "FAILS" ? 0 : columns + 2);
  return [{ ...first, hang }];
}

function tailLines({ decide, explain, more }: Screen, all: boolean): readonly Line[] {
  return [
    ...(decide === "" ? [] : [{ ...line(0, span("Decide: ", "bold"), span(decide)), hang: 8 }]),
    ...(explain === null
      ? []
      : [{ ...line(0, span("explain: ", "bold"), span(explain)), whole: true }]),
    ...(more === ""
      ? []
      : [{ ...line(0, span("More: ", "bold"), span(all ? more : `${more}   --all`)), hang: 6 }]),
  ];
}

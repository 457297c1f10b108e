import { printable, tableRows } from "./printing.ts";

const STYLES = {
  red: "\u001b[31m",
  green: "\u001b[32m",
  yellow: "\u001b[33m",
  magenta: "\u001b[35m",
  cyan: "\u001b[36m",
  dim: "\u001b[2m",
  bold: "\u001b[1m",
} as const;
const RESET = "\u001b[0m";
export type Style = keyof typeof STYLES;

export type Paint = (style: Style, text: string) => string;

/** Styles texts of a report; leaves them as they are without colour. */
export function painter(colour: boolean): Paint {
  return (style, text) => (colour && text !== "" ? `${STYLES[style]}${text}${RESET}` : text);
}

/**
 * A piece of a line. Its text may come from files: it is made printable here, so that no caller can
 * forget it.
 */
export interface Span {
  readonly text: string;
  readonly styles: readonly Style[];
}

export interface Line {
  readonly spans: readonly Span[];
  /**
   * Columns in front of the first row and of those that follow where the line has to be wrapped.
   */
  readonly indent: number;
  readonly hang: number;
  /** A command to paste: never wrapped. */
  readonly whole: boolean;
}

export const BLANK: Line = { spans: [], indent: 0, hang: 0, whole: false };

export function span(text: string, ...styles: readonly Style[]): Span {
  return { text, styles };
}

export function line(indent: number, ...spans: readonly Span[]): Line {
  return { spans, indent, hang: indent + 2, whole: false };
}

/** A name, and a text that is wrapped below its own beginning. */
export function nameLine(
  indent: number,
  name: string,
  columns: number,
  ...spans: readonly Span[]
): Line {
  return {
    spans: [span(name, "dim"), span(`${padded(name, columns).slice(name.length)}  `), ...spans],
    indent,
    hang: indent + columns + 2,
    whole: false,
  };
}

export function commandLine(indent: number, name: string, columns: number, command: string): Line {
  return { ...nameLine(indent, name, columns, span(command)), whole: true };
}

/** Columns that a text takes: one for every character. */
export function columnsOf(text: string): number {
  return Array.from(printable(text)).length;
}

export function padded(text: string, columns: number): string {
  return `${text}${" ".repeat(Math.max(0, columns - columnsOf(text)))}`;
}

/** Below this nothing can be laid out. */
const NARROWEST = 40;

/** All lines, wrapped, with a line feed after each. */
export function renderLines(
  lines: readonly Line[],
  { colour, width }: { readonly colour: boolean; readonly width: number },
): string {
  // Written so that a width that is no number is the narrowest too.
  const columns = width > NARROWEST ? Math.floor(width) : NARROWEST;
  const rows = lines.flatMap((one) => wrap(one, one.whole ? Number.POSITIVE_INFINITY : columns));
  return rows.map((row) => `${rowText(row, colour)}\n`).join("");
}

function wrap({ spans, indent, hang }: Line, width: number): readonly (readonly Span[])[] {
  const rows: Span[][] = [[]];
  let used = 0;
  const put = (text: string, styles: readonly Style[]): void => {
    rows.at(-1)?.push({ text, styles });
    used += columnsOf(text);
  };
  const turn = (): void => {
    rows.push([]);
    used = 0;
    put(" ".repeat(Math.min(hang, Math.floor(width / 2))), []);
  };
  if (spans.length > 0) put(" ".repeat(indent), []);
  let start = used;
  for (const { text, styles } of spans) {
    for (const word of printable(text).split(/( +)/)) {
      const columns = columnsOf(word);
      if (used + columns <= width) put(word, styles);
      // White space at the end of a row is dropped.
      else if (word.startsWith(" ")) turn();
      else {
        if (used > start) turn();
        start = used;
        // A word that is wider than a row is cut, so that nothing is hidden right of the window.
        let rest = Array.from(word);
        while (used + rest.length > width) {
          const room = width - used;
          put(rest.slice(0, room).join(""), styles);
          rest = rest.slice(room);
          turn();
        }
        put(rest.join(""), styles);
      }
    }
  }
  return rows;
}

function rowText(row: readonly Span[], colour: boolean): string {
  const plain = row.map(({ text }) => text).join("");
  let left = plain.trimEnd().length;
  const merged: { text: string; readonly style: string }[] = [];
  for (const { text, styles } of row) {
    const kept = text.slice(0, left);
    left -= kept.length;
    if (kept === "") continue;
    const style = styles.map((name) => STYLES[name]).join("");
    const last = merged.at(-1);
    if (last !== undefined && last.style === style) last.text += kept;
    else merged.push({ text: kept, style });
  }
  // GitHub Actions would carry out a row of its log that begins like this, and a name may hold it
  // where the row turns.
  if (plain.trimStart().startsWith("::")) {
    const first = merged.find(({ text }) => text.includes(":"));
    if (first !== undefined) first.text = first.text.replace(":", "\u2236");
  }
  return merged
    .map(({ text, style }) => (colour && style !== "" ? `${style}${text}${RESET}` : text))
    .join("");
}

/**
 * A heading and what stands below it, with a blank line in front; nothing where nothing stands
 * below it.
 */
export function section(title: string, lines: readonly Line[]): readonly Line[] {
  return lines.length === 0 ? [] : [BLANK, line(0, span(title, "bold")), ...lines];
}

/**
 * Rows in columns; never wrapped, since that would tear the columns apart. @param textColumns how
 * many columns are text; the others are numbers.
 */
export function tableLines(
  indent: number,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns: number,
): readonly Line[] {
  if (rows.length === 0) return [];
  return tableRows([head, ...rows], textColumns).map((row, index) => ({
    ...line(indent, index === 0 ? span(row, "dim") : span(row)),
    whole: true,
  }));
}

import { BLANK, line, span, type Line } from "../../../terminal/layout.ts";
import { tableRows } from "../../../terminal/table.ts";

/** A heading and what stands below it, with a blank line in front; nothing where nothing stands below it. */
export function section(title: string, lines: readonly Line[]): readonly Line[] {
  return lines.length === 0 ? [] : [BLANK, line(0, span(title, "bold")), ...lines];
}

/** Rows in columns; never wrapped, since that would tear the columns apart. @param textColumns how many columns are text; the others are numbers. */
export function tableLines(
  indent: number,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns: number,
): readonly Line[] {
  if (rows.length === 0) return [];
  const right = new Set(head.keys().filter((column) => column >= textColumns));
  return tableRows([head, ...rows], right).map((row, index) => ({
    ...line(indent, index === 0 ? span(row, "dim") : span(row)),
    whole: true,
  }));
}

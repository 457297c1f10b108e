import type { CommandIo } from "./command-io.ts";

/**
 * Text from an untrusted source, safe for a terminal: it cannot move the cursor or colour what
 * follows.
 */
export function printable(text: string): string {
  return text.replaceAll("\t", " ").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

/** The same of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** Whether a report may be coloured. */
export function wantsColour(io: CommandIo): boolean {
  return io.terminal === true && (io.environment["NO_COLOR"] ?? "") === "";
}

/** A value as the JSON that commands print, with a line feed at its end. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** `1 policy`, `2 policies`. */
export function amountOf(
  amount: number,
  singular: string,
  plural: string = `${singular}s`,
): string {
  return `${amount} ${amount === 1 ? singular : plural}`;
}

/**
 * Rows as columns of equal width, two spaces apart, without spaces at the ends of lines. Cells may
 * hold untrusted text.
 */
export function formatTable(rows: readonly (readonly string[])[]): string {
  return tableRows(rows)
    .map((row) => `${row}\n`)
    .join("");
}

/**
 * The same as lines without their ends. @param textColumns how many columns are text; the others
 * are numbers, aligned right.
 */
export function tableRows(
  rows: readonly (readonly string[])[],
  textColumns: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const widths: number[] = [];
  const shown = rows.map((row) => row.map((cell) => printable(cell)));
  for (const row of shown) {
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, lengthOf(cell));
  }
  return shown.map((row) =>
    row
      .map((cell, column) => {
        const space = " ".repeat((widths[column] ?? 0) - lengthOf(cell));
        return column < textColumns ? `${cell}${space}` : `${space}${cell}`;
      })
      .join("  ")
      .trimEnd(),
  );
}

function lengthOf(cell: string): number {
  return Array.from(cell).length;
}

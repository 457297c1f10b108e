import { printable } from "./printing.ts";

/** Rows as columns of equal width, two spaces apart, without spaces at the ends of lines. Cells may hold untrusted text. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  return tableRows(rows)
    .map((row) => `${row}\n`)
    .join("");
}

/** The same as lines without their ends. @param right the columns that are aligned right: numbers. */
export function tableRows(
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): readonly string[] {
  const widths: number[] = [];
  const shown = rows.map((row) => row.map((cell) => printable(cell)));
  for (const row of shown) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, lengthOf(cell));
  }
  return shown.map((row) =>
    row
      .map((cell, column) => {
        const space = " ".repeat((widths[column] ?? 0) - lengthOf(cell));
        return right.has(column) ? `${space}${cell}` : `${cell}${space}`;
      })
      .join("  ")
      .trimEnd(),
  );
}

function lengthOf(cell: string): number {
  return Array.from(cell).length;
}

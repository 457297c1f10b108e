import { styleText } from "node:util";
import type { CommandIo } from "./command-io.ts";
import type { SeenUsage } from "../../simulate/evidence/seen-usage.ts";

/** Replaces control characters of untrusted text, which could move the cursor or set colours. */
export function printable(text: string): string {
  return text.replaceAll("\t", " ").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

/** {@link printable} for text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** Whether a report may be coloured. */
export function wantsColour(io: CommandIo): boolean {
  return io.terminal === true && (io.environment.NO_COLOR ?? "") === "";
}

/** A value as indented JSON, with a line feed at its end. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Rows in columns of equal width, two spaces apart. Cells may be untrusted text. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  return tableRows(rows)
    .map((row) => `${row}\n`)
    .join("");
}

/**
 * The lines of {@link formatTable}. @param textColumns the columns after them are right-aligned.
 */
export function tableRows(
  rows: readonly (readonly string[])[],
  textColumns: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, columnsOf(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const space = " ".repeat((widths[column] ?? 0) - columnsOf(cell));
        return column < textColumns ? `${printable(cell)}${space}` : `${space}${printable(cell)}`;
      })
      .join("  ")
      .trimEnd(),
  );
}

/** `1,926,400` */
export function numberText(amount: number | string): string {
  return String(amount).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Largest number of shapes that is printed in full. */
const EXACT = 10n ** 12n;

const scientific = new Intl.NumberFormat("en", {
  notation: "scientific",
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** Formats decimal digits: exact up to 10^12, `1.9 × 10^18` above. */
export function shapesText(digits: string): string {
  const shapes = BigInt(digits);
  return shapes > EXACT ? scientific.format(shapes).replace("E", " × 10^") : numberText(digits);
}

/** "1 class", "3,184 classes". */
export function amountText(
  amount: number,
  singular: string,
  plural: string = `${singular}s`,
): string {
  return `${numberText(amount)} ${amount === 1 ? singular : plural}`;
}

/** "3 errors"; empty for 0. */
export function countText(amount: number, singular: string, plural?: string): string {
  return amount === 0 ? "" : amountText(amount, singular, plural);
}

export function classesText(amount: number): string {
  return amountText(amount, "class", "classes");
}

/** "1 request shape", "1,926,400 request shapes". */
export function requestShapesText(digits: string): string {
  return `${shapesText(digits)} request shape${digits === "1" ? "" : "s"}`;
}

/** "12 classes, 40,200 request shapes". */
export function scopeText({
  classes,
  shapes,
}: {
  readonly classes: number;
  readonly shapes: string;
}): string {
  return `${classesText(classes)}, ${requestShapesText(shapes)}`;
}

/** "seen 3 times in evidence"; `null` without evidence. */
export function seenText(count: number | null, usage: SeenUsage | null = null): string | null {
  if (count === null) return null;
  if (count === 0) return "not seen in evidence";
  return [`seen ${amountText(count, "time")} in evidence`, ...usageTexts(usage, count)].join(", ");
}

/**
 * "90,000 tokens of 8 answers", "0.12 → at least 0.3 USD by list price (2 answers without a
 * price)": empty if no answer used tokens.
 */
export function usageTexts(usage: SeenUsage | null, calls: number): readonly string[] {
  const tokens = usage === null ? 0 : usage.input_tokens + usage.output_tokens;
  if (usage === null || tokens === 0) return [];
  const of = usage.counted < calls ? ` of ${amountText(usage.counted, "answer")}` : "";
  return [`${amountText(tokens, "token")}${of}`, costText(usage)];
}

/** "0.12 → at least 0.3 USD by list price (2 answers without a price or a count)". */
export function costText(usage: SeenUsage): string {
  const unpriced = Math.max(usage.unpriced_before, usage.unpriced_after);
  const without =
    unpriced === 0 ? "" : ` (${amountText(unpriced, "answer")} without a price or a count)`;
  return `${costs(usage).join(" → ")} USD by list price${without}`;
}

/** "0.12" and "at least 0.3": US dollars before and after. */
export function costs(usage: SeenUsage): readonly [before: string, after: string] {
  const cost = (usd: number, unpriced: number): string => {
    if (unpriced === 0) return dollars.format(usd);
    return usd > 0 ? `at least ${dollars.format(usd)}` : "unknown";
  };
  return [
    cost(usage.known_cost_before, usage.unpriced_before),
    cost(usage.known_cost_after, usage.unpriced_after),
  ];
}

const dollars = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** "acme-prod, acme-dev and 411 more": a list of at most `most` + 1 items. */
export function listText(items: readonly string[], most = 6): string {
  if (items.length <= most + 1) return items.join(", ");
  return `${items.slice(0, most).join(", ")} and ${numberText(items.length - most)} more`;
}

/** Texts in a row, without empty ones. */
export function joinTexts(texts: readonly string[], separator = ", "): string {
  return texts.filter((text) => text !== "").join(separator);
}

/**
 * Per cent, rounded down to one digit: only the whole is 100 %, and more than nothing is not 0 %.
 */
export function percentageText(part: number, whole: number): string {
  const percentage = whole === 0 ? 0 : (part / whole) * 100;
  if (part > 0 && percentage < 0.1) return "less than 0.1 %";
  return `${(Math.floor(percentage * 10) / 10).toFixed(1)} %`;
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export type Style = "red" | "green" | "yellow" | "magenta" | "cyan" | "dim" | "bold";

export type Paint = (style: Style | readonly Style[], text: string) => string;

/** Applies styles to text if `colour` is set. */
export function painter(colour: boolean): Paint {
  return (style, text) =>
    colour && text !== "" ? styleText([style].flat(), text, { validateStream: false }) : text;
}

/** A styled part of a line. Its text may be untrusted: `renderLines` makes it printable. */
export interface Span {
  readonly text: string;
  readonly styles: readonly Style[];
}

export interface Line {
  readonly spans: readonly Span[];
  /** Columns before the first row, and before the rows after it where the line is wrapped. */
  readonly indent: number;
  readonly hang: number;
  /** Never wrapped: a command to paste. */
  readonly whole: boolean;
}

export const BLANK: Line = { spans: [], indent: 0, hang: 0, whole: false };

export function span(text: string, ...styles: readonly Style[]): Span {
  return { text, styles };
}

export function line(indent: number, ...spans: readonly (Span | string)[]): Line {
  return {
    spans: spans.map((part) => (typeof part === "string" ? span(part) : part)),
    indent,
    hang: indent + 2,
    whole: false,
  };
}

/** A line that is never wrapped, such as a command to paste. */
export function wholeLine(indent: number, ...spans: readonly (Span | string)[]): Line {
  return { ...line(indent, ...spans), whole: true };
}

/** A name and a text, which is wrapped in its own column. */
export function nameLine(
  indent: number,
  name: string,
  columns: number,
  ...spans: readonly (Span | string)[]
): Line {
  return {
    ...line(indent, span(name, "dim"), `${padded(name, columns).slice(name.length)}  `, ...spans),
    hang: indent + columns + 2,
  };
}

export function commandLine(indent: number, name: string, columns: number, command: string): Line {
  return { ...nameLine(indent, name, columns, command), whole: true };
}

/** Width of a text, one column a character. */
export function columnsOf(text: string): number {
  return Array.from(printable(text)).length;
}

export function padded(text: string, columns: number): string {
  return `${text}${" ".repeat(Math.max(0, columns - columnsOf(text)))}`;
}

/** Columns; narrower terminals are treated as this wide. */
const NARROWEST = 40;

/** All lines, wrapped, with a line feed after each. */
export function renderLines(
  lines: readonly Line[],
  { colour, width }: { readonly colour: boolean; readonly width: number },
): string {
  // NaN becomes the narrowest width too.
  const columns = width > NARROWEST ? Math.floor(width) : NARROWEST;
  const rows = lines.flatMap((one) => wrap(one, one.whole ? Number.POSITIVE_INFINITY : columns));
  return rows.map((row) => `${rowText(row, painter(colour))}\n`).join("");
}

/** Prints lines, wrapped. @param otherwise columns if stdout is not a terminal. */
export function printLines(lines: readonly Line[], io: CommandIo, otherwise: number = 120): void {
  const width = io.terminal === true ? (io.columns ?? 120) : otherwise;
  io.stdout(renderLines(lines, { colour: wantsColour(io), width }));
}

function wrap({ spans, indent, hang }: Line, width: number) {
  const rows: { text: string; readonly styles: Span["styles"] }[][] = [];
  let used = 0;
  /** Before the next word; dropped at the end of a row. */
  let space = "";
  const turn = (columns: number) => {
    rows.push([]);
    used = 0;
    space = " ".repeat(columns);
  };
  turn(indent);
  const hanging = Math.min(hang, Math.floor(width / 2));
  for (const { text, styles } of spans) {
    for (const word of printable(text).split(/( +)/)) {
      if (word.trim() === "") {
        space += word;
        continue;
      }
      if (used > 0 && used + columnsOf(space + word) > width) turn(hanging);
      let rest = Array.from(space + word);
      // A word wider than a row is split: nothing may be hidden right of the window.
      for (;;) {
        const part = rest.slice(0, width - used);
        const last = rows.at(-1)?.at(-1);
        if (last?.styles === styles) last.text += part.join("");
        else rows.at(-1)?.push({ text: part.join(""), styles });
        used += part.length;
        rest = rest.slice(part.length);
        if (rest.length === 0) break;
        turn(hanging);
        rest = Array.from(space).concat(rest);
      }
      space = "";
    }
  }
  return rows;
}

function rowText(row: readonly Span[], paint: Paint): string {
  const painted = row.map(({ text, styles }) => paint(styles, text)).join("");
  const plain = row.map(({ text }) => text).join("");
  // GitHub Actions executes log lines that begin with `::`, and a wrapped name may contain it.
  return plain.trimStart().startsWith("::") ? painted.replace(":", "\u2236") : painted;
}

/** A heading with its lines, after a blank line; nothing without lines. */
export function section(title: string, lines: readonly Line[]): readonly Line[] {
  return lines.length === 0 ? [] : [BLANK, line(0, span(title, "bold")), ...lines];
}

/** A table, never wrapped. @param textColumns the columns after them are numbers. */
export function tableLines(
  indent: number,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns: number,
): readonly Line[] {
  if (rows.length === 0) return [];
  return tableRows([head, ...rows], textColumns).map((row, index) =>
    wholeLine(indent, index === 0 ? span(row, "dim") : row),
  );
}

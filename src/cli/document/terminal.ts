import {
  BLANK,
  amountText,
  columnsOf,
  commandLine,
  line,
  listText,
  nameLine,
  padded,
  span,
  type Line,
  type Span,
} from "../terminal/printing.ts";
import {
  cutBlocks,
  cutSections,
  diffText,
  isEmptyText,
  shortLines,
  writeText,
  type Block,
  type CutBlock,
  type InlineWriter,
  type Item,
  type Section,
  type Text,
} from "./document.ts";

export const TONE_STYLES = {
  stop: "red",
  widen: "yellow",
  narrow: "magenta",
  quiet: "dim",
  good: "green",
} as const;

const MARK_STYLES = {
  "+": "green",
  "-": "red",
  "~": "yellow",
  "!": "yellow",
} as const;

const SPANS: InlineWriter<Span> = {
  plain: (text) => span(text),
  strong: (text, tone) => span(text, ...(tone === null ? [] : [TONE_STYLES[tone]]), "bold"),
  quoted: (text, kind) => (kind === "location" ? span(text, "dim") : span(text)),
  names: (all, most) => span(listText(all, most ?? undefined)),
};

/** Wider columns would push later ones out of the window. */
const WIDEST_COLUMN = 32;
const DETAIL = 6;

/** @param all with variants and sections of details. */
export function sectionLines(sections: readonly Section[], all: boolean): readonly Line[] {
  return cutSections(sections, all).flatMap(({ title, note, blocks }) => [
    BLANK,
    line(0, span(title, "bold"), span(note && ` (${note})`)),
    ...blocks.flatMap((block) => printBlock(block, 2)),
  ]);
}

export function blockLines(blocks: readonly Block[], all: boolean): readonly Line[] {
  return cutBlocks(blocks, all).flatMap((block) => printBlock(block, 0));
}

function printBlock(block: CutBlock, indent: number): readonly Line[] {
  if ("text" in block) return [line(indent, ...writeText(block.text, SPANS))];
  if ("command" in block) return [commandLine(indent, "try", 3, block.command)];
  const { items, fold = false, noun, omitted, variants } = block;
  const rows = items.map(({ cells }) =>
    cells.filter((cell) => !isEmptyText(cell)).map((cell) => writeText(cell, SPANS)),
  );
  const widths = new Map<number, number>();
  if (!fold) {
    for (const row of rows) {
      for (const [column, cell] of row.slice(0, -1).entries())
        widths.set(
          column,
          Math.min(WIDEST_COLUMN, Math.max(widths.get(column) ?? 0, columnsOf(textOf(cell)))),
        );
    }
  }
  return [
    ...items.flatMap((item, index) => [
      ...(fold ? [BLANK] : []),
      itemHead(item, rows[index] ?? [], widths, indent),
      ...itemBody(item, indent + DETAIL - 2),
    ]),
    ...moreLine(omitted, noun, "; --format json and html have them all"),
    ...moreLine(variants, noun, " of the same changes: --all"),
  ];
}

function textOf(spans: readonly Span[]) {
  return spans.map(({ text }) => text).join("");
}

function itemHead(
  { mark, tone }: Item,
  cells: readonly (readonly Span[])[],
  widths: ReadonlyMap<number, number>,
  indent: number,
): Line {
  const spans = cells.flatMap((cell, column) =>
    column === cells.length - 1
      ? cell
      : [
          ...cell,
          span(`${padded(textOf(cell), widths.get(column) ?? 0).slice(textOf(cell).length)}  `),
        ],
  );
  const style =
    tone === undefined ? (mark === undefined ? null : MARK_STYLES[mark]) : TONE_STYLES[tone];
  const head = line(
    indent,
    ...(mark === undefined ? [] : [span(`${mark} `, ...(style === null ? [] : [style]), "bold")]),
    ...spans,
  );
  const wide = cells.length > 1 ? (widths.get(0) ?? 0) + 2 : 2;
  return { ...head, hang: indent + (cells.length === 2 ? wide : 4) };
}

function itemBody({ details = [], lines = [], command }: Item, indent: number): readonly Line[] {
  const shown = details.filter(([, text, only]) => only === undefined && !isEmptyText(text));
  const columns = Math.max(
    0,
    ...shown.map(([label]) => columnsOf(label)),
    ...(lines.length > 0 ? [6] : []),
  );
  const { lines: short, omitted } = shortLines(lines);
  return [
    ...shown.map(([label, text]) => nameLine(indent, label, columns, ...writeText(text, SPANS))),
    ...short.map((each, index) => {
      const row = nameLine(
        indent,
        index === 0 ? "result" : "",
        columns,
        span(diffText(each), TONE_STYLES[each.tone]),
      );
      return { ...row, hang: row.hang + 2 };
    }),
    ...(omitted === 0
      ? []
      : [nameLine(indent, "", columns, span(`  … ${amountText(omitted, "more line")}`, "dim"))]),
    ...(command === undefined ? [] : [commandLine(indent, "try", Math.max(3, columns), command)]),
  ];
}

function moreLine(omitted: number, noun: string, where: string): readonly Line[] {
  return omitted <= 0
    ? []
    : [BLANK, line(2, span(`… ${amountText(omitted, `more ${noun}`)}${where}`, "dim"))];
}

export function inlineLine(text: Text): Line {
  return line(0, ...writeText(text, SPANS));
}

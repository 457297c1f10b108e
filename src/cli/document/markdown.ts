import { amountText } from "../terminal/amounts.ts";
import { code, codeBlock, codes, htmlCode, type Comment } from "./comment.ts";
import {
  cutBlocks,
  cutSections,
  diffText,
  isEmptyText,
  name,
  shortLines,
  writeText,
  type Block,
  type CutBlock,
  type InlineWriter,
  type Item,
  type Section,
  type Text,
  type Tone,
} from "./document.ts";

/** Characters of a line of code; a longer command is for the page. */
const LONGEST_LINE = 400;
const LONGEST_COMMAND = 2_000;
const MOST_NAMES = 6;
/** What stays free for the sections after one that does not state it. */
const RESERVE = 4_500;

const SIGNS: Readonly<Record<Tone, string>> = {
  stop: "❌ ",
  widen: "⚠️ ",
  narrow: "⚠️ ",
  quiet: "",
  good: "✅ ",
};

const MARKDOWN: InlineWriter<string> = {
  plain: (text) => text,
  strong: (text, tone) => `${tone === null ? "" : SIGNS[tone]}**${text}**`,
  quoted: code,
  names: (all, most) => codes(all, most ?? MOST_NAMES),
};

/** Inside of HTML, where GitHub reads no Markdown. */
const SUMMARY: InlineWriter<string> = {
  plain: (text) => text,
  strong: (text, tone) => `${tone === null ? "" : SIGNS[tone]}<b>${text}</b>`,
  quoted: htmlCode,
  names: (all, most) => codes(all, most ?? MOST_NAMES, htmlCode),
};

export function markdownOf(text: Text): string {
  return writeText(text, MARKDOWN).join("");
}

export function writeSections(comment: Comment, sections: readonly Section[]): void {
  for (const { title, note = "", blocks, reserve = RESERVE } of cutSections(sections, true)) {
    comment.write("", `### ${title}${note === "" ? "" : ` (${note})`}`);
    for (const block of blocks) writeBlock(comment, block, reserve);
  }
}

export function writeBlocks(comment: Comment, blocks: readonly Block[], reserve: number): void {
  for (const block of cutBlocks(blocks, true)) writeBlock(comment, block, reserve);
}

function writeBlock(comment: Comment, block: CutBlock, reserve: number): void {
  if ("text" in block) {
    comment.write("", markdownOf(block.text));
    return;
  }
  if ("command" in block) {
    comment.write(...commandLines(block.command));
    return;
  }
  const { items, noun, fold, headings, left } = block;
  if (items.length === 0) return;
  if (headings !== undefined) {
    comment.write(
      "",
      row(headings.map((text) => text.replace(/#$/, ""))),
      row(headings.map(() => "---")),
    );
  } else if (fold !== true) comment.write("");
  const write = headings !== undefined ? tableRow : fold === true ? folded : bullet;
  comment.list(
    items.map((item) => () => write(item)),
    noun,
    left,
    reserve,
  );
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function tableRow({ cells }: Item): readonly string[] {
  return [row(cells.map(markdownOf))];
}

function headText({ mark, cells }: Item, writer: InlineWriter<string>): string {
  const shown = cells
    .filter((cell) => !isEmptyText(cell))
    .map((cell) => writeText(cell, writer).join(""));
  return [
    ...(mark === undefined ? [] : writeText({ kind: "quoted", text: mark }, writer)),
    ...shown,
  ].join(" ");
}

function detailLines({ details = [] }: Item, indent: string): readonly string[] {
  return details.flatMap(([label, text, only]) =>
    only !== undefined || isEmptyText(text)
      ? []
      : [`${indent}- ${writeText(name(label), MARKDOWN).join("")}: ${markdownOf(text)}`],
  );
}

function bullet(item: Item): readonly string[] {
  return [`- ${headText(item, MARKDOWN)}`, ...detailLines(item, "  ")];
}

/**
 * The blank line after the summary lets GitHub read Markdown again; the one before the end lets it
 * stop.
 */
function folded(item: Item): readonly string[] {
  const { lines = [], command = "" } = item;
  const { lines: short, left } = shortLines(lines);
  const more = left === 0 ? [] : [`  … ${amountText(left, "more line")}`];
  return [
    "",
    "<details>",
    `<summary>${headText(item, SUMMARY)}</summary>`,
    "",
    ...detailLines(item, ""),
    ...(lines.length === 0
      ? []
      : ["", ...codeBlock("diff", [...short.map(diffText), ...more], LONGEST_LINE)]),
    ...commandLines(command),
    "",
    "</details>",
  ];
}

/** A block of code; nothing of a command that would be cut. */
function commandLines(command: string): readonly string[] {
  return command === "" || command.length > LONGEST_COMMAND
    ? []
    : ["", ...codeBlock("sh", [command], LONGEST_COMMAND)];
}

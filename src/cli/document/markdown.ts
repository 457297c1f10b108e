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
} from "./document.ts";
import { withEntities } from "./html.ts";
import { amountText, listText, printable } from "../terminal/printing.ts";

/** Longer names are cut: they would take the space of the comment. */
const LONGEST = 160;

function truncate(text: string, longest: number = LONGEST): string {
  // Cut twice: a text may be very long, and a character takes two units at most.
  const shown = printable(text.slice(0, 2 * longest + 2).toWellFormed());
  const characters = Array.from(shown);
  return characters.length <= longest ? shown : `${characters.slice(0, longest).join("")}…`;
}

/**
 * Text from files as a code span, in which nothing is markup, a mention, a link or a reference. A
 * pipe is escaped for tables, which GitHub splits before it looks for code; a backslash in front of
 * it would undo that, so it is replaced.
 */
export function code(text: string): string {
  const shown = truncate(text)
    .replaceAll(/\\+(?=\||$)/g, "\uFFFD")
    .replaceAll("|", "\\|");
  if (shown.trim() === "") return "`(empty)`";
  const fence = "`".repeat(longestRun(shown) + 1);
  const pad = /^[` ]|[` ]$/.test(shown) ? " " : "";
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** Longest sentence. */
const LONGEST_SENTENCE = 300;

/**
 * Letters and digits are no markup, mention or link; `GH-1` is a reference. Not with the flag `i`,
 * by which combining marks such as U+0345 count as letters.
 */
const NO_MARKUP =
  /^(?:(?![Gg][Hh]-\d)[\p{L}\p{N}]+(?:[\x27-][\p{L}\p{N}]+)*|[→…·×−]|[−+]?\d[\d.,]*%?)$/u;

/** A sentence with names from files: everything in it that could be markup as code spans. */
function sentence(text: string) {
  return truncate(text, LONGEST_SENTENCE)
    .trim()
    .split(" ")
    .map((part, index) => {
      const [, before = "", core = "", after = ""] =
        /^([(\x22\x27]*)(.*?)([)\x22\x27.,;:?]*)$/s.exec(part) ?? [];
      // "1." at the beginning of a line is an item of a list.
      const isItem = index === 0 && /^\d+\.$/.test(part);
      const isPlain = core === "" || (NO_MARKUP.test(core) && !isItem);
      return isPlain ? part : `${before}${code(core)}${after}`;
    })
    .join(" ");
}

/** Lines as they are, each cut after `longest` characters, in a block that none of them can end. */
function codeBlock(language: string, lines: readonly string[], longest: number): readonly string[] {
  const shown = lines.map((text) => truncate(text, longest));
  const fence = "`".repeat(Math.max(3, longestRun(shown.join("\n")) + 1));
  return [`${fence}${language}`, ...shown, fence];
}

/**
 * Text from files inside of an HTML block, where GitHub reads no markdown; in a code element it
 * looks for no mentions either.
 */
function htmlCode(text: string) {
  return `<code>${withEntities(truncate(text))}</code>`;
}

function longestRun(text: string) {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}

/** Below GitHub's 65,536 characters for a comment, with space for the text that a workflow adds. */
const LONGEST_COMMENT = 60_000;
/** Longest line with the number of omitted items. */
const MORE = 120;

/**
 * Lines that are written while the budget lasts. Only whole blocks are written, so that no element
 * stays open.
 */
export class Comment {
  readonly #lines: string[] = [];
  #room: number;

  /** @param longest characters */
  constructor(longest: number = LONGEST_COMMENT) {
    this.#room = longest;
  }

  /** Required lines; the caller keeps them short. */
  write(...lines: readonly string[]): void {
    this.#lines.push(...lines);
    this.#room -= lengthOf(lines);
  }

  /**
   * Writes the blocks that fit while `reserved` characters stay free for later sections, and a line
   * about the rest. The first block that does not fit ends the list: the most important is first.
   *
   * @param omitted items besides the blocks, which are not written.
   */
  list(
    blocks: readonly (() => readonly string[])[],
    singular: string,
    omitted: number,
    reserved: number,
  ): void {
    let blockCount = 0;
    for (const block of blocks) {
      const lines = block();
      if (lengthOf(lines) + MORE + reserved > this.#room) break;
      this.write(...lines);
      blockCount += 1;
    }
    const omittedBlocks = blocks.length - blockCount + omitted;
    if (omittedBlocks > 0)
      this.write("", `… ${amountText(omittedBlocks, `more ${singular}`)}, see the HTML report`);
  }

  toString(): string {
    return `${this.#lines.join("\n")}\n`;
  }
}

function lengthOf(lines: readonly string[]) {
  return lines.reduce((sum, { length }) => sum + length + 1, 0);
}

/** Characters of a line of code; a longer command is for the page. */
const LONGEST_LINE = 400;
const LONGEST_COMMAND = 2_000;
const MOST_NAMES = 6;
/** Default of a section's `reserve`, characters. */
const RESERVE = 4_500;

const SIGNS = {
  stop: "❌ ",
  widen: "⚠️ ",
  narrow: "⚠️ ",
  quiet: "",
  good: "✅ ",
} as const;

const MARKDOWN: InlineWriter<string> = {
  plain: (text) => text,
  strong: (text, tone) => `${tone === null ? "" : SIGNS[tone]}**${text}**`,
  quoted: (text, kind) => (kind === "location" ? code(text) : sentence(text)),
  names: (all, most) => listText(all.map(code), most ?? MOST_NAMES),
};

/** Inside of HTML, where GitHub reads no Markdown. */
const SUMMARY: InlineWriter<string> = {
  plain: (text) => text,
  strong: (text, tone) => `${tone === null ? "" : SIGNS[tone]}<b>${text}</b>`,
  quoted: htmlCode,
  names: (all, most) => listText(all.map(htmlCode), most ?? MOST_NAMES),
};

export function markdownOf(text: Text): string {
  return writeText(text, MARKDOWN).join("");
}

/** @param all with variants, and with sections of details. */
export function writeSections(
  comment: Comment,
  sections: readonly Section[],
  all: boolean = true,
): void {
  for (const { title, note = "", blocks, reserve = RESERVE } of cutSections(sections, all)) {
    comment.write("", `### ${title}${note && ` (${note})`}`);
    for (const block of blocks) writeBlock(comment, block, reserve);
  }
}

export function writeBlocks(comment: Comment, blocks: readonly Block[], reserve: number): void {
  for (const block of cutBlocks(blocks, true)) writeBlock(comment, block, reserve);
}

function writeBlock(comment: Comment, block: CutBlock, reserve: number) {
  if ("text" in block) {
    comment.write("", markdownOf(block.text));
    return;
  }
  if ("command" in block) {
    comment.write(...commandLines(block.command));
    return;
  }
  const { items, noun, fold, headings, omitted, variants } = block;
  if (items.length + variants === 0) return;
  if (headings !== undefined) {
    comment.write(
      "",
      row(headings.map((text) => text.replace(/#$/, ""))),
      row(headings.map(() => "---")),
    );
  } else if (fold !== true) comment.write("");
  const write = (item: Item): readonly string[] => {
    if (headings !== undefined) return [row(item.cells.map(markdownOf))];
    if (fold === true) return folded(item);
    return [`- ${headText(item, MARKDOWN)}`, ...detailLines(item, "  ")];
  };
  comment.list(
    items.map((item) => () => write(item)),
    noun,
    omitted + variants,
    reserve,
  );
}

function row(cells: readonly string[]) {
  return `| ${cells.join(" | ")} |`;
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

/**
 * The blank line after the summary lets GitHub read Markdown again; the one before the end lets it
 * stop.
 */
function folded(item: Item): readonly string[] {
  const { lines = [], command = "" } = item;
  const { lines: short, omitted } = shortLines(lines);
  const more = omitted === 0 ? [] : [`  … ${amountText(omitted, "more line")}`];
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

/** A block of code; none for a command that is too long. */
function commandLines(command: string): readonly string[] {
  return command === "" || command.length > LONGEST_COMMAND
    ? []
    : ["", ...codeBlock("sh", [command], LONGEST_COMMAND)];
}

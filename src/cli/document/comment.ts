import { printable } from "../terminal/printing.ts";
import { amountText, numberText } from "../terminal/amounts.ts";
import { withEntities } from "./html/markup.ts";

/** A name that is longer than this is cut: it must not push everything else out of the comment. */
const LONGEST = 160;

function cut(text: string, longest: number = LONGEST): string {
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
  const shown = cut(text)
    .replaceAll(/\\+(?=\||$)/g, "\uFFFD")
    .replaceAll("|", "\\|");
  if (shown.trim() === "") return "`(empty)`";
  const fence = "`".repeat(longestRun(shown) + 1);
  const pad = /^[` ]|[` ]$/.test(shown) ? " " : "";
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** A list of {@link code}, at most `most` of them. */
export function codes(items: readonly string[], most: number, write = code): string {
  if (items.length <= most + 1) return items.map((item) => write(item)).join(", ");
  const first = items.slice(0, most).map((item) => write(item));
  return `${first.join(", ")} and ${numberText(items.length - most)} more`;
}

/** Lines as they are, each cut after `longest` characters, in a block that none of them can end. */
export function codeBlock(
  language: string,
  lines: readonly string[],
  longest: number,
): readonly string[] {
  const shown = lines.map((text) => cut(text, longest));
  const fence = "`".repeat(Math.max(3, longestRun(shown.join("\n")) + 1));
  return [`${fence}${language}`, ...shown, fence];
}

/**
 * Text from files inside of an HTML block, where GitHub reads no markdown; in a code element it
 * looks for no mentions either.
 */
export function htmlCode(text: string): string {
  return `<code>${withEntities(cut(text))}</code>`;
}

function longestRun(text: string): number {
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
  #room = LONGEST_COMMENT;

  /** Required lines; the caller keeps them short. */
  write(...lines: readonly string[]): void {
    this.#lines.push(...lines);
    this.#room -= lengthOf(lines);
  }

  /**
   * As many of the blocks as fit while `reserved` characters stay free for what comes after, and a
   * line about the rest. A block that does not fit ends the list: the most important comes first.
   *
   * @param omitted items besides the blocks, which are not written.
   */
  list(
    blocks: readonly (() => readonly string[])[],
    singular: string,
    omitted: number,
    reserved: number,
  ): void {
    let written = 0;
    for (const block of blocks) {
      const lines = block();
      if (lengthOf(lines) + MORE + reserved > this.#room) break;
      this.write(...lines);
      written += 1;
    }
    const left = blocks.length - written + omitted;
    if (left > 0) this.write("", `… ${amountText(left, `more ${singular}`)}, see the HTML report`);
  }

  toString(): string {
    return `${this.#lines.join("\n")}\n`;
  }
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, { length }) => sum + length + 1, 0);
}

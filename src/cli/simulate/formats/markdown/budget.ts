import { amountText } from "../../../terminal/amounts.ts";

/** Below GitHub's 65,536 characters for a comment, with space for the text that a workflow adds. */
const LONGEST_COMMENT = 60_000;
/** Longest line with the number of omitted items. */
const MORE = 120;

/** Lines that are written while the budget lasts. Only whole blocks are written, so that no element stays open. */
export class Comment {
  readonly #lines: string[] = [];
  #room = LONGEST_COMMENT;

  /** Required lines; the caller keeps them short. */
  write(...lines: readonly string[]): void {
    this.#lines.push(...lines);
    this.#room -= lengthOf(lines);
  }

  /**
   * As many of the blocks as fit while `reserved` characters stay free for what comes after, and a line about the rest. A block that does not fit ends
   * the list: the most important comes first.
   *
   * @param most however short they are.
   */
  list(blocks: readonly (() => readonly string[])[], singular: string, most: number, reserved: number): void {
    let written = 0;
    for (const block of blocks.slice(0, most)) {
      const lines = block();
      if (lengthOf(lines) + MORE + reserved > this.#room) break;
      this.write(...lines);
      written += 1;
    }
    const left = blocks.length - written;
    if (left > 0) this.write("", `… ${amountText(left, `more ${singular}`)}, see the HTML report`);
  }

  toString(): string {
    return `${this.#lines.join("\n")}\n`;
  }
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, { length }) => sum + length + 1, 0);
}

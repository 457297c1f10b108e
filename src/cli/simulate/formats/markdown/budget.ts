import { amountText } from "../../../terminal/amounts.ts";

/** Below GitHub's 65,536 characters for a comment, with room for what a workflow puts around it. */
export const LONGEST_COMMENT = 60_000;
/** What a line that says how many are left out takes at most. */
const MORE = 120;

/** Lines that are written as long as there is room. Only whole blocks are written, so that no element stays open. */
export class Comment {
  readonly #lines: string[] = [];
  #room: number;

  constructor(longest: number = LONGEST_COMMENT) {
    this.#room = longest;
  }

  /** Lines that have to be there; the caller knows that they are short. */
  write(...lines: readonly string[]): void {
    this.#lines.push(...lines);
    this.#room -= lengthOf(lines);
  }

  /**
   * As many of the blocks as fit while `reserved` characters stay free for what comes after, and a line about the rest. A block that does not fit ends
   * the list: what comes first is what matters most.
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

import { readFileSync } from "node:fs";

/** A fenced block of a document. */
export interface Block {
  /** Such as `rego`. */
  readonly language: string;
  /**
   * What follows the language: the path of the file that the block holds; empty where it holds
   * none.
   */
  readonly file: string;
  /** Without the line feed at its end. */
  readonly text: string;
}

export interface Section {
  readonly heading: string;
  /** What stands below the heading, blocks and all. */
  readonly text: string;
  readonly blocks: readonly Block[];
}

const BLOCK = /^```(\w+) ?(.*)\n([^]*?)\n?^```$/gm;

/** Reads a file of the repository. @param path from its root. */
export function readText(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
}

/**
 * The sections of a Markdown document with headings of one level; what stands before the first one
 * is omitted.
 */
export function readSections(path: string, level: 2 | 3 = 2): readonly Section[] {
  return readText(path)
    .split(level === 2 ? /^## /m : /^### /m)
    .slice(1)
    .map((section): Section => {
      const end = section.indexOf("\n");
      const text = section.slice(end + 1);
      const blocks = [...text.matchAll(BLOCK)].map(
        ([, language = "", file = "", body = ""]): Block => ({
          language,
          file,
          text: body,
        }),
      );
      return { heading: section.slice(0, end), text, blocks };
    });
}

// What a reader of a page meets: its sentences, how many of them are long, and the words of its
// tables and code blocks.

/** A sentence with more words than this is long. */
export const LONG = 25;

export interface Readability {
  /** Words of sentences: paragraphs and items of lists. */
  readonly words: number;
  readonly sentences: number;
  readonly long: number;
  /** Words in cells of tables. */
  readonly tables: number;
  /** Words of commands, samples and outputs. */
  readonly code: number;
}

const CODE_BLOCK = /^( *)(`{3,})[^\n]*\n([^]*?)^\1\2 *$/gm;
/**
 * A part of a page that `npm run generate` writes: `<!-- metrics -->` to `<!-- end of metrics -->`.
 */
const GENERATED = /<!-- ([a-z]+) -->\n[^]*?<!-- end of \1 -->/g;

/**
 * A span of code is one word; an item of a list ends a sentence. Headings and generated parts count
 * nowhere.
 */
export function measure(page: string): Readability {
  const text = page.replaceAll(GENERATED, "");
  const counts = sentencesOf(text).map((sentence) => wordsOf(sentence));
  const rows = text.replaceAll(CODE_BLOCK, "\n").match(/^\s*\|.*$/gm) ?? [];
  const blocks = [...text.matchAll(CODE_BLOCK)].map((match) => match[3] ?? "");
  return {
    words: sum(counts),
    sentences: counts.length,
    long: counts.filter((count) => count > LONG).length,
    tables: sum(rows.map((row) => wordsOf(withoutMarkup(row).replaceAll("|", " ")))),
    code: sum(blocks.map((block) => wordsOf(block))),
  };
}

/** Per cent of sentences that are long, to a tenth. */
export function shareOfLong({ sentences, long }: Readability): number {
  return sentences === 0 ? 0 : Math.round((1000 * long) / sentences) / 10;
}

export function sentencesOf(text: string): readonly string[] {
  const prose = withoutMarkup(
    text
      .replaceAll(GENERATED, "")
      .replaceAll(CODE_BLOCK, "\n")
      .replaceAll(/<!--[^]*?-->/g, "")
      .replace(/\n---\n\nNext: .*\n*$/, "\n")
      .replaceAll(/^(#+ .*|\s*\|.*|---)$/gm, ""),
  );
  const blocks = prose.split(/\n\s*\n|\n(?= *(?:[-*]|\d+\.) )/);
  return blocks
    .flatMap((block) =>
      block
        .replace(/^\s*(?:[-*>]|\d+\.) /, "")
        .replaceAll("\n", " ")
        .split(/(?<=[.!?][)"*]*) +(?=[^a-z])/),
    )
    .map((sentence) => sentence.trim())
    .filter((sentence) => wordsOf(sentence) > 0);
}

function withoutMarkup(text: string): string {
  return text.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/(`+)[^`]+\1/g, "Code");
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

// How readable a page is: sentences outside of code and tables, and how many of them are long.

/** A sentence with more words than this is long. */
export const LONG = 25;

export interface Readability {
  readonly words: number;
  readonly sentences: number;
  readonly long: number;
}

/** Counts the prose of a page: paragraphs and items of lists. A span of code is one word; an item of a list ends a sentence. */
export function measure(text: string): Readability {
  const counts = sentencesOf(text).map((sentence) => wordsOf(sentence));
  return {
    words: counts.reduce((sum, count) => sum + count, 0),
    sentences: counts.length,
    long: counts.filter((count) => count > LONG).length,
  };
}

/** Per cent of sentences that are long, to a tenth. */
export function shareOfLong({ sentences, long }: Readability): number {
  return sentences === 0 ? 0 : Math.round((1000 * long) / sentences) / 10;
}

export function sentencesOf(text: string): readonly string[] {
  const prose = text
    .replaceAll(/^( *)(`{3,})[^\n]*\n[^]*?^\1\2 *$/gm, "\n")
    .replaceAll(/<!--[^]*?-->/g, "")
    .replace(/\n---\n\nNext: .*\n*$/, "\n")
    .replaceAll(/^(#+ .*|\s*\|.*|---)$/gm, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/(`+)[^`]+\1/g, "Code");
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

function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

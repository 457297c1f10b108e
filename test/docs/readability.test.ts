import { describe, expect, it } from "vitest";
import { measure, shareOfLong } from "../../tools/readability/measure.ts";
import { pagesAt } from "../../tools/readability/pages.ts";

/** Per cent of sentences that may have more than 25 words. */
const CEILING = 3;

/**
 * Words of all pages and decisions, in sentences and tables. A new page takes its words from older
 * ones.
 */
const WORDS = 41_000;

describe("readability", () => {
  it("few sentences of each page have more than 25 words", () => {
    const above = [...pagesAt(null)].flatMap(([page, text]) => {
      const share = shareOfLong(measure(text));
      return share > CEILING ? [`${page}: ${share} %`] : [];
    });
    expect(above).toEqual([]);
  });

  it("hand-written pages do not grow: delete a repetition before this number is raised", () => {
    const measured = [...pagesAt(null).values()].map((text) => measure(text));
    expect(
      measured.reduce((sum, { words, tables }) => sum + words + tables, 0),
    ).toBeLessThanOrEqual(WORDS);
  });

  it("counts sentences of paragraphs and lists, apart from them tables and code, and no headings or generated parts", () => {
    const long = Array.from({ length: 26 }, () => "word").join(" ");
    const text =
      `# A heading of words\n\nOne two \`three of code\` four. Five (e.g. six) seven!\nEight\n\n- nine ten\n- [eleven](x.md)\n  twelve\n\n` +
      `| ${long} | b |\n|---|---|\n\n\`\`\`sh\n${long}\n\`\`\`\n\n<!-- ${long} -->\n${long}.\n` +
      `\n<!-- words -->\n\n| ${long} |\n\n<!-- end of words -->\n`;
    expect(measure(text)).toEqual({
      words: 4 + 4 + 1 + 2 + 2 + 26,
      sentences: 6,
      long: 1,
      tables: 27,
      code: 26,
    });
    expect(shareOfLong(measure(text))).toBe(16.7);
    expect(shareOfLong(measure(""))).toBe(0);
  });
});

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { withNavigationOf } from "../../tools/generate/navigation.ts";
import { brokenLinks, headingsOf, imagesOf } from "./markdown.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const INDEX = "docs/README.md";
const HOW =
  `add a row "- [Title](page.md): what it is for, in one line" where it belongs in ${INDEX}, ` +
  "then run npm run generate";

const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");
const isDecision = (page: string): boolean => page.startsWith("docs/decisions/");
const below = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));

/** The order: the rows of the index, which is all that there is to change. */
const rows = [...textOf(INDEX).matchAll(/^- \[(.+?)\]\(([^)#]+)\)(.*)$/gm)].map(
  ([line, title = "", link = "", rest = ""]) => ({
    line,
    title,
    page: relative(ROOT, resolve(ROOT, "docs", link)),
    rest,
  }),
);
/** What is read one after the other; rows of other folders stand beside it. */
const order = rows.filter(
  ({ page }) => page.startsWith("docs/") && page.endsWith(".md") && !isDecision(page),
);
const documents = below("docs").filter((page) => page !== INDEX && !isDecision(page));
const outside = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "CHANGELOG.md"];
const all = [...outside.filter((page) => existsSync(join(ROOT, page))), ...below("docs")];

describe("the order of the pages", () => {
  it("has every page of docs once, with a line on its purpose", () => {
    const absent = documents.filter((page) => !order.some((row) => row.page === page));
    expect(absent, `not in the index: ${HOW}`).toEqual([]);
    const pages = rows.map(({ page }) => page);
    expect(pages.filter((page, index) => pages.indexOf(page) !== index)).toEqual([]);
    expect(rows.filter(({ rest }) => !/^: [^ ].{10,}$/.test(rest)).map(({ line }) => line)).toEqual(
      [],
    );
  });

  it("is followed by the link at the end of each page (npm run generate writes it)", () => {
    const wrong: string[] = [];
    for (const [index, { page }] of order.entries()) {
      if (!existsSync(join(ROOT, page))) continue;
      const next = order[index + 1];
      const linkTo = (target: string): string => relative(dirname(page), target);
      const way = next === undefined ? "" : `[${next.title}](${linkTo(next.page)}) · `;
      const text = textOf(page);
      const written = withNavigationOf(
        `\n\n---\n\nNext: ${way}[all pages](${linkTo(INDEX)})\n`,
        withNavigationOf("", withoutNavigation(text)),
      );
      if (text === written) continue;
      if (process.env.UPDATE_DOCS === "1") writeFileSync(join(ROOT, page), written);
      else wrong.push(page);
    }
    expect(wrong, `these do not end with the way to the next page: ${HOW}`).toEqual([]);
  });
});

function withoutNavigation(text: string): string {
  return text.replace(/\n\n---\n\nNext: .*\n$/, "\n");
}

/** Words that are read rather than run: without blocks of code and comments. */
function wordsOf(page: string): number {
  const text = textOf(page).replaceAll(/^( *)(`{3,})[^\n]*\n[^]*?^\1\2 *$/gm, "");
  return text.replaceAll(/<!--.*?-->/g, "").split(/[\s|]+/).length;
}

describe("the paths of the index", () => {
  const PATH = /^\| ([a-z][^|]*) \| ((?:\[[^|]+?\]\([^|)]+\)(?:, )?)+) \| (\d+) \|/gm;
  const paths = [...textOf(INDEX).matchAll(PATH)].map(
    ([row, reader = "", links = "", minutes = ""]) => {
      const pages = [...links.matchAll(/\(([^)]+)\)/g)].map(([, page = ""]) => join("docs", page));
      const words = pages.reduce((sum, page) => sum + wordsOf(page), 0);
      return { row, reader, pages, minutes: Number(minutes), measured: Math.ceil(words / 200) };
    },
  );

  it("are five, of at most five pages, and end with a page that has something to run", () => {
    expect(paths).toHaveLength(5);
    for (const { reader, pages } of paths) {
      expect(pages.length, reader).toBeLessThanOrEqual(5);
      expect(textOf(pages.at(-1) ?? ""), reader).toMatch(/^```(?:sh|console)$/m);
    }
  });

  it("take the minutes in their rows, give or take a fifth (npm run generate writes them)", () => {
    let text = textOf(INDEX);
    for (const { row, measured } of paths)
      text = text.replace(row, row.replace(/\d+ \|$/, `${measured} |`));
    if (process.env.UPDATE_DOCS === "1") writeFileSync(join(ROOT, INDEX), text);
    else
      for (const { reader, minutes, measured } of paths)
        expect(Math.abs(minutes - measured), `${reader}: ${measured} minutes`).toBeLessThanOrEqual(
          Math.max(2, measured / 5),
        );
  });
});

describe("README", () => {
  it("has at most 110 lines; longer texts belong to docs", () => {
    expect(textOf("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(110);
  });
});

describe("every page", () => {
  it("has links and anchors that lead somewhere", () => {
    const broken = all.flatMap((page) =>
      brokenLinks(ROOT, page).map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it("begins with its one title, and skips no level of headings", () => {
    const wrong = all.filter((page) => {
      const levels = headingsOf(textOf(page)).map(({ level }) => level);
      const jumps = levels.some(
        (level, index) => index > 0 && level > (levels[index - 1] ?? 0) + 1,
      );
      return levels.indexOf(1) !== 0 || levels.lastIndexOf(1) !== 0 || jumps;
    });
    expect(wrong).toEqual([]);
  });

  it("describes its pictures in words", () => {
    const pictures = all.flatMap((page) =>
      imagesOf(textOf(page)).map((image) => ({ page, ...image })),
    );
    expect(pictures.length).toBeGreaterThan(0);
    for (const { page, alternative, target } of pictures) {
      expect(alternative.length, `${page}: ${target}`).toBeGreaterThan(20);
      if (!target.endsWith(".svg")) continue;
      const picture = readFileSync(join(ROOT, dirname(page), target), "utf8");
      expect(picture).toMatch(/<svg [^>]*role="img"[^>]*aria-labelledby="title description"/);
      expect(picture).toMatch(
        /<title id="title">[^<]+<\/title>\s*<desc id="description">[^<]+<\/desc>/,
      );
      // A page may have any background.
      expect(picture).toMatch(/<rect [^>]*class="page"/);
    }
  });
});

describe("the test of links", () => {
  it("finds a file, an anchor and a line that do not exist", () => {
    const text =
      "# A b\n\n[x](absent.md) [y](#b-a) [z](docs/README.md#nothing) [v](#a-b) `[w](none.md)`\n";
    expect(brokenLinks(ROOT, "README.md", text)).toEqual([
      "absent.md",
      "#b-a",
      "docs/README.md#nothing",
    ]);
  });
});

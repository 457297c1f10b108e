import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { headingsOf } from "./markdown.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDERS = [
  "src",
  "mock",
  "test",
  "bench",
  "tools",
  "policies",
  "policy-library",
  "deploy",
  ".github",
];

/** How a kind of file writes comments: a block between two marks, or lines behind a mark. */
const COMMENTS: readonly {
  readonly files: RegExp;
  readonly comment: RegExp;
  readonly mark: RegExp;
}[] = [
  {
    files: /\.(?:ts|mjs|js|go)$/,
    comment: /(?<!\w)\/\*[^]*?\*\/|(?:^|(?<=\s))\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g,
    mark: /^[ \t]*(?:\/\/+|\/?\*+\/?)/gm,
  },
  {
    files: /\.(?:rego|ya?ml|py|sh)$/,
    comment: /(?:^|(?<=\s))#[^\n]*(?:\n[ \t]*#[^\n]*)*/g,
    mark: /^[ \t]*#+/gm,
  },
];

/**
 * `docs/page.md`, `docs/page.md#anchor`, or `docs/page.md, "Heading"`; also section, § or rule and
 * a number.
 */
const CITATION =
  /(?<![\w:.])([\w-]+(?:\/[\w.-]+)*\.md)\b(?:#([\w-]+))?(?:[,:]? (?:"([^"]+)"|((?:§ ?|section |rules? )\d[\d.]*)))?/gi;

/**
 * Citations of absent documents and headings in the comments of a file. Addresses
 * (`https://…/page.md`) are not looked at.
 */
function brokenCitations(
  path: string,
  text: string,
  read: (document: string) => string | null,
): readonly string[] {
  const kind = COMMENTS.find(({ files }) => files.test(path));
  const comments =
    kind === undefined ? [] : [...text.matchAll(kind.comment)].map(([found]) => found);
  return comments
    .map((comment) =>
      comment
        .replaceAll(kind?.mark ?? /$^/g, " ")
        .replaceAll(/\s+/g, " ")
        .replaceAll(/https?:\S+/g, ""),
    )
    .flatMap((comment) => [...comment.matchAll(CITATION)])
    .filter(([, document = "", anchor, heading, number]) => {
      const page = read(document);
      if (page === null || number !== undefined) return true;
      if (anchor !== undefined) return !headingsOf(page).some((known) => known.anchor === anchor);
      return heading !== undefined && !titlesOf(page).includes(heading);
    })
    .map(([citation]) => `${path}: ${citation}`);
}

function titlesOf(page: string): readonly string[] {
  return [...page.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = ""]) => title.trim());
}

function readDocument(document: string): string | null {
  const path = join(ROOT, document);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

const files = FOLDERS.filter((folder) => existsSync(join(ROOT, folder))).flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter(
      // What a command is expected to write cites what it writes beside it.
      (path) =>
        !/node_modules|\/expected\//.test(path) && COMMENTS.some((kind) => kind.files.test(path)),
    ),
);

describe("documents that comments cite", () => {
  it("are in the repository and have the heading that is cited", () => {
    expect(files.length).toBeGreaterThan(1_000);
    const broken = files
      .filter((path) => path !== "test/docs/citations.test.ts")
      .flatMap((path) =>
        brokenCitations(path, readFileSync(join(ROOT, path), "utf8"), readDocument),
      );
    expect(
      broken,
      "cite a document of the repository by its path and #anchor, or a public source",
    ).toEqual([]);
  });

  it("are in the repository also where a message or a help text names them", () => {
    const broken = files
      .filter((path) => /^(?:src|mock|bench|tools)\//.test(path))
      .flatMap((path) =>
        [
          ...readFileSync(join(ROOT, path), "utf8").matchAll(
            /(?<![\w./])docs\/[\w./-]+\.md(?:#[\w-]+)?/g,
          ),
        ].flatMap(([cited]) =>
          brokenCitations("a.ts", `// ${cited}`, readDocument).map(() => `${path}: ${cited}`),
        ),
      );
    expect(broken).toEqual([]);
  });

  it.each([
    ["a.ts", '/** Why (notes.md, "B c"). */'],
    ["a.ts", '/**\n * Why (docs/page.md,\n * "No such heading").\n */'],
    ["a.ts", "const a = 1; // see docs/page.md#nothing"],
    ["a.ts", "// docs/page.md §2.1"],
    ["a.ts", "/* decisions.md, rule 2 */"],
    ["a.rego", "# METADATA\n# see policy.md"],
    ["a.go", "\t// as absent.md\n\t// wants"],
  ])("with a broken citation is reported: %s, %s", (path, text) => {
    expect(
      brokenCitations(path, text, (document) =>
        document === "docs/page.md" ? "# A\n\n## B c\n" : null,
      ),
    ).toHaveLength(1);
  });

  it.each([
    ["a.ts", '/** Why (docs/page.md, "B c"; docs/page.md#b-c). */'],
    ["a.ts", "// https://example.com/notes.md, and docs/page.md."],
    ["a.ts", 'const name = "notes.md";'],
    ["a.json", '{"a": "// notes.md"}'],
  ])("with good citations is accepted: %s, %s", (path, text) => {
    expect(
      brokenCitations(path, text, (document) =>
        document === "docs/page.md" ? "# A\n\n## B c\n" : null,
      ),
    ).toEqual([]);
  });
});

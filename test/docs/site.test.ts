import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { deadLinks } from "../../tools/site/check.ts";
import {
  addressOf,
  anchorOf,
  destinationOf,
  OUTSIDE,
  sideBarOf,
  sitePage,
} from "../../tools/site/pages.ts";
import { headingsOf } from "./markdown.ts";
import { ROOT } from "./commands/blocks.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-site-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the site", () => {
  it("has the pages of the index in its side bar, in their order", () => {
    const index =
      "# Title\n\ntext [a](x.md)\n\n## Start\n\n- [One](one.md): a\n- [Two](decisions/README.md): b\n\n## Empty\n\n" +
      "## Project\n\n- [Changes](../CHANGELOG.md): c\n- [Part](one.md#part): d\n";
    expect(sideBarOf(index)).toEqual([
      {
        text: "Start",
        collapsed: false,
        items: [
          { text: "One", link: "/one" },
          { text: "Two", link: "/decisions/" },
        ],
      },
      { text: "Project", collapsed: false, items: [{ text: "Changes", link: "/changelog" }] },
    ]);
    const links = sideBarOf(readFileSync(join(ROOT, "docs/README.md"), "utf8")).flatMap(
      ({ items }) => items,
    );
    expect(links.length).toBeGreaterThan(20);
  });

  it("has one address for every page, and GitHub's anchor for every heading", () => {
    expect(
      ["docs/keys.md", "docs/README.md", "docs/decisions/README.md", "README.md"].map(addressOf),
    ).toEqual(["keys.md", "index.md", "decisions/index.md", "readme.md"]);
    const text = "# A *b* `c_d`, e\n";
    expect(headingsOf(text)[0]?.anchor).toBe(anchorOf("A b c_d, e"));
  });

  it("distinguishes links to pages from links to sources, and from links that lead nowhere", () => {
    expect(destinationOf("docs/keys.md", "README.md#start")).toEqual({
      kind: "page",
      path: "docs/README.md",
      anchor: "#start",
    });
    expect(destinationOf("docs/keys.md", "../package.json")).toEqual({
      kind: "source",
      path: "package.json",
      anchor: "",
    });
    for (const target of ["absent.md", "../..", "../src", "#here", "https://example.com"]) {
      expect(destinationOf("docs/keys.md", target)).toBeNull();
    }
  });

  it("has a destination for every relative link of its pages; a folder is none", () => {
    const names = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
    const pages = [...OUTSIDE.keys(), ...names.map((name) => `docs/${name}`)];
    const dead = pages
      .filter((page) => page.endsWith(".md"))
      .flatMap((page) => {
        const text = readFileSync(join(ROOT, page), "utf8").replaceAll(
          /^( *)(`{3,})[^]*?^\1\2 *$|`[^`]*`/gm,
          "",
        );
        const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
        return targets
          .filter(
            (target) => !/^(#|\/|[a-z]+:)/.test(target) && destinationOf(page, target) === null,
          )
          .map((target) => `${page}: ${target}`);
      });
    expect(dead).toEqual([]);
  });
});

describe("the check of a built site", () => {
  it("finds links to pages, files and anchors that do not exist", () => {
    mkdirSync(join(folder, "part"));
    const links = (...targets: readonly string[]): string =>
      targets.map((target) => `<a class="x" href="${target}">x</a>`).join("\n");
    writeFileSync(
      join(folder, "index.html"),
      `<h1 id="top">x</h1>${links("/v1/part/one.html#first", "#top", "/v1/")}`,
    );
    writeFileSync(
      join(folder, "part/one.html"),
      `<h2 id="first">x</h2><img src="/v1/absent.png">${links("#second", "../index.html#top", "/v2/", "/v1/two.html")}`,
    );
    expect(deadLinks(folder, "/v1/").toSorted()).toEqual([
      "part/one.html: #second",
      "part/one.html: /v1/absent.png",
      "part/one.html: /v1/two.html",
      "part/one.html: /v2/",
    ]);
  });

  it("fails for a folder without pages", () => {
    expect(() => deadLinks(join(folder, "part/absent"))).toThrow("absent");
  });
});

it("a page of the site has tabs by language, and no note for editors of the file", () => {
  const page =
    "# A\n\nWritten by `npm run generate` from `src/a/b.ts`; do not edit. Editors read it.\n\n" +
    "<!-- tabs -->\n```python\nx\n```\n\n```ts\ny\n```\n<!-- end of tabs -->\n\n```sh\nz\n```\n";
  expect(sitePage(page)).toBe(
    "# A\n\nEditors read it.\n\n::: code-group\n```python [Python]\nx\n```\n\n```ts [TypeScript]\ny\n```\n\n:::\n\n```sh\nz\n```\n",
  );
});

import { describe, expect, it } from "vitest";

interface Reports {
  readonly shortened: (markdown: string) => string;
  readonly withLinks: (
    markdown: string,
    environment: Readonly<Record<string, string>>,
    commit: string | null,
  ) => string;
}
const MODULE = "../../.github/actions/simulate/reports.mjs";
const { shortened, withLinks } = (await import(MODULE)) as Reports;

const lines = (count: number, text = "line"): string =>
  Array.from({ length: count }, (_, index) => `${text} ${index}`).join("\n");

describe("a long comment", () => {
  it("is cut after 60 lines, and its last line counts the rest", () => {
    expect(shortened(lines(60))).toBe(lines(60));
    const cut = shortened(`${lines(50)}\n\n${lines(30, "row")}`);
    expect(cut).toBe(`${lines(50)}\n\n… 31 more lines are in the reports of the run.`);
  });

  it.each([
    ["a fold", `<details>\n<summary>a</summary>\n\n${lines(60)}\n\n</details>`],
    ["a block of code", `\`\`\`diff\n${lines(20)}\n\n${lines(60)}\n\`\`\``],
    ["a table", `| a |\n| --- |\n${lines(70, "|")}`],
  ])("is never cut within %s", (_, block) => {
    expect(shortened(`before\n\n${block}\n\nafter`)).toMatch(/^before\n\n… \d+ more lines/);
  });
});

describe("the first screen of a comment", () => {
  it("is not cut for any number of facts", () => {
    const screen = `before\n\n| a |\n| --- |\n${lines(70, "|")}\n\nDecide: a?\n`;
    const fold = `<details>\n<summary>b</summary>\n\n${lines(60)}\n\n</details>`;
    const cut = shortened(`${screen}\n${fold}\n\nafter`);
    expect(cut.startsWith(screen)).toBe(true);
    expect(cut).toMatch(/Decide: a\?\n\n… \d+ more lines are in the reports of the run\.$/);
  });
});

describe("locations in a comment", () => {
  const at = { GITHUB_SERVER_URL: "https://git.example", GITHUB_REPOSITORY: "acme/routes" };

  it("link to the line in the commit, outside of blocks of code", () => {
    const text =
      "see `policies/a.rego:4:1` and `x.ts:1`\n```\n`routes.yaml:1`\n```\n`routes.yaml:3:5` in base";
    expect(withLinks(text, at, "c0ffee")).toBe(
      "see [`policies/a.rego:4:1`](https://git.example/acme/routes/blob/c0ffee/policies/a.rego#L4) and `x.ts:1`\n```\n`routes.yaml:1`\n```\n`routes.yaml:3:5` in base",
    );
    expect(withLinks(text, at, null)).toBe(text);
  });

  it("never leave the repository", () => {
    for (const path of ["../a.rego:1", "/a.rego:1", "a//b.rego:1", "a/../b.rego:1"])
      expect(withLinks(`\`${path}\``, at, "c0ffee")).toBe(`\`${path}\``);
  });
});

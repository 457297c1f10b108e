import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { faultsOf, rowOf } from "./decision-record.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "docs/decisions");
const files = readdirSync(FOLDER).filter((file) => file !== "README.md");
const textOf = (file: string): string => readFileSync(join(FOLDER, file), "utf8");
const exists = (path: string): boolean => existsSync(join(ROOT, path));

describe("decision records", () => {
  it("have a title, a status and the parts of the form, and name files that exist", () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap((file) => faultsOf(file, textOf(file), exists))).toEqual([]);
  });

  it("are numbered without gaps", () => {
    expect(files.map((file) => Number(file.slice(0, 4)))).toEqual(
      files.map((_, index) => index + 1),
    );
  });

  it("are the rows of the table, with title and status (npm run generate writes them)", () => {
    const page = textOf("README.md");
    const rows = files.map((file) => rowOf(file, textOf(file)));
    const table = ["| Number | Decision | Status |", "|---|---|---|", ...rows].join("\n");
    const written = page.replace(
      /(?<=<!-- records -->\n\n)[^]*?(?=\n\n<!-- end of records -->)/,
      () => table,
    );
    expect(written).toContain(table);
    if (process.env.UPDATE_DOCS === "1") writeFileSync(join(FOLDER, "README.md"), written);
    else expect(page).toBe(written);
  });
});

describe("the test of decision records", () => {
  const record =
    "# 7. A title\n\nStatus: accepted, 2026-11-23\n\n## Context\n\n## Decision\n\n## Consequences\n";
  const faults = (text: string): readonly string[] =>
    faultsOf("0007-a-title.md", text, () => false);

  it("accepts the form, with alternatives and with a later record that changes it", () => {
    expect(faults(record)).toEqual([]);
    const changed = record.replace("-23\n", "-23; superseded in part by [8](0008-b.md)\n");
    expect(faults(`${changed}\n## Alternatives\n`)).toEqual([]);
    expect(rowOf("0007-a-title.md", changed)).toBe(
      "| 7 | [A title](0007-a-title.md) | accepted; superseded in part by 8 |",
    );
  });

  it.each([
    ["a number that is not that of the file", record.replace("# 7.", "# 8.")],
    ["no status", record.replace(/Status.*\n/, "")],
    ["a status without a date", record.replace(", 2026-11-23", "")],
    ["no consequences", record.replace("## Consequences\n", "")],
    [
      "parts in another order",
      record.replace("Context", "Decisions").replace("Decision\n", "Context\n"),
    ],
    ["another part", `${record}\n## Price\n`],
    ["a file that does not exist", `${record}\nSee \`src/absent.ts\`.\n`],
    ["a long line", `${record}\n${"text ".repeat(30)}\n`],
  ])("rejects %s", (_, text) => {
    expect(faults(text)).toHaveLength(1);
  });
});

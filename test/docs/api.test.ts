import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { withNavigationOf } from "../../tools/generate/navigation.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { apiPage } from "./api-page.ts";

const PATH = resolve(import.meta.dirname, "../../docs/api.md");

it("docs/api.md matches the contract (npm run generate writes it)", () => {
  const page = withNavigationOf(readFileSync(PATH, "utf8"), apiPage());
  if (process.env.UPDATE_DOCS === "1") writeFileSync(PATH, page);
  expect(readFileSync(PATH, "utf8")).toBe(page);
  for (const { method, path } of ENDPOINTS) expect(page).toContain(`### ${method} ${path}\n`);
  // A table has as many cells in each row as in its head.
  for (const table of page.match(/(?:^\|.*\n)+/gm) ?? []) {
    const widths = table
      .trim()
      .split("\n")
      .map((line) => line.replaceAll("\\|", "").split("|").length);
    expect(new Set(widths).size, table.slice(0, 200)).toBe(1);
  }
});

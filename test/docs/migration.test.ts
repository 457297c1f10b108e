import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonValue } from "../../src/canon/json.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { routesSchema } from "../../src/compile/routes-schema.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { readSections } from "../policy/documents/document.ts";

const sections = readSections("docs/migration.md");
const schema = JSON.stringify(routesSchema(Object.keys(DIALECTS)));

describe("docs/migration.md", () => {
  test("has a section for LiteLLM and one for Portkey", () => {
    expect(sections.map(({ heading }) => heading)).toEqual(["From LiteLLM", "From Portkey"]);
  });

  test.each(sections.map((section) => [section.heading, section] as const))(
    "%s: their file is a mapping, and ours compiles with keys that exist",
    (_heading, { blocks, text }) => {
      const theirs = blocks.filter(({ file }) => file === "theirs");
      const ours = blocks.filter(({ file }) => file === "ours");
      expect([theirs.length, ours.length]).toEqual([1, 1]);
      const read: JsonValue = parse(theirs[0]?.text ?? "");
      expect(isJsonObject(read)).toBe(true);
      const { table, diagnostics } = compileTable({
        path: "routes.yaml",
        text: ours[0]?.text ?? "",
      });
      expect(diagnostics).toEqual([]);
      expect(Object.keys(table?.routes ?? {}).length).toBeGreaterThan(0);
      // Keys of ours that the table names are keys that there are.
      const rows = text
        .split("\n")
        .filter((line) => line.startsWith("| ") && !line.startsWith("| There"));
      expect(rows.length).toBeGreaterThan(15);
      for (const [, key = ""] of rows
        .join("\n")
        .matchAll(
          /`(approve|fallbacks|peers|weights|price|health|timeouts|max_attempts|upstream_model|base_url|max_concurrency|limits)[`:.]/g,
        )) {
        expect(schema, key).toContain(`"${key}"`);
      }
    },
  );
});

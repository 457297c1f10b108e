import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DIALECTS, GENERATE_DIALECTS } from "../../src/dialects/table.ts";

const FOLDER = join(import.meta.dirname, "../../src/dialects");

describe("the table of wire protocols", () => {
  it.each(Object.entries(DIALECTS))(
    "%s has a translator for each of its operations and no other",
    async (_, row) => {
      const { dialect } = await row.load();
      expect(Object.keys(dialect).toSorted()).toEqual([...row.operations].toSorted());
    },
  );

  it("has a row of a protocol that generates for each folder with a translator, under its name", () => {
    const folders = readdirSync(FOLDER).filter((name) =>
      existsSync(join(FOLDER, name, "dialect.ts")),
    );
    expect(folders.toSorted()).toEqual(Object.keys(GENERATE_DIALECTS).toSorted());
  });
});

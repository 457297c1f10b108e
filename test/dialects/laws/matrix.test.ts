import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withNavigationOf } from "../../../tools/generate/navigation.ts";
import { DROPPED_FIELDS } from "../../../src/canon/generate/edit.ts";
import { filesBelow, SOURCE, textOf } from "../../support/imports.ts";
import { outcomeOf, probesOf, translationMatrix } from "./matrix.ts";
import { DIALECT_NAMES, targetOf } from "./target.ts";
import { SURFACES } from "./table.ts";

const FILE = new URL("../../../docs/translation-matrix.md", import.meta.url);

// When this fails: `npm run generate`, and read what has changed.
test("docs/translation-matrix.md matches the code", () => {
  const matrix = withNavigationOf(readFileSync(FILE, "utf8"), translationMatrix());
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, matrix);
  expect(readFileSync(FILE, "utf8")).toBe(matrix);
});

test.each(SURFACES)("every registered member of $operation has a row", (spoken) => {
  const rows = new Set(probesOf(spoken).flatMap(({ of }) => of));
  expect(Object.keys(spoken.fields).filter((name) => !rows.has(name))).toEqual([]);
  expect([...rows].filter((name) => !Object.hasOwn(spoken.fields, name))).toEqual([]);
});

test.each(SURFACES)("no two rows of $operation are called the same", (spoken) => {
  const names = probesOf(spoken).map(({ says }) => says);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test.each(SURFACES)(
  "every row of $operation is a body that can be distinguished from the smallest one",
  (spoken) => {
    for (const { says, body, headers } of probesOf(spoken)) {
      const outcomes = DIALECT_NAMES.map((name) =>
        outcomeOf(spoken, { body: { ...spoken.body, ...body }, headers }, targetOf(name)),
      );
      expect(outcomes, says).not.toEqual([]);
      // A probe that the schema refuses says nothing of the member: it has the wrong type.
      for (const outcome of outcomes) {
        if (outcome.kind === "refused")
          expect(
            ["invalid_body", "invalid_type", "missing_field"],
            `${spoken.operation}, ${says}`,
          ).not.toContain(outcome.code);
      }
    }
  },
);

test("every dropped field has a sentence, and every sentence ends without a full stop", () => {
  for (const sentence of Object.values(DROPPED_FIELDS)) expect(sentence).toMatch(/^[A-Z].*[^.]$/);
});

test("every dropped field is dropped by a protocol, or is in records of earlier builds", () => {
  const dialects = filesBelow(join(SOURCE, "dialects")).map(textOf).join("");
  const unused = Object.keys(DROPPED_FIELDS).filter((field) => !dialects.includes(`"${field}"`));
  expect(unused).toEqual(["finish_synthesised"]);
});

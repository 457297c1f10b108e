import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withNavigationOf } from "../../tools/generate/navigation.ts";
import { chaosDocument } from "./document.ts";

const FILE = new URL("../../docs/faults.md", import.meta.url);

// When this fails: `npm run generate`, and read what has changed.
test("docs/faults.md matches the expectations of the matrix", () => {
  const made = withNavigationOf(readFileSync(FILE, "utf8"), chaosDocument());
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, made);
  expect(readFileSync(FILE, "utf8")).toBe(made);
});

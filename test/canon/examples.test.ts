import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesBelow, shown, SOURCE, textOf } from "../support/imports.ts";

/** `@example EXPRESSION // RESULT`, both in one line and over the exports of their file. */
const EXAMPLE = /@example (.+) \/\/ (.+?)(?: \*\/)?$/gm;

const examples = ["canon", "decide"].flatMap((folder) =>
  filesBelow(join(SOURCE, folder)).flatMap((path) =>
    [...textOf(path).matchAll(EXAMPLE)].map(([, expression = "", result = ""]) => ({
      path,
      file: shown(path),
      expression,
      result,
    })),
  ),
);

async function valueOf(path: string, expression: string): Promise<unknown> {
  const names: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href);
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- text of this repository
  const evaluate = new Function(...Object.keys(names), `return ${expression};`);
  return evaluate(...Object.values(names));
}

describe("an example in the docstring of an exported function", () => {
  it.each(examples)("$file: $expression gives $result", async ({ path, expression, result }) => {
    expect(await valueOf(path, expression)).toEqual(await valueOf(path, result));
  });

  it("exists for most functions of canon", () => {
    expect(examples.length).toBeGreaterThan(50);
  });
});

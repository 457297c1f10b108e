import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../src/canon/diagnostic.ts";
import { canonicalJson, isJsonObject } from "../../src/canon/json.ts";
import { FILE_CODES, ROUTE_CODES } from "../../src/compile/findings/codes.ts";
import { compileTable, type TableOptions } from "../../src/compile/compile-table.ts";
import { TEST_DIALECTS } from "./dialects.ts";

/**
 * Golden cases: a routes.yaml, a line of ten dashes, then what the compiler says of it. A new case
 * is a new file; `UPDATE_GOLDEN=1` writes the second part of all of them (read the difference
 * before committing it).
 *
 * Comments steer a case: `# policies: a, b` names the policies beside the file,
 * `# show: routes.chat` prints a part of the table.
 */
const folder = new URL("cases/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));
const LINE = "\n----------\n";

function read(name: string): { readonly text: string; readonly expected: string } {
  const [text = "", expected = ""] = readFileSync(new URL(name, folder), "utf8").split(LINE);
  return { text, expected };
}

function directive(text: string, name: string): readonly string[] {
  const prefix = `# ${name}: `;
  const line = text.split("\n").find((candidate) => candidate.startsWith(prefix));
  return line?.slice(prefix.length).split(", ") ?? [];
}

function print({ code, severity, line, column, message, hint }: Diagnostic): string {
  return `${code} ${severity} ${line}:${column} ${message}${hint === "" ? "" : ` (${hint})`}`;
}

function pick(table: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce((value, name) => (isJsonObject(value) ? value[name] : undefined), table);
}

function outcome(text: string): string {
  const policies = directive(text, "policies");
  const options: TableOptions = {
    dialects: TEST_DIALECTS,
    ...(policies.length > 0 ? { policies } : {}),
  };
  const { table, diagnostics } = compileTable({ path: "routes.yaml", text }, options);
  const shown = directive(text, "show").map(
    (path) => `${path} = ${canonicalJson(pick(table, path) ?? null)}`,
  );
  return [...diagnostics.map(print), table === null ? "no table" : "table", ...shown, ""].join(
    "\n",
  );
}

describe("golden cases", () => {
  test.each(files)("%s", (name) => {
    const { text, expected } = read(name);
    const actual = outcome(text);
    const update = process.env.UPDATE_GOLDEN === "1";
    if (update) writeFileSync(new URL(name, folder), `${text}${LINE}${actual}`);
    expect(actual).toBe(update ? actual : expected);
  });

  test("every code that a text can cause has a case", () => {
    const seen = new Set(
      files.flatMap((name) =>
        read(name)
          .expected.split("\n")
          .map((line) => line.split(" ")[0] ?? ""),
      ),
    );
    // A file that cannot be read, or is too large, is not a text file of this folder.
    const elsewhere = ["SOURCE_UNREADABLE", "SOURCE_TOO_LARGE"];
    // What takes several files has its samples in `files/`.
    expect(Object.keys(ROUTE_CODES).filter((code) => !seen.has(code))).toEqual([
      ...elsewhere,
      ...Object.keys(FILE_CODES),
    ]);
  });

  test("no case with a credential repeats it", () => {
    for (const name of files) {
      const { expected } = read(name);
      expect(expected).not.toMatch(/hunter2|sk-test|AKIA|Zm9vYmFy|s3cr3t/);
    }
  });
});

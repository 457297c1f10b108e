import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../support/imports.ts";
import { ACCEPTED } from "./accepted.ts";
import { applyMutant, describeMutant, mutantsOf, sampleOf } from "./mutants.ts";

const sourcesOf = (source: string): readonly string[] =>
  mutantsOf(source).map((mutant) => applyMutant(source, mutant));

describe("mutants of a source", () => {
  it.each([
    ["f(a < b);", [";", "f(a <= b);"]],
    ["const x = a !== b;", ["const x = a === b;"]],
    ["const x = é && b;", ["const x = é;", "const x = b;"]],
    ["const x = a ?? b;", ["const x = a;"]],
    ["const x = a ?? null;", []],
    ["const x = !a;", ["const x = a;"]],
    [
      "const x = [7, true] as const;",
      ["const x = [8, true] as const;", "const x = [7, false] as const;"],
    ],
    ["const x = 999 + 1_000;", ["const x = 1000 + 1_000;", "const x = 999 + 0;"]],
    ["const x = a ? b : c;", ["const x = b;", "const x = c;"]],
    ["if (a) f();", [";", "if (a) ;"]],
    ["const f = () => { if (a) return b; };", ["const f = () => { ; };"]],
    ["if (a) {} else {}", ["if (true) {} else {}", "if (false) {} else {}"]],
    ["throw a;", [";"]],
    ["class A extends B { constructor() { super(); } }", []],
  ])("of %s are %j", (source, expected) => {
    expect(sourcesOf(source)).toEqual(expected);
  });

  it.each([
    'import a from "a";',
    "type A = 1 | true;",
    "const x: 1 = a as 1;",
    'const x = "1 < 2";',
  ])("of %s do not exist, as types, imports and texts stay", (source) => {
    expect(sourcesOf(source)).toEqual([]);
  });

  it("are described by line, before and after", () => {
    const source = "const a =\n  b;\nconst c = a < b;\n";
    expect(mutantsOf(source).map((mutant) => describeMutant(source, mutant))).toEqual([
      { line: 3, change: "const c = a < b; → const c = a <= b;" },
    ]);
  });

  it("are drawn the same by the same seed, in their order, with any other mutants beside them", () => {
    const values = Array.from({ length: 100 }, (_, index) => index);
    const drawn = sampleOf(values, String, 10, 7);
    expect(drawn).toEqual(drawn.toSorted((one, other) => one - other));
    expect(new Set(drawn).size).toBe(10);
    expect(sampleOf([-1, ...values], String, 11, 7)).toEqual(expect.arrayContaining([...drawn]));
    expect(sampleOf(values, String, 10, 8)).not.toEqual(drawn);
    expect(sampleOf(values, String, 200, 7)).toEqual(values);
  });

  it.each(Object.entries(ACCEPTED))("that are accepted in %s exist there", (file, accepted) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    const changes = mutantsOf(source).map((mutant) => describeMutant(source, mutant).change);
    expect(changes).toEqual(expect.arrayContaining(Object.keys(accepted)));
  });
});

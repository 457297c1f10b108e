import { describe, expect, it } from "vitest";
import { applyMutant, describeMutant, mutantsOf, sampleOf } from "./mutants.ts";

const sourcesOf = (source: string): readonly string[] => mutantsOf(source).map((mutant) => applyMutant(source, mutant));

describe("mutants of a source", () => {
  it.each([
    ["f(a < b);", [";", "f(a <= b);"]],
    ["const x = a !== b;", ["const x = a === b;"]],
    ["const x = é && b;", ["const x = é;", "const x = b;"]],
    ["const x = a ?? b;", ["const x = a;"]],
    ["const x = a ?? null;", []],
    ["const x = !a;", ["const x = a;"]],
    ["const x = [7, true] as const;", ["const x = [8, true] as const;", "const x = [7, false] as const;"]],
    ["const x = a ? b : c;", ["const x = b;", "const x = c;"]],
    ["if (a) f();", [";", "if (a) ;"]],
    ["const f = () => { if (a) return b; };", ["const f = () => { ; };"]],
    ["if (a) {} else {}", ["if (true) {} else {}", "if (false) {} else {}"]],
    ["throw a;", [";"]],
    ["class A extends B { constructor() { super(); } }", []],
  ])("of %s are its small faults", (source, expected) => {
    expect(sourcesOf(source)).toEqual(expected);
  });

  it.each(['import a from "a";', "type A = 1 | true;", "const x: 1 = a as 1;", 'const x = "1 < 2";'])(
    "of %s are none, as types, imports and texts stay",
    (source) => {
      expect(sourcesOf(source)).toEqual([]);
    },
  );

  it("are described by line, before and after", () => {
    const source = "const a =\n  b;\nconst c = a < b;\n";
    expect(mutantsOf(source).map((mutant) => describeMutant(source, mutant))).toEqual([
      "3: const c = a < b; → const c = a <= b;",
    ]);
  });

  it("are drawn the same by the same seed, in their order", () => {
    const values = Array.from({ length: 100 }, (_, index) => index);
    const drawn = sampleOf(values, 10, 7);
    expect(drawn).toEqual(drawn.toSorted((one, other) => one - other));
    expect(new Set(drawn).size).toBe(10);
    expect(sampleOf(values, 10, 7)).toEqual(drawn);
    expect(sampleOf(values, 10, 8)).not.toEqual(drawn);
    expect(sampleOf(values, 200, 7)).toEqual(values);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasOneMeaning } from "../../../src/dialects/unary/one-meaning.ts";

const names = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("\\", '"', '\\"', ":", "{", "}", "a", "b"),
);
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    names,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, '":', '"index":1.0', '{"a":1,"a":2}'),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4 }),
  ),
})).value;
const spaces = fc.constantFrom<number | string>(0, 1, 2, "\t", " \n");

/** Every character of a JSON string as an escape. */
function escaped(quoted: string): string {
  const text: string = JSON.parse(quoted);
  const units = Array.from({ length: text.length }, (_, position) => text.charCodeAt(position));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")}"`;
}

describe("an answer", () => {
  it("has one meaning where no object has a name twice, in every notation", () => {
    fc.assert(
      fc.property(value, spaces, (document, space) => {
        expect(hasOneMeaning(JSON.stringify(document, null, space))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it("has more than one where an object has a name twice, at every depth and in every escaping", () => {
    const object = fc.dictionary(names, value, { minKeys: 1, maxKeys: 4 });
    fc.assert(
      fc.property(
        object,
        spaces,
        fc.nat(),
        fc.boolean(),
        fc.boolean(),
        (members, space, pick, isFirst, escapes) => {
          const all = Object.keys(members);
          const name = JSON.stringify(all[pick % all.length]);
          const printed = JSON.stringify(members, null, space);
          const again = `${escapes ? escaped(name) : name} : 1`;
          const doubled = isFirst
            ? `{${again},${printed.slice(1)}`
            : `${printed.slice(0, -1)},${again}}`;
          expect(hasOneMeaning(`[{"deep":${doubled}},{}]`)).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, boolean]>([
    ["0", true],
    ["10", true],
    ["2047", true],
    ["9007199254740993", true],
    ['"1.0"', true],
    ["null", true],
    ["[1.0]", true],
    ["1.0", false],
    ["1e0", false],
    ["1E0", false],
    ["0.0", false],
    ["-0", false],
    ["-1", false],
    ["1.0000000000000000001", false],
  ])("with the index %s has one meaning: %s", (index, expected) => {
    for (const name of ["index", String.raw`\u0069nd\u0065x`]) {
      expect(hasOneMeaning(`{"data":[{"${name}":${index}}]}`)).toBe(expected);
      expect(hasOneMeaning(`{"data":[{"${name}" :\n ${index} \n, "x":1}]}`)).toBe(expected);
    }
    expect(hasOneMeaning(`{"data":[{"score":${index}}]}`)).toBe(true);
  });
});

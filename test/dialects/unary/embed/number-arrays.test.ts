import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SOURCE_DIGEST } from "../../../../src/dialects/unary/count-numbers.ts";
import { NumberArrays, scanNumberArray } from "../../../../src/dialects/unary/cut-vectors.ts";
import { wire } from "./target.ts";

/** Pieces of numbers, so that every rule of their grammar is kept and broken often. */
const piece = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      "0",
      "1",
      "9",
      "12",
      "0.5",
      "-3",
      "-0.25",
      "1e5",
      "2E-07",
      "-1.5e+9",
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(".", "-", "+", "e", "E", "00", "1e100", "1e999", "9".repeat(70)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      " ",
      "\n",
      '"',
      "[",
      "]",
      "a",
      "\u0000",
      "ü",
      "null",
      "{}",
      "/",
      ":",
    ),
  },
);
const separator = fc.oneof(
  { weight: 12, arbitrary: fc.constant(",") },
  { weight: 1, arbitrary: fc.constantFrom("", ",,", "]", " ,") },
);
const inside = fc
  .array(fc.tuple(piece, separator), { minLength: 1, maxLength: 60 })
  .map((pairs) => pairs.map((pair) => pair.join("")).join(""));

describe("arrays of numbers in an answer", () => {
  it("are counted as by reading every byte, at every position and after any other array", () => {
    let fast = 0;
    fc.assert(
      fc.property(inside, fc.nat(130), fc.boolean(), (text, before, isClosed) => {
        const trimmed = isClosed ? `${text.replace(/,$/, "")}]` : text;
        const bytes = wire(`${" ".repeat(before)}[${trimmed}`);
        const careful = scanNumberArray(bytes, before);
        expect(new NumberArrays(bytes).at(before)).toEqual(careful);
        if (careful !== null) fast += 1;
      }),
      { numRuns: 20_000 },
    );
    expect(fast).toBeGreaterThan(1_000);
  });

  it("are refused or counted alike with every byte of a block damaged in every way", () => {
    const sound = wire(`[${"-0.125,7,3.5e-05,120,0,".repeat(8)}1]`);
    for (let position = 0; position < sound.length; position += 1) {
      for (let byte = 0; byte < 256; byte += 1) {
        const damaged = Uint8Array.from(sound);
        damaged[position] = byte;
        expect(new NumberArrays(damaged).at(0)).toEqual(scanNumberArray(damaged, 0));
      }
    }
  });

  it("are found across the borders of windows", () => {
    const numbers = Array.from({ length: 1_536 }, (_, index) => (index - 700) / 7_919);
    const vector = JSON.stringify(numbers);
    const bytes = wire(`{"data":[${Array.from({ length: 40 }, () => vector).join(",")}]}`);
    const arrays = new NumberArrays(bytes);
    let open = bytes.indexOf(0x5b, 9);
    for (let index = 0; index < 40; index += 1) {
      expect(arrays.at(open)).toEqual({ count: 1_536, end: open + vector.length });
      open += vector.length + 1;
    }
  });

  it("longer than a window are read too", () => {
    const bytes = wire(`[${"0.5,".repeat(200_000)}1]`);
    expect(new NumberArrays(bytes).at(0)).toEqual({ count: 200_001, end: bytes.length });
  });

  it("are counted by the assembled module", () => {
    const source = readFileSync(
      new URL("../../../../tools/vectors/count-numbers.wat", import.meta.url),
    );
    expect(createHash("sha256").update(source).digest("hex")).toBe(SOURCE_DIGEST);
  });
});

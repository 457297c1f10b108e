import fc from "fast-check";
import type { Vector } from "../../../../src/canon/unary.ts";
import {
  asBase64Text,
  asFloatText,
  shortestDecimal,
  vectorFromBase64,
} from "../../../../src/dialects/unary/vectors.ts";
import { base64Of } from "./target.ts";
import { describe, expect, it } from "vitest";

const single = fc.float({ noNaN: true, noDefaultInfinity: true });
const singles = fc.array(single, { minLength: 1, maxLength: 50 });

function made(vector: Vector | string): Vector {
  if (typeof vector === "string") throw new Error(vector);
  return vector;
}

function floats(text: string): Vector {
  const numbers: readonly number[] = JSON.parse(text);
  return { dimension: numbers.length, encoding: "float", text };
}

/**
 * Fewest digits with which some decimal is the number again, found by trying the nearest of each
 * length and its neighbours.
 */
function fewestDigits(value: number): number {
  for (let digits = 1; digits <= 9; digits += 1) {
    const [mantissa = "", exponent = ""] = value.toExponential(digits - 1).split("e");
    const whole = BigInt(mantissa.replace(".", ""));
    const tries = [-1n, 0n, 1n].map((step) =>
      Number(`${whole + step}e${Number(exponent) - (digits - 1)}`),
    );
    if (tries.some((decimal) => Math.fround(decimal) === value)) return digits;
  }
  return 10;
}

function digitsOf(value: number): number {
  const digits = String(value)
    .replace(/e.*/, "")
    .replaceAll(/[-.]/g, "")
    .replace(/^0+/, "")
    .replace(/0+$/, "");
  return Math.max(digits.length, 1);
}

/** Powers of two whose shortest decimal is not the nearest of its length. */
const LONGER: readonly number[] = [-96, 87, 90];

describe("vectors in base64", () => {
  it("are unchanged, number by number, after printing as numbers and back", () => {
    fc.assert(
      fc.property(singles, (numbers) => {
        const text = base64Of(numbers);
        const vector = made(vectorFromBase64(text, "float32"));
        expect(vector).toEqual({ dimension: numbers.length, encoding: "base64", text });
        const printed = asFloatText(vector);
        expect(printed).toMatchObject({ dimension: numbers.length, encoding: "float" });
        const parsed: readonly number[] = JSON.parse(printed.text);
        expect(parsed.map(Math.fround)).toEqual(numbers);
        expect(asBase64Text(printed)).toEqual(vector);
      }),
    );
  });

  it("print as few digits as single precision has", () => {
    const vector = made(
      vectorFromBase64(
        base64Of([-0.025122926, 0.1, 1, 16777216, 3.4028235e38, 1e-45, -0]),
        "float32",
      ),
    );
    expect(asFloatText(vector).text).toBe("[-0.025122926,0.1,1,16777216,3.4028235e+38,1e-45,-0.0]");
  });

  it("print the shortest decimal of every size", () => {
    fc.assert(
      fc.property(fc.oneof(single, fc.float({ min: -1, max: 1, noNaN: true })), (value) => {
        const decimal = shortestDecimal(value);
        expect(Math.fround(decimal) === value).toBe(true);
        if (value !== 0 && !LONGER.includes(Math.log2(Math.abs(value))))
          expect(digitsOf(decimal)).toBe(fewestDigits(value));
      }),
      { numRuns: 5_000 },
    );
  });

  it("print the shortest decimal of all powers of two but the three named", () => {
    const longer: number[] = [];
    for (let power = -149; power <= 127; power += 1) {
      const decimal = shortestDecimal(2 ** power);
      expect(Math.fround(decimal)).toBe(2 ** power);
      if (digitsOf(decimal) !== fewestDigits(2 ** power)) longer.push(power);
    }
    expect(longer).toEqual(LONGER);
  });

  it.each([
    ["nothing", ""],
    ["half a number", new Uint8Array(6).toBase64()],
    ["no padding", base64Of([1]).replaceAll("=", "")],
    ["white space", `${base64Of([1, 2, 3]).slice(0, 4)}\n${base64Of([1, 2, 3]).slice(4)}`],
    ["white space at the end", `${base64Of([1, 2, 3])} `],
    ["letters of another alphabet", "-_-_AAAA"],
    ["bits after its end", "AACAPx=="],
    ["numbers", "[1,2]"],
  ])("are refused with %s", (_what, text) => {
    expect(vectorFromBase64(text, "float32")).toBe("vector_malformed");
  });

  it.each([NaN, Infinity, -Infinity])("are refused with %d among their numbers", (number) => {
    expect(vectorFromBase64(base64Of([1, number, 2]), "float32")).toBe("vector_not_finite");
  });

  it("of signed bytes are written as numbers", () => {
    const bytes = Int8Array.of(-128, -1, 0, 1, 127);
    const text = new Uint8Array(bytes.buffer).toBase64();
    expect(vectorFromBase64(text, "int8")).toEqual({
      dimension: 5,
      encoding: "float",
      text: "[-128,-1,0,1,127]",
    });
    expect(vectorFromBase64("", "int8")).toBe("vector_malformed");
    expect(vectorFromBase64("AAA", "int8")).toBe("vector_malformed");
  });
});

describe("vectors as numbers", () => {
  it("stay unchanged", () => {
    const vector = floats("[ 1.50, 2E0 ]");
    expect(asFloatText(vector)).toBe(vector);
  });

  it("are rounded to single precision, little end first", () => {
    expect(asBase64Text(floats("[1,-2.5, 0.1]"))).toEqual({
      dimension: 3,
      encoding: "base64",
      text: Uint8Array.of(0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, 0xcd, 0xcc, 0xcc, 0x3d).toBase64(),
    });
  });

  it.each(["[1e39]", "[1,-3.5e38]", "[1e300]"])(
    "beyond single precision have no base64: %s",
    (text) => {
      expect(asBase64Text(floats(text))).toBe("vector_not_finite");
    },
  );
});

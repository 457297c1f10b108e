import type { Vector } from "../../canon/unary.ts";
import type { AnswerFault } from "../answer-failure.ts";

/**
 * What the bytes of a vector in base64 are: little-endian single-precision numbers, or signed
 * bytes.
 */
type Base64Kind = "float32" | "int8";

/**
 * A vector that came in base64. One of signed bytes is written as numbers at once, because no
 * caller's protocol has such.
 *
 * @param text what stood in the answer: checked to be base64 of such numbers, padded, without white
 * space, all of them finite.
 */
export function vectorFromBase64(text: string, kind: Base64Kind): Vector | AnswerFault {
  const bytes = decoded(text);
  if (bytes === null || bytes.length === 0) return "vector_malformed";
  if (kind === "int8") {
    return {
      dimension: bytes.length,
      encoding: "float",
      text: `[${new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length).join(",")}]`,
    };
  }
  if (bytes.length % FLOAT_BYTES !== 0) return "vector_malformed";
  if (!areFinite(bytes)) return "vector_not_finite";
  return { dimension: bytes.length / FLOAT_BYTES, encoding: "base64", text };
}

/**
 * The vector as a JSON array. Numbers of single precision are printed with as few digits as make
 * the same number again.
 */
export function asFloatText(vector: Vector): Vector {
  if (vector.encoding === "float") return vector;
  const bytes = decoded(vector.text);
  if (bytes === null) throw new Error("vectors: base64 that was not checked");
  const view = viewOf(bytes);
  const numbers: unknown[] = [];
  for (let offset = 0; offset < bytes.length; offset += FLOAT_BYTES) {
    const number = view.getFloat32(offset, true);
    // JSON.stringify prints the other zero as this one.
    numbers.push(Object.is(number, -0) ? NEGATIVE_ZERO : shortestDecimal(number));
  }
  return { dimension: vector.dimension, encoding: "float", text: JSON.stringify(numbers) };
}

/** The vector as base64 of single-precision numbers; a fault where a number is beyond them. */
export function asBase64Text(vector: Vector): Vector | AnswerFault {
  if (vector.encoding === "base64") return vector;
  const numbers: readonly number[] = JSON.parse(vector.text);
  const bytes = Buffer.alloc(numbers.length * FLOAT_BYTES);
  const view = viewOf(bytes);
  for (const [index, number] of numbers.entries())
    view.setFloat32(index * FLOAT_BYTES, number, true);
  if (!areFinite(bytes)) return "vector_not_finite";
  return { dimension: vector.dimension, encoding: "base64", text: bytes.toString("base64") };
}

const FLOAT_BYTES = 4;
const NEGATIVE_ZERO = JSON.rawJSON("-0.0");

/** Infinities and what is no number have all of these bits, finite numbers never. */
const EXPONENT = 0x7f80_0000;

function areFinite(bytes: Uint8Array<ArrayBuffer>): boolean {
  const view = viewOf(bytes);
  for (let offset = 0; offset < bytes.length; offset += FLOAT_BYTES) {
    if ((view.getUint32(offset, true) & EXPONENT) === EXPONENT) return false;
  }
  return true;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** `null` for anything but canonical base64: the decoder itself passes over what is no base64. */
function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  // Uint8Array.fromBase64 would be one step, and is missing in Node 22 and 24.
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

/**
 * The double that prints as the shortest decimal which is the single-precision number `value`
 * again, such as -0.025122926 for what a double prints as -0.02512292563915252. Of several it is
 * the nearest; where only another one is the number again, which is so for three powers of two
 * (2⁻⁹⁶, 2⁸⁷, 2⁹⁰), one digit more is given.
 *
 * @param value finite and single-precision.
 */
export function shortestDecimal(value: number): number {
  const size = Math.abs(value);
  if (size < SMALLEST_QUICK || size >= LARGEST_QUICK) return slowly(value);
  const exponent = Math.floor(Math.log10(size));
  for (let digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits += 1) {
    const power = digits - 1 - exponent;
    const scale = POWERS[Math.abs(power)] ?? NaN;
    const decimal =
      power >= 0 ? Math.round(size * scale) / scale : Math.round(size / scale) * scale;
    if (Math.fround(decimal) === size) return value < 0 ? -decimal : decimal;
  }
  return slowly(value);
}

/**
 * Decimals of fewer digits are found with zeros at their end: up to six digits survive single
 * precision. One less, as the logarithm may be off by one.
 */
const FEWEST_DIGITS = 5;
/** So many always make the same number again. */
const MOST_DIGITS = 9;

/**
 * Between these all powers of ten below are doubles, and quotients by them are correctly rounded,
 * as parsing a decimal is.
 */
const SMALLEST_QUICK = 1e-12;
const LARGEST_QUICK = 1e9;
const POWERS: readonly number[] = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

/** For numbers of any size: subnormal ones have fewer digits than others. */
function slowly(value: number): number {
  for (let digits = 1; digits < MOST_DIGITS; digits += 1) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === value) return decimal;
  }
  return Number(value.toPrecision(MOST_DIGITS));
}

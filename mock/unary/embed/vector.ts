import { hash } from "node:crypto";

/** Length of vectors where neither the request nor a setting gives one. */
export const USUAL_LENGTH = 1536;

/** Longest vector that can be requested. */
export const LONGEST_VECTOR = 16_384;

/**
 * Numbers are multiples of a millionth: at most six digits, so that single precision and decimal
 * text are the same number to the digit.
 */
const STEPS = 1e6;

/**
 * The vector of a text: the same one in every protocol and in every simulated provider, of unit
 * length to within a ten-thousandth. A shorter one points where the beginning of a longer one does.
 */
export function vectorOf(text: string, length: number): number[] {
  const next = numbersFrom(text);
  const raw = Array.from({ length }, next);
  const norm = Math.sqrt(raw.reduce((sum, value) => sum + value * value, 0));
  // `|| 0`: a negative zero is another number in base64, and the same in decimal text.
  return raw.map((value) => Math.round((value / norm) * STEPS) / STEPS || 0);
}

/** Little-endian single-precision numbers in base64. */
export function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  for (const [position, value] of vector.entries()) bytes.writeFloatLE(value, position * 4);
  return bytes.toString("base64");
}

/**
 * Numbers from -1 to 1 that follow from a text: Marsaglia's generator xorshift128, seeded with the
 * text's SHA-256.
 */
function numbersFrom(text: string): () => number {
  const seed = hash("sha256", text, "buffer");
  let a = seed.readInt32LE(0);
  let b = seed.readInt32LE(4);
  let c = seed.readInt32LE(8);
  let d = seed.readInt32LE(12);
  return () => {
    const mixed = a ^ (a << 11);
    a = b;
    b = c;
    c = d;
    d = d ^ (d >>> 19) ^ mixed ^ (mixed >>> 8);
    return d / 2 ** 31;
  };
}

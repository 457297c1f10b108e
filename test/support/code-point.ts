import fc from "fast-check";

const [FIRST_SURROGATE, SURROGATES] = [0xd8_00, 0x8_00];

/**
 * The unit of strings of any characters, without lone surrogates: `fc.string({ unit: codePoint })`.
 * `unit: "binary"` has the same strings, but each process first makes a map of all 1.1 million code
 * points: most of a second.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .nat({ max: 0x10_ff_ff - SURROGATES })
  .map((code) => String.fromCodePoint(code < FIRST_SURROGATE ? code : code + SURROGATES), codeOf);

/** @throws {Error} if it is no single character; then fast-check does not offer it as a unit */
function codeOf(text: unknown): number {
  const [one, more] = typeof text === "string" && text.isWellFormed() ? text : "";
  const code = one?.codePointAt(0);
  if (code === undefined || more !== undefined) throw new Error("no single character");
  return code < FIRST_SURROGATE ? code : code - SURROGATES;
}

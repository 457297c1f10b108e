import fc from "fast-check";

/**
 * The unit of strings of any code points, lone surrogates too: `fc.string({ unit: codePoint })`.
 * `unit: "binary"` has the same strings, but each process first makes a map of all 1.1 million code
 * points: most of a second.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .nat({ max: 0x10_ff_ff })
  .map((code) => String.fromCodePoint(code), codeOf);

/** @throws {Error} if it is no single code point; then fast-check does not offer it as a unit */
function codeOf(text: unknown): number {
  const [one, more] = typeof text === "string" ? text : "";
  const code = one?.codePointAt(0);
  if (code === undefined || more !== undefined) throw new Error("no single code point");
  return code;
}

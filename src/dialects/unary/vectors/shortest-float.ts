/**
 * The double that prints as the shortest decimal which is the single-precision number `value` again, such as -0.025122926 for what a double
 * prints as -0.02512292563915252. Of several it is the nearest; where only another one is the number again, which is so for three powers of two
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
    const decimal = power >= 0 ? Math.round(size * scale) / scale : Math.round(size / scale) * scale;
    if (Math.fround(decimal) === size) return value < 0 ? -decimal : decimal;
  }
  return slowly(value);
}

/** Decimals of fewer digits are found with zeros at their end: up to six digits survive single precision. One less, as the logarithm may be off by one. */
const FEWEST_DIGITS = 5;
/** So many always make the same number again. */
const MOST_DIGITS = 9;

/** Between these all powers of ten below are doubles, and quotients by them are correctly rounded, as parsing a decimal is. */
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

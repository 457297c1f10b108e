const UNITS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** A day: no provider call takes longer, and timers overflow at about 24 days. */
export const LONGEST_DURATION = 86_400_000;

/** Ninety days: a candidate in shadow for longer was probably forgotten. */
export const LONGEST_SOAK = 90 * 86_400_000;

/**
 * Milliseconds of a duration such as `500ms`, `30s`, `10m` or `1h`. Days (`7d`) are for keys whose
 * schema has them.
 *
 * @throws {TypeError} for text that the schema's pattern refuses; that is a bug of the caller.
 */
export function milliseconds(duration: string): number {
  const [, amount, unit] = /^([1-9][0-9]{0,6})(ms|s|m|h|d)$/.exec(duration) ?? [];
  const factor = UNITS.get(unit ?? "");
  if (amount === undefined || factor === undefined)
    throw new TypeError("milliseconds: not a duration of the schema");
  return Number(amount) * factor;
}

/** Whether this is `npm run test:long`: files named `.scaled.test.ts` do more there. */
const LONG = process.env.SIGNALBOX_TEST_LONG === "1";

/** @returns how much of something to do: `few` in `npm test`, `many` in `npm run test:long`. */
export function fewOrMany<Value>(few: Value, many: Value): Value {
  return LONG ? many : few;
}

/**
 * @returns where to cut what has `length` pieces: at about `few` positions, the first and the last
 * among them; at every one in `npm run test:long`.
 */
export function positionsToCut(length: number, few: number): readonly number[] {
  const step = fewOrMany(Math.max(1, Math.floor(length / few)), 1);
  return Array.from({ length }, (_, position) => position).filter(
    (position) => position % step === 0 || position === length - 1,
  );
}

/** Whether this is `npm run test:long`: vitest.config.ts says which tests do more there. */
const LONG = process.env["SIGNALBOX_TEST_LONG"] === "1";

/** @returns how much of something to do: `few` in `npm test`, `many` in `npm run test:long`. */
export function fewOrMany<Value>(few: Value, many: Value): Value {
  return LONG ? many : few;
}

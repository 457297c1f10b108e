import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TARGETS } from "./targets.ts";

/** A bounded slice of `npm run tool -- fuzz`, with a new seed each time; a failure prints it. */
describe("parsers hold their laws on random inputs", () => {
  it.each(TARGETS.map((target) => [target.name, target] as const))(
    "%s",
    async (_, { property }) => {
      // The time is a bound on the slice and no law: fewer runs on a slow machine are fewer runs.
      const bounds = { numRuns: 200, interruptAfterTimeLimit: 600, markInterruptAsFailure: false };
      const result = await fc.check(property, bounds);
      expect(result.failed ? await fc.asyncDefaultReportMessage(result) : "").toBe("");
    },
  );
});

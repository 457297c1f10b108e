import { expect, it } from "vitest";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../src/canon/policy.ts";
import { policyOnlyDimensions, type Eyes } from "../../src/simulate/space/blocks.ts";
import { universeOf } from "../../src/simulate/space/universe.ts";
import { table } from "../support/table.ts";

it("names times as the report does, whether or not somebody distinguishes them", () => {
  const universe = universeOf(table({}), table({}), false);
  const own = universe.operations.get("chat.completions");
  if (own === undefined) throw new Error("no operation");
  const all = DAY_BUCKETS.flatMap((day) => HOUR_BUCKETS.map((hour) => `${day} ${hour}`)).toSorted();
  for (const sees of [() => false, (path: string) => path === "input.time.day"]) {
    const eyes: Eyes = { sight: { sees, seesAllOf: sees, distinguishes: sees }, table: table({}) };
    const time = policyOnlyDimensions(universe, own, [eyes]).find(({ name }) => name === "time");
    expect(time?.blocks.flatMap(({ values }) => values).toSorted()).toEqual(all);
  }
});

import { expect, it } from "vitest";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../src/canon/policy.ts";
import { levelsOf } from "../../src/simulate/space/levels.ts";
import { universeOf } from "../../src/simulate/space/universe.ts";
import { timesOf } from "../../src/simulate/space/times.ts";
import { table } from "../support/table.ts";

it("the times of a request are all combinations of day and hour buckets", () => {
  const universe = universeOf(table({}), table({}), false, timesOf([], []));
  const own = universe.operations.get("chat.completions");
  if (own === undefined) throw new Error("no operation");
  const all = DAY_BUCKETS.flatMap((day) => HOUR_BUCKETS.map((hour) => `${day} ${hour}`)).toSorted();
  expect(
    levelsOf(universe, own)
      .find(({ name }) => name === "time")
      ?.values.toSorted(),
  ).toEqual(all);
});

import { expect, it } from "vitest";
import { isPreferencesRecord } from "../../src/simulate/evidence/evidence-sample.ts";

it("a recorded sort with a member that this version does not know is none of its preferences", () => {
  const sort = { by: "price", partition: "none" };
  expect(isPreferencesRecord({ sort })).toBe(true);
  expect(isPreferencesRecord({ sort: { ...sort, order: "falling" } })).toBe(false);
});

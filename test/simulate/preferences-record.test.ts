import { expect, it } from "vitest";
import { isPreferencesRecord } from "../../src/simulate/evidence/evidence-sample.ts";

it("a recorded sort with an unknown member is not read as a preference", () => {
  const sort = { by: "price", partition: "none" };
  expect(isPreferencesRecord({ sort })).toBe(true);
  expect(isPreferencesRecord({ sort: { ...sort, order: "falling" } })).toBe(false);
});

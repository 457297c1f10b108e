import { expect, test } from "vitest";
import { FOREIGN_FAILURES } from "../../console/pages/foreign-failures.ts";
import { effectOf, FAILURE_KINDS } from "../../src/canon/failure.ts";

test("the failures that make no endpoint failing are those without an effect on its health", () => {
  const without = FAILURE_KINDS.filter((kind) => effectOf(kind) === "nothing");
  expect([...FOREIGN_FAILURES].toSorted()).toEqual(without.toSorted());
});

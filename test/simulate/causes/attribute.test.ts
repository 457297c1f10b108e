import { expect, it } from "vitest";
import { attribute } from "../../../src/simulate/causes/causes.ts";
import type { DecidingSide, Variants } from "../../../src/simulate/causes/unit-variants.ts";
import { GROUP } from "../../cli/simulate/report.ts";

function deciding(result: string): DecidingSide {
  return { result: () => result, serves: () => true };
}

function variants(undone: readonly (string | null)[], done: readonly string[]): Variants {
  return {
    base: deciding("base"),
    head: deciding("head"),
    reverted: undone.map((result) => (result === null ? null : deciding(result))),
    isRename: () => false,
    applied: (unit) => Promise.resolve(deciding(done[unit] ?? "base")),
  };
}

const GROUPS = [{ group: GROUP, view: "declared" }] as const;

it.for<[string, readonly (string | null)[], readonly string[], readonly number[]]>([
  ["the unit without which the result is another", ["base", "head"], [], [0]],
  ["all units that are needed together", ["other", "base", "head"], [], [0, 1]],
  [
    "each of two units that lead to the same result alone",
    ["head", "head", "head"],
    ["head", "head", "base"],
    [0, 1],
  ],
  ["a unit that stands alone, where the others cannot be undone", [null, "base"], [], [1]],
  ["none, where no unit changes the result", ["head", "head"], ["base", "base"], []],
])("the cause of a group is %s", async ([, undone, done, expected]) => {
  const [found] = await attribute(GROUPS, variants(undone, done));
  expect([...(found?.units ?? [])]).toEqual(expected);
});

it("the only changed unit is the cause of every group without a decision", async () => {
  const [found] = await attribute(GROUPS, variants(["head"], []));
  expect([...(found?.units ?? [])]).toEqual([0]);
});

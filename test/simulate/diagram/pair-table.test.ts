import { expect, it } from "vitest";
import {
  newDiagrams,
  pairTable,
  pairedLeaves,
  leafOf,
} from "../../../src/simulate/diagram/diagrams.ts";

/** Pairs with numbers below 0, as leaves have them; many of them collide. */
const PAIRS = Array.from(
  { length: 20_000 },
  (_, index) => [(index % 141) - 70, Math.floor(index / 141) - 70] as const,
);

it("a table of pairs keeps the number of every pair through any growth", () => {
  const table = pairTable();
  expect(table.get(0, 0)).toBeUndefined();
  for (const [index, [left, right]] of PAIRS.entries()) table.set(left, right, -index);
  for (const [left, right] of PAIRS.slice(0, 10)) table.set(left, right, 7);
  const found = PAIRS.map(([left, right]) => table.get(left, right));
  expect(found).toEqual(PAIRS.map((_, index) => (index < 10 ? 7 : -index)));
  expect(table.get(1_000, 0)).toBeUndefined();
});

it("equal nodes of a diagram have one number, for any number of nodes", () => {
  const diagrams = newDiagrams();
  const made = PAIRS.map(([left, right]) =>
    diagrams.branch(1, [leafOf(left + 70), leafOf(right + 70), leafOf(500)]),
  );
  expect(new Set(made).size).toBe(PAIRS.length);
  expect(diagrams.size()).toBe(PAIRS.length);
  expect(
    PAIRS.map(([left, right]) =>
      diagrams.branch(1, [leafOf(left + 70), leafOf(right + 70), leafOf(500)]),
    ),
  ).toEqual(made);
  expect(diagrams.branch(2, [leafOf(0), leafOf(0), leafOf(500)])).toBe(PAIRS.length);
});

it("two functions as one have a leaf for each pair of leaves", () => {
  const diagrams = newDiagrams();
  const pairs = pairedLeaves(diagrams);
  const root = pairs.of(
    diagrams.branch(0, [leafOf(3), leafOf(4)]),
    diagrams.branch(1, [leafOf(5), leafOf(6)]),
  );
  expect(diagrams.below(root).leaves.map((leaf) => pairs.at(leaf))).toEqual([
    [3, 5],
    [3, 6],
    [4, 5],
    [4, 6],
  ]);
  expect(() => pairs.at(9)).toThrow("no leaf has the number 9");
});

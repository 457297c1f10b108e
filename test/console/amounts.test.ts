import { expect, test } from "vitest";
import {
  axisLabels,
  compact,
  dollars,
  humanise,
  share,
  type Measure,
} from "../../console/format/amounts.ts";

test.each([
  [0, "$0.00"],
  [1_234.567, "$1,234.57"],
  [0.5, "$0.50"],
  [0.125, "$0.125"],
  [0.004_731, "$0.00473"],
  [0.000_72, "$0.00072"],
  [0.000_004_7, "$0.000005"],
  [0.000_000_4, "<$0.000001"],
  [null, "unknown"],
])("an amount of %s dollars is shown as %s", (value, text) => {
  expect(dollars(value)).toBe(text);
});

test.each([
  [0, 100, "0%"],
  [1, 10_000, "<0.1%"],
  [1, 1_000, "0.1%"],
  [1, 4, "25%"],
  [0, 0, "–"],
])("%s of %s is shown as %s", (part, of, text) => {
  expect(share(part, of)).toBe(text);
});

test.each([
  ["client_closed", "client closed"],
  ["usd/day", "$ per day"],
  ["usd/month of the key", "$ per month of the key"],
  ["tokens/day", "tokens/day"],
])("the value %s is shown as %s", (value, text) => {
  expect(humanise(value)).toBe(text);
});

test.each([
  [9_999, "9,999"],
  [47_000_000, "47.0M"],
  [1_236_000, "1.24M"],
])("a count of %s is shown as %s", (value, text) => {
  expect(compact(value)).toBe(text);
});

test.each<[Measure, readonly number[], readonly string[]]>([
  ["dollars", [0, 25, 50], ["$0", "$25", "$50"]],
  ["dollars", [0, 2.5, 5], ["$0.00", "$2.50", "$5.00"]],
  ["dollars", [0, 0.002, 0.004], ["$0.000", "$0.002", "$0.004"]],
  ["milliseconds", [0, 200, 400], ["0\u00A0ms", "200\u00A0ms", "400\u00A0ms"]],
  ["milliseconds", [0, 500, 1_000], ["0.0\u00A0s", "0.5\u00A0s", "1.0\u00A0s"]],
  ["count", [0, 5_000, 10_000], ["0", "5K", "10K"]],
  ["count", [0, 0.5, 1], ["0", "", "1"]],
])("an axis of %s has one unit, and labels that differ", (measure, ticks, labels) => {
  expect(axisLabels(measure, ticks)).toEqual(labels);
});

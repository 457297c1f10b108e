import { describe, expect, it } from "vitest";
import { seenText } from "../../../src/cli/terminal/printing.ts";
import {
  addedUsage,
  bySeen,
  NOTHING_USED,
  type SeenWeight,
} from "../../../src/simulate/evidence/seen-usage.ts";

function weight(calls: number, tokens: number, cost: number | null): SeenWeight {
  const known = cost ?? 0;
  const usage = {
    counted: tokens === 0 ? 0 : 1,
    input_tokens: tokens,
    output_tokens: 0,
    cost_before: cost,
    cost_after: cost,
    unpriced_before: cost === null ? 1 : 0,
    unpriced_after: cost === null ? 1 : 0,
    known_cost_before: known,
    known_cost_after: known,
  };
  return { calls, usage };
}

describe("recorded usage of changes", () => {
  it.each<[string, SeenWeight, SeenWeight]>([
    ["more calls, though fewer tokens were counted", weight(3, 0, null), weight(2, 9_000_000, 100)],
    ["more tokens of as many calls", weight(2, 200, 1), weight(2, 100, 5)],
    ["a cost that is not known of as many tokens", weight(2, 100, null), weight(2, 100, 5)],
    ["a larger cost of as many tokens", weight(2, 100, 6), weight(2, 100, 5)],
  ])("%s comes first", (_title, first, second) => {
    expect([second, first].toSorted(bySeen)).toEqual([first, second]);
    expect([first, second].toSorted(bySeen)).toEqual([first, second]);
  });

  it("a sum with a cost that is not known is not known, and has the sum of the others", () => {
    const both = addedUsage(weight(1, 100, 2).usage, weight(1, 50, null).usage);
    expect(both).toMatchObject({
      counted: 2,
      input_tokens: 150,
      cost_before: null,
      known_cost_before: 2,
    });
    expect(seenText(5, both)).toBe(
      "seen 5 times in evidence, 150 tokens of 2 answers, at least 2 → at least 2 USD by list price (1 answer without a price or a count)",
    );
    expect(seenText(2, weight(2, 50, null).usage)).toContain("unknown → unknown USD");
    expect(seenText(1, weight(1, 50, 3).usage)).toBe(
      "seen 1 time in evidence, 50 tokens, 3 → 3 USD by list price",
    );
    expect(seenText(4, NOTHING_USED)).toBe("seen 4 times in evidence");
  });
});

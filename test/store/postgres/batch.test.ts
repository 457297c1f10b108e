import { describe, expect, it } from "vitest";

import { toBatch } from "../../../src/store/postgres/evidence/batch.ts";

describe("a batch", () => {
  it("leaves out what repeats within it, and says where a decision stood", () => {
    const decisions = ["a", "b", "a", "c"].flatMap((id, index) => [
      index,
      id,
      index === 1 ? null : "w",
      `{"n":${index}}`,
    ]);
    const outcomes = [7, "b", '{"at":7.5}', 8, "b", '{"at":8}', 9, "elsewhere", '{"at":9}'];
    const batch = toBatch(decisions, outcomes);
    expect(batch).toEqual({
      items: [
        { k: "decision", r: "a", a: 0, w: "w", t: '{"n":0}' },
        { k: "decision", r: "b", a: 1, w: null, t: '{"n":1}' },
        { k: "decision", r: "c", a: 3, w: "w", t: '{"n":3}' },
        { k: "outcome", r: "b", a: 7, w: null, t: '{"at":7.5}' },
        { k: "outcome", r: "elsewhere", a: 9, w: null, t: '{"at":9}' },
      ],
      positions: [0, 1, 3, null, null],
      duplicates: [2],
      lost: 1,
    });
  });
});

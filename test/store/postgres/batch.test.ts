import { describe, expect, it } from "vitest";

import { toBatch } from "../../../src/store/postgres/evidence/batch.ts";
import { PrefixSearch } from "../../../src/store/postgres/evidence/prefix.ts";

describe("a batch", () => {
  it("leaves out what repeats within it, and says where a decision stood", () => {
    const decisions = ["a", "b", "a", "c"].flatMap((id, index) => [
      index,
      id,
      index === 1 ? null : "w",
      `{"n":${index}}`,
    ]);
    const outcomes = ["b", '{"at":7.5}', "b", '{"at":8}', "elsewhere", '{"at":9}'];
    const batch = toBatch(decisions, outcomes);
    expect(batch).toEqual({
      items: [
        { k: "decision", r: "a", a: 0, w: "w", t: '{"n":0}' },
        { k: "decision", r: "b", a: 1, w: null, t: '{"n":1}' },
        { k: "decision", r: "c", a: 3, w: "w", t: '{"n":3}' },
        { k: "outcome", r: "b", a: 7, w: null, t: '{"at":7.5}' },
        { k: "outcome", r: "elsewhere", a: 9, w: null, t: '{"at":9}' },
      ],
      places: [0, 1, 3, null, null],
      duplicates: [2],
      lost: 1,
    });
  });
});

describe("the beginning of the log that can go", () => {
  const search = (before: number, rows: readonly (readonly [number, number | null])[]): number | null => {
    const found = new PrefixSearch(before);
    let position = 0;
    for (const [at, endsAt] of rows) {
      position += 1;
      if (!found.feed({ position, at, endsAt })) break;
    }
    return found.end;
  };

  it.each([
    ["nothing of nothing", 9, [], null],
    [
      "all of what has ended",
      9,
      [
        [1, 2],
        [2, 2],
      ],
      2,
    ],
    [
      "not what is too new",
      2,
      [
        [1, 2],
        [2, 2],
      ],
      null,
    ],
    [
      "not a request that runs, nor what comes after",
      9,
      [
        [1, 2],
        [1, 2],
        [1, null],
        [1, 5],
        [1, 5],
      ],
      2,
    ],
    [
      "not half of a request whose outcome is new",
      5,
      [
        [1, 2],
        [1, 2],
        [1, 4],
        [7, 4],
      ],
      2,
    ],
    [
      "not between requests that overlap",
      5,
      [
        [1, 3],
        [1, 5],
        [1, 3],
        [1, 6],
        [7, 5],
        [7, 6],
      ],
      null,
    ],
    [
      "over requests that overlap",
      9,
      [
        [1, 3],
        [1, 4],
        [1, 3],
        [1, 4],
        [1, null],
      ],
      4,
    ],
    [
      "an outcome whose decision is gone already",
      9,
      [
        [1, 1],
        [1, null],
      ],
      1,
    ],
  ] as const)("%s", (_, before, rows, end) => {
    expect(search(before, rows)).toBe(end);
  });
});

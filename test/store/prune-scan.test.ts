import { describe, expect, it } from "vitest";

import { pruneScan, type ScannedRow } from "../../src/store/evidence-reading.ts";

const HOUR = 3_600_000;

/** Rows an hour apart; `ends` has for each row where its outcome stands, `null` for outcomes. */
function rowsOf(ends: readonly (number | null)[], cuts?: readonly number[]): ScannedRow[] {
  return ends.map((ended, index) => {
    const position = index + 1;
    const decision = ended === null ? ends.indexOf(position) + 1 : position;
    return {
      position,
      at: index * HOUR,
      kind: ended === null ? "outcome" : "decision",
      requestId: `r${decision}`,
      endsBatch: cuts?.includes(position) ?? true,
    };
  });
}

function through(
  rows: readonly ScannedRow[],
  before: number,
  open: readonly string[] = [],
  page = 2,
): number {
  const scan = pruneScan(before, new Set(open));
  for (let start = 0; start < rows.length; start += page)
    if (!scan.take(rows.slice(start, start + page))) break;
  return scan.through;
}

describe("the end of a prune", () => {
  it("is before the first row that is young enough to stay, with any rows after it", () => {
    const rows = rowsOf([2, null, 4, null]);
    expect(through(rows, 2 * HOUR)).toBe(2);
    expect(through(rows, 2 * HOUR + 1)).toBe(2);
    expect(through(rows, 4 * HOUR)).toBe(4);
    expect(through(rows, 0)).toBe(0);
    const [first, second] = rowsOf([2, null]);
    if (first === undefined || second === undefined) throw new Error("two rows");
    expect(
      through(
        [
          { ...first, at: HOUR },
          { ...second, at: 0 },
        ],
        HOUR,
      ),
    ).toBe(0);
  });

  it("is before a decision that has not ended", () => {
    expect(through(rowsOf([2, null, null, 5, null]), 100 * HOUR, ["r0"])).toBe(2);
    expect(through(rowsOf([null, 3, null]), 100 * HOUR, ["r0"])).toBe(0);
  });

  it("is at a moment without running requests", () => {
    expect(through(rowsOf([2, null, 5, 6, null, null]), 4 * HOUR)).toBe(2);
    expect(through(rowsOf([2, null, 5, 6, null, null]), 5 * HOUR)).toBe(2);
    expect(through(rowsOf([2, null, 5, 6, null, null]), 6 * HOUR)).toBe(6);
    expect(through(rowsOf([3, 4, null, null]), 3 * HOUR)).toBe(0);
  });

  it("is at the end of rows that are kept together", () => {
    const rows = [2, null, 4, null, 6, null];
    expect(through(rowsOf(rows, [3, 4, 6]), 100 * HOUR, ["r5"])).toBe(4);
    expect(through(rowsOf(rows, [3, 6]), 5 * HOUR)).toBe(0);
    const overlapping = Array.from({ length: 40 }, (_, index) => index + 3);
    expect(through(rowsOf(overlapping, [10, 30]), 35 * HOUR)).toBe(30);
    expect(through(rowsOf(overlapping, [10]), 35 * HOUR)).toBe(0);
  });

  it("is anywhere once requests have overlapped for more than a day", () => {
    const overlapping = rowsOf(Array.from({ length: 40 }, (_, index) => index + 3));
    expect(through(overlapping, 25 * HOUR)).toBe(0);
    expect(through(overlapping, 26 * HOUR)).toBe(26);
  });
});

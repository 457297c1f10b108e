import { describe, expect, it } from "vitest";

import { PruneScan, type ScannedRow } from "../../src/store/prune-scan.ts";

const HOUR = 3_600_000;

/** Rows an hour apart; `ends` has for each row where its outcome stands, `null` for outcomes. */
function rowsOf(ends: readonly (number | null)[]): ScannedRow[] {
  return ends.map((ended, index) => ({ position: index + 1, at: index * HOUR, ended }));
}

function through(rows: readonly ScannedRow[], before: number, oldestOpen: number | null = null, page = 2): number {
  const scan = new PruneScan(before);
  for (let more = true; more;) {
    const next = rows.filter(({ position }) => position > scan.end).slice(0, page);
    more = scan.take(next, oldestOpen);
  }
  return scan.through;
}

describe("where a prune ends", () => {
  it("is before the first row that is young enough to stay, whatever comes after it", () => {
    const rows = rowsOf([2, null, 4, null]);
    expect(through(rows, 2 * HOUR)).toBe(2);
    expect(through(rows, 2 * HOUR + 1)).toBe(2);
    expect(through(rows, 4 * HOUR)).toBe(4);
    expect(through(rows, 0)).toBe(0);
    expect(
      through(
        [
          { position: 1, at: HOUR, ended: 2 },
          { position: 2, at: 0, ended: null },
        ],
        HOUR,
      ),
    ).toBe(0);
  });

  it("is before a decision that has not ended", () => {
    expect(through(rowsOf([2, null, null, 5, null]), 100 * HOUR, 3)).toBe(2);
    expect(through(rowsOf([null, 3, null]), 100 * HOUR, 1)).toBe(0);
  });

  it("is at a moment when nothing ran", () => {
    expect(through(rowsOf([2, null, 5, 6, null, null]), 4 * HOUR)).toBe(2);
    expect(through(rowsOf([2, null, 5, 6, null, null]), 5 * HOUR)).toBe(2);
    expect(through(rowsOf([2, null, 5, 6, null, null]), 6 * HOUR)).toBe(6);
    expect(through(rowsOf([3, 4, null, null]), 3 * HOUR)).toBe(0);
  });

  it("is anywhere once requests have overlapped for more than a day", () => {
    const overlapping = rowsOf(Array.from({ length: 40 }, (_, index) => index + 3));
    expect(through(overlapping, 25 * HOUR)).toBe(0);
    expect(through(overlapping, 26 * HOUR)).toBe(26);
  });
});

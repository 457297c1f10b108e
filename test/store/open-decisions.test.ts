import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";

import { idNumber, RecentIds } from "../../src/store/batch/recent-ids.ts";
import { OpenDecision, OpenDecisions } from "../../src/store/sqlite/batch/open-decision.ts";

/** Request ids of one millisecond, as `newRequestId` makes them. */
const idAt = (index: number): string => `req_01a21e81bf77${hash("md5", String(index)).slice(0, 20)}`;

/** Two ids with one number. */
const TWINS = ["req_01a21e81bf77e780d0482ca5cbf18e88", "req_01a21e81bf7720a6de86c60a0c868a0d"] as const;

describe("running requests by their ids", () => {
  const [first, second] = TWINS;

  it("are distinguished where two ids have one number, whichever ends first", () => {
    expect(idNumber(first)).toBe(idNumber(second));
    const between = new OpenDecision("between", 2, 1, null);
    for (const ending of [0, 1]) {
      const twins = [new OpenDecision(first, 1, 1, null), new OpenDecision(second, 3, 1, null)];
      const [older, newer] = [twins[0]!, twins[1]!];
      const open = new OpenDecisions([older, between, newer]);
      expect([open.get(first), open.get(second)]).toEqual([older, newer]);
      open.delete(twins[ending]!);
      expect([open.get(first), open.get(second)]).toEqual(ending === 0 ? [undefined, newer] : [older, undefined]);
      expect([...open.values()]).toEqual(ending === 0 ? [between, newer] : [older, between]);
    }
  });

  it("are in the order of the log", () => {
    const decisions = [first, "between", second, "last"].map((id, index) => new OpenDecision(id, index + 1, 1, null));
    expect([...new OpenDecisions(decisions).values()]).toEqual(decisions);
  });
});

describe("the newest request ids", () => {
  it("are remembered for 50,000 more, and no other id is taken for one", () => {
    const recent = new RecentIds();
    for (let index = 0; index < 100_000; index++) recent.add(idAt(index));
    const lost = Array.from({ length: 100_000 }, (_, index) => index).filter((index) => !recent.has(idAt(index)));
    expect(lost).toEqual([]);
    for (let index = 100_000; index < 150_000; index++) recent.add(idAt(index));
    expect([recent.has(idAt(50_000)), recent.has(idAt(149_999))]).toEqual([true, true]);
    const mistaken = Array.from({ length: 100_000 }, (_, index) => 200_000 + index).filter((index) =>
      recent.has(idAt(index)),
    );
    expect(mistaken).toEqual([]);
    expect(recent.has(idAt(0))).toBe(false);
  });

  it("distinguish ids of which one number is the same", () => {
    const recent = new RecentIds();
    recent.add(TWINS[0]);
    expect([recent.has(TWINS[0]), recent.has(TWINS[1])]).toEqual([true, false]);
  });
});

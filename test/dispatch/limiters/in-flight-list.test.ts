import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InFlightList } from "../../../src/dispatch/stop-order.ts";

describe("a in-flight list", () => {
  it("has those who came and have not left, in their order, even if one leaves twice", () => {
    const steps = fc.array(fc.oneof(fc.constant(null), fc.nat(30)), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (moves) => {
        const roster = new InFlightList<number>();
        const model = new Set<number>();
        const leaves: (() => void)[] = [];
        for (const move of moves) {
          if (move === null) {
            model.add(leaves.length);
            leaves.push(roster.enter(leaves.length));
          } else if (move < leaves.length) {
            model.delete(move);
            leaves[move]?.();
          }
          const present: number[] = [];
          roster.each((value) => present.push(value));
          expect(present).toEqual([...model]);
          expect(roster.size).toBe(model.size);
        }
      }),
    );
  });

  it("does not call who has left meanwhile, nor who has come", () => {
    const roster = new InFlightList<() => void>();
    const called: string[] = [];
    const leaveFirst = roster.enter(() => {
      called.push("first");
      leaveFirst();
      leaveSecond();
      roster.enter(() => called.push("late"));
    });
    const leaveSecond = roster.enter(() => called.push("second"));
    roster.enter(() => called.push("third"));
    roster.each((tell) => tell());
    expect(called).toEqual(["first", "third"]);
    expect(roster.size).toBe(2);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InFlightList } from "../../../src/dispatch/concurrency-limiter.ts";

describe("an in-flight list", () => {
  it("has the entries that were not released, in order, even if one is released twice", () => {
    const steps = fc.array(fc.oneof(fc.constant(null), fc.nat(30)), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (moves) => {
        const list = new InFlightList<number>();
        const model = new Set<number>();
        const releases: (() => void)[] = [];
        for (const move of moves) {
          if (move === null) {
            model.add(releases.length);
            releases.push(list.enter(releases.length));
          } else if (move < releases.length) {
            model.delete(move);
            releases[move]?.();
          }
          const present: number[] = [];
          list.each((value) => present.push(value));
          expect(present).toEqual([...model]);
          expect(list.size).toBe(model.size);
        }
      }),
    );
  });

  it("calls no entry that was removed or added meanwhile", () => {
    const list = new InFlightList<() => void>();
    const called: string[] = [];
    const releaseFirst = list.enter(() => {
      called.push("first");
      releaseFirst();
      releaseSecond();
      list.enter(() => called.push("late"));
    });
    const releaseSecond = list.enter(() => called.push("second"));
    list.enter(() => called.push("third"));
    list.each((notify) => notify());
    expect(called).toEqual(["first", "third"]);
    expect(list.size).toBe(2);
  });
});

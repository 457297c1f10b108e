import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairShare } from "../../src/http/capacity.ts";

describe("an amount that workspaces share", () => {
  const takeAll = (
    share: FairShare,
    workspace: string,
    keyId: string | null,
    isOnly = false,
  ): number => {
    let count = 0;
    while (share.take(workspace, keyId, 1, isOnly) === null) count += 1;
    return count;
  };

  it("grants half to one workspace, a third to one key, and always some to the next", () => {
    expect(takeAll(new FairShare(1_200), "a", null)).toBe(600);
    const share = new FairShare(1_200);
    expect(takeAll(share, "a", "a1")).toBe(400);
    expect(takeAll(share, "a", "a2")).toBe(133);
    expect(takeAll(share, "b", null)).toBe(333);
    expect(share.take("a", "a1", 1, false)).toBe("share");
    expect(takeAll(share, "c", null)).toBe(167);
  });

  it("grants everything to the only workspace, and half of it to one of its keys", () => {
    const share = new FairShare(1_000);
    expect(takeAll(share, "a", "a1", true)).toBe(500);
    expect(takeAll(share, "a", null, true)).toBe(500);
    expect(share.take("a", null, 1, true)).toBe("full");
  });

  it("is full for a workspace with less than an equal share once nothing is left", () => {
    const share = new FairShare(8);
    for (const name of ["a", "b", "c"]) expect(takeAll(share, name, null)).toBeGreaterThan(0);
    expect(share.take("d", null, 1, false)).toBe("full");
  });

  it("a workspace that has returned everything is not counted", () => {
    const refusals = (share: FairShare): (string | null)[] =>
      ["a", "a", "a", "a", "a", "b", "b", "b", "c", "c", "d"].map((name) =>
        share.take(name, null, 1, false),
      );
    const used = new FairShare(8);
    for (const name of ["a", "b", "c", "d", "e", "f"]) used.take(name, name, 1, false);
    for (const name of ["a", "b", "c", "d", "e", "f"]) used.giveBack(name, name, 1);
    expect(refusals(used)).toEqual(refusals(new FairShare(8)));
  });

  it("loses nothing and frees nothing twice, for every order of requests", () => {
    const step = fc.record({
      workspace: fc.constantFrom("a", "b", "c"),
      key: fc.nat({ max: 1 }),
      amount: fc.integer({ min: 1, max: 40 }),
      back: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const share = new FairShare(100);
        const held: { workspace: string; keyId: string; amount: number }[] = [];
        for (const { workspace, key, amount, back } of steps) {
          const keyId = `${workspace}${key}`;
          const first = back ? held.shift() : undefined;
          if (first !== undefined) share.giveBack(first.workspace, first.keyId, first.amount);
          else if (share.take(workspace, keyId, amount, false) === null) {
            held.push({ workspace, keyId, amount });
            const sum = held.reduce(
              (all, one) => all + (one.workspace === workspace ? one.amount : 0),
              0,
            );
            expect(sum).toBeLessThanOrEqual(100 - share.held);
          }
          expect(share.held).toBe(held.reduce((all, one) => all + one.amount, 0));
        }
        for (const { workspace, keyId, amount } of held) share.giveBack(workspace, keyId, amount);
        expect([share.held, takeAll(share, "a", null)]).toEqual([0, 50]);
      }),
    );
  });
});

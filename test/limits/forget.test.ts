import { expect, it } from "vitest";
import { forgetOld } from "../../src/server/opened.ts";

it("old counters are forgotten batch by batch, until there are no more or the store fails", async () => {
  let left = 1_700;
  const batches: number[] = [];
  const prune = (_: number, limit: number): Promise<number> => {
    const count = Math.min(left, limit);
    left -= count;
    batches.push(count);
    return Promise.resolve(count);
  };
  await forgetOld({ prune }, 0);
  expect(left).toBe(0);
  expect(batches.length).toBeGreaterThan(2);
  await forgetOld({ prune: () => Promise.reject(new Error("away")) }, 0);
});

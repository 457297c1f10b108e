import { Accounts, effectiveLimits } from "../../src/limits/accounts.ts";
import { composeLease } from "../../src/limits/quotas.ts";
import { expect, it } from "vitest";
import { forgetOld } from "../../src/server/parts.ts";

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

it("a process forgets the counters of idle subjects after two minutes, by sweeps", () => {
  const accounts = new Accounts();
  const limits = { requestsPerMinute: 5, tokensPerMinute: null, concurrency: 1, budget: null };
  accounts.metersOf({ kind: "workspace", id: "acme", limits: effectiveLimits(limits, null)! }, 0);
  const kept = (now: number, why: "return" | "sweep"): readonly number[] => {
    composeLease(accounts, [], "holder", now, why);
    return [accounts.counters.size, accounts.slots.size];
  };
  expect(kept(119_999, "sweep")).toEqual([1, 1]);
  expect(kept(120_000, "return")).toEqual([1, 1]);
  expect(kept(120_000, "sweep")).toEqual([0, 0]);
});

import { describe, expect, it } from "vitest";
import type { Budget } from "../../src/canon/limits.ts";
import type { LimitedSubject } from "../../src/limits/accounts.ts";
import { budgetLevels } from "../../src/limits/usage.ts";
import type { LimitCounter, LimitUsage } from "../../src/limits/limit-store.ts";
import { windowAt } from "../../src/limits/windows.ts";

const NOW = Date.UTC(2026, 10, 24, 12, 30);

function subject(kind: LimitedSubject["kind"], budget: Budget | null): LimitedSubject {
  return {
    kind,
    id: "w",
    limits: { requestsPerMinute: 1, tokensPerMinute: 9, concurrency: null, budget },
  };
}

const WORKSPACE = subject("workspace", { tokens: 1_000, per: "day" });
const KEY = subject("key", { usd: 2, per: "month" });

function used(
  one: Omit<LimitCounter, "start">,
  count: number,
  at = NOW,
): LimitUsage["counters"][number] {
  return { ...one, start: windowAt(one.window, at).start, used: count };
}

const ofDay = (count: number, at?: number) =>
  used({ subject: "workspace:w", measure: "tokens", window: "day" }, count, at);
const ofMonth = (count: number) =>
  used({ subject: "key:w", measure: "micro_usd", window: "month" }, count);

/** A store whose counters and health tests change, and how often it was read. */
function storeOf(counters: LimitUsage["counters"]) {
  const store = {
    counters,
    fails: false,
    reads: 0,
    read: (): Promise<LimitUsage> => {
      store.reads += 1;
      return store.fails
        ? Promise.reject(new Error("away"))
        : Promise.resolve({ counters: store.counters, slots: [] });
    },
  };
  return store;
}

describe("use of budgets for metrics", () => {
  it("is empty before the first reading, then the usage of all replicas, and empty again after a minute of failures", async () => {
    let now = NOW;
    const store = storeOf([ofDay(250)]);
    const levels = budgetLevels(store, () => now);
    expect(levels.usesOf([WORKSPACE])).toEqual([]);
    await expect
      .poll(() => levels.usesOf([WORKSPACE]))
      .toMatchObject([{ id: "w", measure: "tokens", window: "day", limit: 1_000, used: 250 }]);
    store.fails = true;
    now += 59_000;
    expect(levels.usesOf([WORKSPACE])).toHaveLength(1);
    now += 2_000;
    expect(levels.usesOf([WORKSPACE])).toEqual([]);
  });
});

describe("the remaining budget", () => {
  it.each([
    [0, "above_half"],
    [500, "above_half"],
    [501, "below_half"],
    [900, "below_half"],
    [901, "below_tenth"],
    [999, "below_tenth"],
    [1_000, "exhausted"],
    [1_500, "exhausted"],
  ])("with %i of 1000 used is %s", async (count, step) => {
    const levels = budgetLevels(storeOf([ofDay(count)]), () => NOW);
    expect(await levels.stepOf([WORKSPACE])).toBe(step);
  });

  it("is the tightest budget's", async () => {
    const levels = budgetLevels(storeOf([ofDay(600), ofMonth(1_900_000)]), () => NOW);
    expect(await levels.stepOf([WORKSPACE, KEY])).toBe("below_tenth");
    expect(levels.stepOf([WORKSPACE])).toBe("below_half");
  });

  it("is unlimited without a budget, without a read", () => {
    const store = storeOf([]);
    const levels = budgetLevels(store, () => NOW);
    expect([levels.stepOf([]), levels.stepOf([subject("key", null)])]).toEqual([
      "unlimited",
      "unlimited",
    ]);
    expect(store.reads).toBe(0);
  });

  it("is whole again in the next window, without a reading", async () => {
    let now = Date.UTC(2026, 10, 24, 23, 59, 59);
    const levels = budgetLevels(storeOf([ofDay(1_000, now)]), () => now);
    expect(await levels.stepOf([WORKSPACE])).toBe("exhausted");
    now += 2_000;
    expect(levels.stepOf([WORKSPACE])).toBe("above_half");
  });

  it("is read once for concurrent requests, and again after seconds", async () => {
    let now = NOW;
    const store = storeOf([ofDay(0)]);
    const levels = budgetLevels(store, () => now);
    await Promise.all([levels.stepOf([WORKSPACE]), levels.stepOf([WORKSPACE])]);
    now += 4_999;
    expect(levels.stepOf([WORKSPACE])).toBe("above_half");
    expect(store.reads).toBe(1);
    store.counters = [ofDay(1_000)];
    now += 1;
    expect(levels.stepOf([WORKSPACE])).toBe("above_half");
    await expect.poll(() => levels.stepOf([WORKSPACE])).toBe("exhausted");
    expect(store.reads).toBe(2);
  });

  it("is unknown where the store fails for a minute, and known again when it is back", async () => {
    let now = NOW;
    const store = storeOf([ofDay(600)]);
    const levels = budgetLevels(store, () => now);
    expect(await levels.stepOf([WORKSPACE])).toBe("below_half");
    store.fails = true;
    now += 59_999;
    expect(levels.stepOf([WORKSPACE])).toBe("below_half");
    now += 1;
    expect(await levels.stepOf([WORKSPACE])).toBeNull();
    expect(await levels.stepOf([KEY])).toBeNull();
    store.fails = false;
    expect(await levels.stepOf([WORKSPACE])).toBe("below_half");
  });
});

import { afterEach, describe, expect, it, vi } from "vitest";
import type { KeyLimits } from "../../src/canon/limits.ts";
import type { LimitedSubject } from "../../src/limits/accounts.ts";
import { MemoryLimitStore } from "./memory-store.ts";
import {
  NONE,
  TEN,
  clock,
  isReservation,
  one,
  quotasOver,
  refused,
  reserve,
  reserved,
  tokens,
  workspace,
} from "./reservations.ts";

afterEach(() => {
  clock.at = TEN;
});

describe("counting", () => {
  it("reserves nothing without a limit", () => {
    const store = new MemoryLimitStore();
    expect(quotasOver(store).reserve([workspace({})], one, 1_000)).toBeNull();
    expect(store.calls).toBe(0);
  });

  it("admits the requests of a minute's limit, and as many in the next minute", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const acme = workspace({ requestsPerMinute: 5 });
    for (let count = 0; count < 5; count += 1)
      void quotas.settle(await reserved(quotas, acme), one);
    clock.at += 15_000;
    expect(await refused(quotas, acme)).toMatchObject({
      refused: "requests_per_minute",
      limit: { subject: "workspace", measure: "requests", window: "minute", size: 5, used: 5 },
      retryAfter: 45_000,
    });
    clock.at = TEN + 60_000;
    expect(isReservation(await reserve(quotas, acme))).toBe(true);
  });

  it("a reserved chunk answers at once, without a call to the store", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ requestsPerMinute: 1_000 });
    await reserved(quotas, acme);
    const { calls } = store;
    expect(quotas.reserve([acme], one, 1_000)).not.toBeInstanceOf(Promise);
    expect(store.calls).toBe(calls);
  });

  it("one call to the store reserves for all waiting requests", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ requestsPerMinute: 1_000, concurrency: 500 });
    await Promise.all(Array.from({ length: 200 }, () => reserved(quotas, acme)));
    expect(store.calls).toBeLessThanOrEqual(2);
  });

  it("returns reserved amounts that were not used, at once and to other processes", async () => {
    vi.useFakeTimers();
    const store = new MemoryLimitStore();
    const [first, second] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ tokensPerMinute: 1_000 });
    const reservation = await reserved(first, acme, tokens(900));
    expect((await refused(second, acme, tokens(200))).refused).toBe("tokens_per_minute");
    void first.settle(reservation, tokens(10));
    await vi.advanceTimersByTimeAsync(50);
    vi.useRealTimers();
    clock.at += 300;
    await reserved(second, acme, tokens(900));
    expect(store.used("workspace:acme", "tokens")).toBeLessThanOrEqual(1_000);
  });

  it("stores usage beyond the reservation, past the ceiling, before it resolves", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ tokensPerMinute: 1_000 });
    await quotas.settle(await reserved(quotas, acme, tokens(800)), tokens(1_500));
    expect(store.used("workspace:acme", "tokens")).toBe(1_500);
    expect((await refused(quotas, acme, tokens(1))).refused).toBe("tokens_per_minute");
  });

  it("counts use in the window in which it was reserved", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ tokensPerMinute: 1_000 });
    const reservation = await reserved(quotas, acme, tokens(900));
    clock.at += 60_000;
    await quotas.settle(reservation, tokens(950));
    expect(store.counters.get(`workspace:acme tokens minute ${TEN}`)).toBe(950);
    await reserved(quotas, acme, tokens(1_000));
  });

  it("refuses a request larger than the limit without a retry-after", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    expect(await refused(quotas, workspace({ tokensPerMinute: 100 }), tokens(101))).toMatchObject({
      refused: "exceeds_limit",
      limit: { measure: "tokens", window: "minute" },
      retryAfter: null,
    });
  });

  it("the wait is short where running requests may return amounts", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const acme = workspace({ budget: { tokens: 1_000, per: "month" } });
    const first = await reserved(quotas, acme, tokens(600));
    expect(await refused(quotas, acme, tokens(600))).toMatchObject({
      refused: "budget_reserved",
      retryAfter: 1_000,
    });
    // It may come free to the last token.
    expect(await refused(quotas, acme, tokens(1_000))).toMatchObject({
      refused: "budget_reserved",
    });
    const counted = workspace({ requestsPerMinute: 1 });
    const beta = { ...counted, id: "beta" };
    await reserved(quotas, beta);
    expect((await refused(quotas, beta)).retryAfter).toBe(60_000);
    void quotas.settle(first, tokens(600));
    expect(await refused(quotas, acme, tokens(600))).toMatchObject({
      refused: "exceeds_remaining_budget",
      retryAfter: Date.UTC(2026, 11, 1) - TEN,
    });
    // What is under way could not make room for that, whatever came back.
    await reserved(quotas, acme, tokens(100));
    expect((await refused(quotas, acme, tokens(500))).retryAfter).toBe(Date.UTC(2026, 11, 1) - TEN);
  });

  it("does not expect amounts back from requests of another window", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const acme = workspace({ tokensPerMinute: 1_000 });
    const old = await reserved(quotas, acme, tokens(900));
    clock.at += 60_000;
    void quotas.settle(await reserved(quotas, acme, tokens(900)), tokens(900));
    expect((await refused(quotas, acme, tokens(200))).retryAfter).toBe(60_000);
    quotas.releaseReservation(old);
    expect((await refused(quotas, acme, tokens(200))).retryAfter).toBe(60_000);
  });

  it("keeps to the limits of the workspace and of the key", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const acme = workspace({ requestsPerMinute: 100 });
    const key: LimitedSubject = { kind: "key", id: "k", limits: { ...NONE, requestsPerMinute: 1 } };
    const other: LimitedSubject = { ...key, id: "l" };
    const outcomes = [];
    for (const each of [key, key, other])
      outcomes.push(await quotas.reserve([acme, each], one, 1_000));
    expect(
      outcomes.map((result) => result !== null && "refused" in result && result.limit?.subject),
    ).toEqual([false, "key", false]);
  });

  it.each(["workspace", "key"] as const)(
    "names the longest wait of all limits: the %s's month",
    async (kind) => {
      const quotas = quotasOver(new MemoryLimitStore());
      const month: Partial<KeyLimits> = { budget: { tokens: 10, per: "month" } };
      const minute: Partial<KeyLimits> = { requestsPerMinute: 1 };
      const limitsOf = (subject: "workspace" | "key") => ({
        ...NONE,
        ...(subject === kind ? month : minute),
      });
      const subjects: readonly LimitedSubject[] = [
        { kind: "workspace", id: "acme", limits: limitsOf("workspace") },
        { kind: "key", id: "k", limits: limitsOf("key") },
      ];
      const first = await quotas.reserve(subjects, tokens(10), 1_000);
      if (first === null || !isReservation(first)) throw new Error("refused");
      void quotas.settle(first, tokens(10));
      expect(await quotas.reserve(subjects, tokens(1), 1_000)).toMatchObject({
        refused: "budget_exhausted",
        limit: {
          subject: kind,
          measure: "tokens",
          window: "month",
          size: 10,
          used: 10,
          reserved: 0,
          requested: 1,
          renewsAt: Date.UTC(2026, 11, 1),
        },
        retryAfter: Date.UTC(2026, 11, 1) - TEN,
      });
      // A request that never fits has no wait at all.
      expect(await quotas.reserve(subjects, tokens(11), 1_000)).toMatchObject({
        refused: "exceeds_limit",
        limit: { subject: kind, size: 10, requested: 11 },
        retryAfter: null,
      });
    },
  );

  it("settles a reservation once: a second call frees no second slot", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const acme = workspace({ concurrency: 2 });
    const first = await reserved(quotas, acme);
    await reserved(quotas, acme);
    for (let call = 0; call < 2; call += 1) void quotas.settle(first, one);
    await reserved(quotas, acme);
    expect(await refused(quotas, acme)).toMatchObject({ refused: "concurrency" });
  });

  it("counts a week from Monday of the budget's zone, and again in the next one", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const acme = workspace({ budget: { tokens: 10, per: "week", timeZone: "Europe/Berlin" } });
    void quotas.settle(await reserved(quotas, acme, tokens(10)), tokens(10));
    // TEN is a Sunday; the week ends at midnight in Berlin.
    const end = Date.UTC(2026, 10, 22, 23);
    expect(await refused(quotas, acme, tokens(1))).toMatchObject({
      refused: "budget_exhausted",
      retryAfter: end - TEN,
      limit: { window: "week", renewsAt: end },
    });
    clock.at = end - 1;
    expect((await refused(quotas, acme, tokens(1))).refused).toBe("budget_exhausted");
    clock.at = end;
    expect(isReservation(await reserve(quotas, acme, tokens(10)))).toBe(true);
  });

  it("counts from zero after a change of the zone", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const budget = { tokens: 10, per: "day" } as const;
    void quotas.settle(await reserved(quotas, workspace({ budget }), tokens(10)), tokens(10));
    const moved = workspace({ budget: { ...budget, timeZone: "Europe/Berlin" } });
    expect(isReservation(await reserve(quotas, moved, tokens(10)))).toBe(true);
    expect((await refused(quotas, workspace({ budget }), tokens(1))).refused).toBe(
      "budget_exhausted",
    );
  });

  it("counts money and tokens of a month", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    const acme = workspace({ budget: { usd: 0.000_01, per: "month" } });
    const spent = { requests: 1, tokens: 0, micro_usd: 10 };
    void quotas.settle(await reserved(quotas, acme, spent), spent);
    const { retryAfter, refused: code } = await refused(quotas, acme, {
      requests: 1,
      tokens: 0,
      micro_usd: 1,
    });
    expect([code, retryAfter]).toEqual(["budget_exhausted", Date.UTC(2026, 11, 1) - TEN]);
  });
});

describe("the lease of one process", () => {
  const held = (store: MemoryLimitStore): number =>
    [...store.slots.values()].reduce((sum, slot) => sum + slot.held, 0);

  it.each([{ budget: { tokens: 1_000, per: "day" } }, { concurrency: 100 }] as const)(
    "is returned when idle, also after it was forgotten: %j",
    async (limits) => {
      const store = new MemoryLimitStore();
      const quotas = quotasOver(store);
      const acme = workspace(limits);
      for (const idle of [120_000, 2_000]) {
        expect(quotas.settle(await reserved(quotas, acme, tokens(1)), tokens(0))).toBeNull();
        await quotas.sweep();
        expect(store.used("workspace:acme", "tokens") + held(store)).toBeGreaterThan(0);
        clock.at += idle;
        await quotas.sweep();
        expect(store.used("workspace:acme", "tokens") + held(store)).toBe(0);
      }
      const { calls } = store;
      await quotas.sweep();
      expect(store.calls).toBe(calls);
    },
  );

  it("is not forgotten while a request is under way", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ budget: { tokens: 1_000, per: "day" }, concurrency: 1 });
    const open = await reserved(quotas, acme, tokens(900));
    clock.at += 120_000;
    await quotas.sweep();
    expect((await refused(quotas, acme)).refused).toBe("concurrency");
    void quotas.settle(open, tokens(10));
    clock.at += 2_000;
    await quotas.sweep();
    expect(store.used("workspace:acme", "tokens") + held(store)).toBe(10);
  });

  it.each(["sweep", "close"] as const)(
    "is returned by a %s that begins during another call",
    async (end) => {
      const store = new MemoryLimitStore();
      const quotas = quotasOver(store);
      quotas.releaseReservation(
        await reserved(quotas, workspace({ budget: { tokens: 1_000, per: "day" } }), tokens(900)),
      );
      clock.at += 2_000;
      const other = reserve(quotas, { ...workspace({ requestsPerMinute: 1 }), id: "beta" });
      await quotas[end]();
      await other;
      expect(store.used("workspace:acme", "tokens")).toBe(0);
    },
  );

  it("is returned at once when the process closes, which refuses from then on", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ budget: { tokens: 1_000, per: "day" }, concurrency: 100 });
    quotas.releaseReservation(await reserved(quotas, acme, tokens(1)));
    const closed = quotas.close();
    expect(await refused(quotas, { ...acme, id: "beta" })).toMatchObject({
      refused: "limits_unavailable",
    });
    await closed;
    expect(store.used("workspace:acme", "tokens") + held(store)).toBe(0);
  });
});

describe("a changed ceiling", () => {
  it("applies at once, and usage stays counted", async () => {
    const quotas = quotasOver(new MemoryLimitStore());
    for (let count = 0; count < 50; count += 1)
      await reserved(quotas, workspace({ requestsPerMinute: 1_000 }));
    const lower = workspace({ requestsPerMinute: 52 });
    await reserved(quotas, lower);
    await reserved(quotas, lower);
    expect((await refused(quotas, lower)).refused).toBe("requests_per_minute");
    await reserved(quotas, workspace({ requestsPerMinute: 53 }));
  });
});

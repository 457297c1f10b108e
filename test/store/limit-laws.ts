import { expect, it } from "vitest";
import {
  type CounterLease,
  type LimitLease,
  type SlotLease,
} from "../../src/limits/limit-store.ts";
import { LIMIT_WINDOWS } from "../../src/canon/limits.ts";
import type { Store } from "../../src/store/port.ts";

const MINUTE = Date.UTC(2026, 10, 22, 10);

function counter(more: Partial<CounterLease> = {}): CounterLease {
  return {
    subject: "workspace:acme",
    measure: "tokens",
    window: "minute",
    start: MINUTE,
    ceiling: 100,
    giveBack: 0,
    overdraft: 0,
    need: 0,
    want: 0,
    ...more,
  };
}

function lease(more: Partial<LimitLease> = {}): LimitLease {
  return { holder: "a", now: MINUTE, until: MINUTE + 20_000, counters: [], slots: [], ...more };
}

/** What every engine must do with limits. */
export function limitLaws(store: () => Store): void {
  const take = async (
    ...counters: readonly CounterLease[]
  ): Promise<readonly (readonly [number, number])[]> => {
    const leased = await store().limits.lease(lease({ counters }));
    return leased.counters.map(({ granted, used }) => [granted, used]);
  };
  const hold = async (
    slot: Partial<SlotLease>,
    more: Partial<LimitLease> = {},
  ): Promise<readonly number[]> => {
    const slots = [{ subject: "workspace:acme", ceiling: 4, inUse: 0, want: 0, ...slot }];
    const [leased] = (await store().limits.lease(lease({ slots, ...more }))).slots;
    return [leased?.held ?? -1, leased?.others ?? -1];
  };

  it("a request gets the fitting amount, at least the needed one or nothing, and it counts as used", async () => {
    expect(await take(counter({ need: 10, want: 60 }))).toEqual([[60, 60]]);
    expect(await take(counter({ need: 10, want: 60 }))).toEqual([[40, 100]]);
    expect(await take(counter({ need: 1, want: 1 }))).toEqual([[0, 100]]);
    expect(await take(counter({ need: 101, want: 101, subject: "workspace:beta" }))).toEqual([
      [0, 0],
    ]);
  });

  it("a request returns first, then adds an overdraft past the ceiling, then takes", async () => {
    await take(counter({ need: 80, want: 80 }));
    expect(await take(counter({ giveBack: 50, overdraft: 60, need: 10, want: 20 }))).toEqual([
      [10, 100],
    ]);
    expect(await take(counter({ overdraft: 30 }))).toEqual([[0, 130]]);
    expect(await take(counter({ need: 1, want: 1 }))).toEqual([[0, 130]]);
    expect(await take(counter({ giveBack: 1_000 }))).toEqual([[0, 0]]);
  });

  it("subjects, measures, windows and starts are counted apart, and refused apart", async () => {
    await take(counter({ need: 100, want: 100 }));
    const want = { need: 5, want: 5 };
    expect(
      await take(
        counter(want),
        counter({ ...want, subject: "key:acme" }),
        counter({ ...want, measure: "requests" }),
        counter({ ...want, window: "hour" }),
        counter({ ...want, start: MINUTE + 60_000 }),
      ),
    ).toEqual([
      [0, 100],
      [5, 5],
      [5, 5],
      [5, 5],
      [5, 5],
    ]);
  });

  it("figures beyond 32 bits are kept exactly", async () => {
    const large = 9_000_000_000_000_000;
    expect(await take(counter({ ceiling: large, need: 1, want: large - 1 }))).toEqual([
      [large - 1, large - 1],
    ]);
  });

  it("a counter stays at the largest exact integer, for any added amount", async () => {
    const largest = Number.MAX_SAFE_INTEGER;
    expect(await take(counter({ overdraft: largest }))).toEqual([[0, largest]]);
    expect(await take(counter({ overdraft: largest }))).toEqual([[0, largest]]);
    expect(await take(counter({ giveBack: largest, overdraft: 7 }))).toEqual([[0, 7]]);
  });

  it("a batch is refused whole, and reported as refused", async () => {
    const bad = counter({ start: 0.5, overdraft: 1, subject: "workspace:beta" });
    const counters = [counter({ need: 5, want: 5 }), bad];
    await expect(store().limits.lease(lease({ counters }))).rejects.toMatchObject({
      applied: "no",
      permanent: true,
    });
    expect(await take(counter({ need: 5, want: 5 }))).toEqual([[5, 5]]);
  });

  it("concurrent requests get no more than the ceiling", async () => {
    const requested = await Promise.all(
      Array.from({ length: 50 }, () => take(counter({ need: 1, want: 7 }))),
    );
    expect(requested.reduce((sum, [row]) => sum + (row?.[0] ?? 0), 0)).toBe(100);
  });

  it("free slots are leased, renewed and returned", async () => {
    expect(await hold({ want: 3 })).toEqual([3, 0]);
    expect(await hold({ want: 3 }, { holder: "b" })).toEqual([1, 3]);
    expect(await hold({ want: 1, inUse: 1 })).toEqual([1, 1]);
    expect(await hold({ want: 3, inUse: 1 }, { holder: "b" })).toEqual([3, 1]);
    expect(await hold({ want: 0 })).toEqual([0, 3]);
    expect(await hold({ want: 4 }, { holder: "c" })).toEqual([1, 3]);
  });

  it("a slot in use is never freed, even above a lower ceiling", async () => {
    await hold({ want: 4, inUse: 4 });
    expect(await hold({ want: 5, inUse: 4, ceiling: 1 })).toEqual([4, 0]);
    expect(await hold({ want: 1, ceiling: 1 }, { holder: "b" })).toEqual([0, 4]);
  });

  it("slots of a dead process are leased to others when its lease is over, not before", async () => {
    await hold({ want: 4, inUse: 4 });
    const later = { holder: "b", until: MINUTE + 60_000 };
    expect(await hold({ want: 1 }, { ...later, now: MINUTE + 19_999 })).toEqual([0, 4]);
    expect(await hold({ want: 1 }, { ...later, now: MINUTE + 20_000 })).toEqual([1, 0]);
  });

  const hour = 3_600_000;
  const starts = {
    minute: MINUTE,
    hour: MINUTE,
    day: MINUTE - 10 * hour,
    week: MINUTE - 154 * hour,
    month: Date.UTC(2026, 10),
  } as const;

  /** Ends of windows that have ended in every time zone. */
  const before = {
    minute: MINUTE - 60_000,
    hour: MINUTE - hour,
    day: MINUTE - 26 * hour,
    week: MINUTE - (7 * 24 + 2) * hour,
    month: MINUTE - (31 * 24 + 2) * hour,
  } as const;

  it("the usage of current windows and slots is reported, and no other", async () => {
    for (const [index, window] of LIMIT_WINDOWS.entries()) {
      const row = { window, need: index + 1, want: index + 1 };
      await take(
        counter({ ...row, start: starts[window] }),
        counter({ ...row, start: before[window] }),
        counter({ ...row, start: MINUTE + hour }),
      );
    }
    // The hour that starts with a minute is not that minute's; a day may, in another zone.
    await take(counter({ window: "minute", start: starts.week, overdraft: 1 }));
    await take(counter({ window: "day", start: MINUTE - 25 * hour, overdraft: 9 }));
    await hold({ want: 2 });
    const { limits } = store();
    const usage = await limits.read(MINUTE + 1_234);
    expect(usage.counters.map(({ window, start, used }) => [window, start, used])).toEqual([
      ["day", MINUTE - 25 * hour, 9],
      ["day", starts.day, 3],
      ["hour", starts.hour, 2],
      ["minute", starts.minute, 1],
      ["month", starts.month, 5],
      ["week", starts.week, 4],
    ]);
    expect(usage.slots).toEqual([{ subject: "workspace:acme", held: 2 }]);
    expect((await limits.read(MINUTE + 20_000)).slots).toEqual([]);
  });

  it("long expired windows are deleted, each in its time, in batches", async () => {
    const { limits } = store();
    for (const window of LIMIT_WINDOWS)
      await take(counter({ window, start: MINUTE, overdraft: 1 }));
    await hold({ want: 2 });
    // Minutes after ten of them, and slots whose lease is over as long; hours and days after two
    // days; weeks after 16 days; months after two months.
    expect(await limits.prune(MINUTE + 600_000, 10)).toBe(0);
    expect(await limits.prune(MINUTE + 600_001, 10)).toBe(1);
    expect(await limits.prune(MINUTE + 620_001, 10)).toBe(1);
    expect(await limits.prune(MINUTE + 48 * hour, 10)).toBe(0);
    expect(await limits.prune(MINUTE + 48 * hour + 1, 10)).toBe(2);
    expect(await limits.prune(MINUTE + 16 * 24 * hour, 10)).toBe(0);
    expect(await limits.prune(MINUTE + 16 * 24 * hour + 1, 10)).toBe(1);
    expect(await limits.prune(MINUTE + 62 * 24 * hour, 10)).toBe(0);
    expect(await limits.prune(MINUTE + 62 * 24 * hour + 1, 10)).toBe(1);
    for (let count = 0; count < 5; count += 1)
      await take(counter({ subject: `key:${count}`, overdraft: 1 }));
    expect([await limits.prune(MINUTE + hour, 3), await limits.prune(MINUTE + hour, 3)]).toEqual([
      3, 2,
    ]);
  });
}

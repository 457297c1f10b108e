import { afterEach, describe, expect, it, vi } from "vitest";
import type { LimitedSubject } from "../../src/limits/accounts.ts";
import { StoreUnavailableError } from "../../src/canon/error.ts";
import type { Quotas } from "../../src/limits/quotas.ts";
import { MemoryLimitStore } from "./memory-store.ts";
import {
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

describe("a store that does not answer", () => {
  it("refuses in time with limits_unavailable, and admits again when it answers", async () => {
    vi.useFakeTimers();
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ requestsPerMinute: 10 });
    const answer = Promise.withResolvers<void>();
    store.before = () => answer.promise;
    const waiting = quotas.reserve([acme], one, 200);
    await vi.advanceTimersByTimeAsync(201);
    expect(await waiting).toMatchObject({ refused: "limits_unavailable", limit: null });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(quotas.state).toBe("unavailable");
    expect(quotas.reserve([acme], one, 200)).toMatchObject({ refused: "limits_unavailable" });
    answer.resolve();
    await vi.advanceTimersByTimeAsync(0);
    vi.useRealTimers();
    expect(quotas.state).toBe("ok");
    await reserved(quotas, acme);
  });

  it.each([
    ["broke", new Error("no answer")],
    ["does not know", new StoreUnavailableError("no answer")],
  ])(
    "may have rolled back an unconfirmed lease: it is not used any more, where the store %s",
    async (_, error) => {
      const store = new MemoryLimitStore();
      const [first, second] = [quotasOver(store), quotasOver(store)];
      const acme = workspace({ tokensPerMinute: 1_000 });
      first.releaseReservation(await reserved(first, acme, tokens(50)));
      clock.at += 2_500;
      store.after = () => Promise.reject(error);
      await first.sweep();
      store.after = () => Promise.resolve();
      await reserved(second, acme, tokens(1_000));
      expect((await refused(first, acme, tokens(1))).refused).toBe("tokens_per_minute");
    },
  );

  it("gets a returned amount after a lock, when it is free again", async () => {
    const store = new MemoryLimitStore();
    const [first, second] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ budget: { tokens: 1_000, per: "day" }, concurrency: 2 });
    const both = [await reserved(first, acme, tokens(900)), await reserved(first, acme, tokens(1))];
    for (const reservation of both) first.releaseReservation(reservation);
    clock.at += 2_500;
    store.before = () => Promise.reject(new StoreUnavailableError("locked", { applied: "no" }));
    for (let tries = 0; tries < 3; tries += 1) await first.sweep();
    expect(first.state).toBe("unavailable");
    store.before = () => Promise.resolve();
    await first.sweep();
    expect(store.used("workspace:acme", "tokens")).toBe(0);
    await reserved(second, acme, tokens(500));
    await reserved(second, acme, tokens(500));
    expect((await refused(first, acme, tokens(1))).refused).toBe("budget_exhausted");
  });

  it("gets no return of an earlier window after a lock", async () => {
    const store = new MemoryLimitStore();
    const [quotas, other] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ tokensPerMinute: 1_000 });
    quotas.releaseReservation(await reserved(quotas, acme, tokens(900)));
    clock.at += 2_500;
    store.before = () => {
      clock.at = TEN + 60_000;
      void quotas.reserve([acme], tokens(2_000), 0);
      return Promise.reject(new StoreUnavailableError("locked", { applied: "no" }));
    };
    await quotas.sweep();
    store.before = () => Promise.resolve();
    await reserved(other, acme, tokens(400));
    await reserved(quotas, acme, tokens(500));
    expect(store.counters.get(`workspace:acme tokens minute ${TEN + 60_000}`)).toBe(900);
  });

  it("refuses one figure, and every other is leased nevertheless", async () => {
    vi.useFakeTimers();
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const isPoison = new Set(["workspace:poison"]);
    store.refuses = ({ subject }) => isPoison.has(subject);
    const subjects = ["acme", "beta", "poison", "gamma"].map((id): LimitedSubject => ({
      ...workspace({ tokensPerMinute: 1_000 }),
      id,
    }));
    const poison = { ...workspace({ tokensPerMinute: 1_000 }), id: "poison" };
    isPoison.clear();
    const spent = await reserved(quotas, poison, tokens(10));
    isPoison.add("workspace:poison");
    const owed = quotas.settle(spent, tokens(5_000));
    await vi.advanceTimersByTimeAsync(10);
    expect(quotas.state).toBe("unavailable");
    const outcomes = await Promise.all(
      subjects.map((subject) => reserve(quotas, subject, tokens(100))),
    );
    expect(outcomes.map((each) => (isReservation(each) ? "taken" : each.refused))).toEqual([
      "taken",
      "taken",
      "limits_unavailable",
      "taken",
    ]);
    for (let second = 0; second < 3; second += 1) await quotas.sweep();
    await reserved(quotas, { ...workspace({ tokensPerMinute: 1_000 }), id: "delta" }, tokens(100));
    isPoison.clear();
    await quotas.sweep();
    await owed;
    vi.useRealTimers();
    expect(store.used("workspace:poison", "tokens")).toBeGreaterThanOrEqual(5_000);
    expect(quotas.state).toBe("ok");
  });

  it("refuses the slots of a subject, and leases its counters nevertheless", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    store.refuses = (row) => !("measure" in row);
    const acme = workspace({ requestsPerMinute: 10, concurrency: 2 });
    expect((await refused(quotas, acme)).refused).toBe("limits_unavailable");
    expect(quotas.state).toBe("unavailable");
    expect(store.used("workspace:acme", "requests")).toBeGreaterThan(0);
  });

  it("grants nothing in one window by an answer for the one before", async () => {
    const store = new MemoryLimitStore();
    const quotas = quotasOver(store);
    const acme = workspace({ tokensPerMinute: 1_000 });
    const answer = Promise.withResolvers<void>();
    store.after = () => answer.promise;
    const waiting = reserved(quotas, acme, tokens(600));
    await Promise.resolve();
    clock.at += 60_000;
    // A request now reads the new window, and so does the one that waits.
    const other = quotas.reserve([acme], tokens(1), 1_000);
    answer.resolve();
    await Promise.all([waiting, other]);
    expect(
      store.counters.get(`workspace:acme tokens minute ${TEN + 60_000}`),
    ).toBeGreaterThanOrEqual(601);
  });

  it.each([
    ["a sweep", (quotas: Quotas) => quotas.sweep()],
    [
      "a request of another workspace",
      (quotas: Quotas) => reserved(quotas, { ...workspace({ concurrency: 1 }), id: "b" }),
    ],
  ])(
    "refuses at once where it fails, and counts the owed usage once, with %s",
    async (_, nextCall) => {
      const store = new MemoryLimitStore();
      const quotas = quotasOver(store);
      const acme = workspace({ tokensPerMinute: 1_000 });
      const reservation = await reserved(quotas, acme, tokens(1_000));
      store.before = () => Promise.reject(new Error("no disk"));
      const settled = quotas.settle(reservation, tokens(1_200));
      clock.at += 300;
      expect((await refused(quotas, acme, tokens(1))).refused).toBe("limits_unavailable");
      store.before = () => Promise.resolve();
      await nextCall(quotas);
      await settled;
      expect(store.used("workspace:acme", "tokens")).toBe(1_200);
    },
  );
});

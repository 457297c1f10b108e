import { afterEach, describe, expect, it } from "vitest";
import type { LimitedSubject } from "../../src/limits/accounts.ts";
import { SLOT_LEASE } from "../../src/limits/counter-account.ts";
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
  workspace,
} from "./reservations.ts";

afterEach(() => {
  clock.at = TEN;
});

describe("requests at once", () => {
  it("are bounded over processes, and a returned slot is granted again", async () => {
    const store = new MemoryLimitStore();
    const [first, second] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ concurrency: 2 });
    const running = await reserved(first, acme);
    await reserved(second, acme);
    expect(await refused(second, acme)).toMatchObject({
      refused: "concurrency",
      retryAfter: 1_000,
    });
    first.releaseReservation(running);
    clock.at += 3_000;
    await first.sweep();
    await reserved(second, acme);
    expect((await refused(first, acme)).refused).toBe("concurrency");
  });

  it("are not leased to others while one process still grants them", async () => {
    const store = new MemoryLimitStore();
    const [first, second] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ concurrency: 10 });
    const key: LimitedSubject = {
      kind: "key",
      id: "k",
      limits: { ...NONE, requestsPerMinute: 100 },
    };
    const busy = await Promise.all(Array.from({ length: 10 }, () => reserved(first, acme)));
    for (const reservation of busy) first.releaseReservation(reservation);
    const answer = Promise.withResolvers<void>();
    store.after = () => answer.promise;
    // Waits for its key's counter; meanwhile others take what its process holds.
    const waiting = first.reserve([acme, key], one, 1_000);
    const meanwhile = Array.from({ length: 10 }, () => first.reserve([acme], one, 1_000));
    answer.resolve();
    const outcomes = await Promise.all([waiting, ...meanwhile]);
    const others = await Promise.all(Array.from({ length: 10 }, () => reserve(second, acme)));
    const running = [...outcomes, ...others].filter(
      (result) => result !== null && isReservation(result),
    );
    expect(running).toHaveLength(10);
  });

  it("are freed with the lease of a process that died, not before", async () => {
    const store = new MemoryLimitStore();
    const [dead, alive] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ concurrency: 1 });
    await reserved(dead, acme);
    clock.at += SLOT_LEASE - 1;
    expect((await refused(alive, acme)).refused).toBe("concurrency");
    clock.at += 1_000;
    await reserved(alive, acme);
  });

  it("are not kept by a process that is busy with fewer", async () => {
    const store = new MemoryLimitStore();
    const [first, second] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ concurrency: 2 });
    const running = await reserved(first, acme);
    first.releaseReservation(await reserved(first, acme));
    await first.sweep();
    clock.at += 300;
    expect(isReservation(await reserve(second, acme))).toBe(true);
    first.releaseReservation(running);
  });

  it("are not admitted by a process with an expired lease", async () => {
    const store = new MemoryLimitStore();
    const [asleep, awake] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ concurrency: 1 });
    asleep.releaseReservation(await reserved(asleep, acme));
    clock.at += SLOT_LEASE + 1;
    await reserved(awake, acme);
    expect((await refused(asleep, acme)).refused).toBe("concurrency");
  });

  it("are not forgotten while a request waits for them, for any time without requests", async () => {
    const store = new MemoryLimitStore();
    const [first, second] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ concurrency: 1 });
    first.releaseReservation(await reserved(first, acme));
    await first.sweep();
    clock.at += 3_600_000;
    const answer = Promise.withResolvers<void>();
    store.before = () => answer.promise;
    const waiting = reserved(first, acme);
    const swept = first.sweep();
    answer.resolve();
    await waiting;
    await swept;
    await first.sweep();
    expect((await refused(first, acme)).refused).toBe("concurrency");
    expect((await refused(second, acme)).refused).toBe("concurrency");
  });

  it("keep their slots for longer than a lease while their process lives", async () => {
    const store = new MemoryLimitStore();
    const [first, second] = [quotasOver(store), quotasOver(store)];
    const acme = workspace({ concurrency: 1 });
    await reserved(first, acme);
    for (let passed = 0; passed < 60; passed += 1) {
      clock.at += 1_000;
      await first.sweep();
    }
    expect((await refused(second, acme)).refused).toBe("concurrency");
  });
});

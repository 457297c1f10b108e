import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SLOT_LEASE } from "../../src/limits/counter-account.ts";
import type { Quotas, Reservation } from "../../src/limits/quotas.ts";
import { MemoryLimitStore } from "./memory-store.ts";
import {
  TEN,
  clock,
  isReservation,
  quotasOver,
  reserve,
  reserved,
  tokens,
  workspace,
} from "./reservations.ts";

/** One step of several processes that share a store. */
type Step =
  | { readonly kind: "reserve"; readonly quotas: number; readonly amount: number }
  | { readonly kind: "settle"; readonly pick: number; readonly amount: number }
  | { readonly kind: "release"; readonly pick: number }
  | { readonly kind: "sweep"; readonly quotas: number }
  | { readonly kind: "crash"; readonly quotas: number }
  | { readonly kind: "wait"; readonly milliseconds: number }
  | { readonly kind: "breaks"; readonly when: "before" | "after" | "never" };

const steps = fc.array(
  fc.oneof<fc.WeightedArbitrary<Step>[]>(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("reserve" as const),
        quotas: fc.nat(2),
        amount: fc.integer({ min: 1, max: 60 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("settle" as const),
        pick: fc.nat(),
        amount: fc.nat(80),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), pick: fc.nat() }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom("sweep" as const, "crash" as const),
        quotas: fc.nat(2),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("wait" as const),
        milliseconds: fc.constantFrom(10, 300, 2_500, 40_000),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("breaks" as const),
        when: fc.constantFrom("before" as const, "after" as const, "never" as const),
      }),
    },
  ),
  { maxLength: 60 },
);

interface Open {
  readonly owner: Quotas;
  readonly reservation: Reservation;
  readonly amount: number;
}

describe("every interleaving of requests", () => {
  it("keeps admitted and settled amounts within ceiling and overdraft, and forgets none", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 10, max: 300 }), steps, async (ceiling, plan) => {
        clock.at = TEN;
        const store = new MemoryLimitStore();
        const acme = workspace({ tokensPerMinute: ceiling, concurrency: 4 });
        const processes = [quotasOver(store), quotasOver(store), quotasOver(store)];
        let open: Open[] = [];
        /** Window → what requests came to, and how much of it was more than was reserved. */
        const spent = new Map<number, { used: number; beyond: number }>();
        const windowOf = (at: number): { used: number; beyond: number } => {
          const start = at - (at % 60_000);
          const found = spent.get(start) ?? { used: 0, beyond: 0 };
          spent.set(start, found);
          return found;
        };
        const judge = (): void => {
          for (const [start, { used, beyond }] of spent) {
            const inOpen = open.reduce(
              (sum, { reservation, amount }) =>
                reservation.at - (reservation.at % 60_000) === start ? sum + amount : sum,
              0,
            );
            expect(used + inOpen).toBeLessThanOrEqual(ceiling + beyond);
          }
          const alive = open.filter(({ owner }) => processes.includes(owner));
          expect(alive.length).toBeLessThanOrEqual(4);
        };
        // A process that lets its lease run out has lost its slots; that has a test of its own.
        // Here all renew in time.
        const pass = async (milliseconds: number): Promise<void> => {
          const { before, after } = store;
          store.before = store.after = () => Promise.resolve();
          for (let left = milliseconds; left > 0; left -= SLOT_LEASE / 4) {
            clock.at += Math.min(left, SLOT_LEASE / 4);
            for (const quotas of processes) await quotas.sweep();
          }
          Object.assign(store, { before, after });
        };
        for (const step of plan) {
          if (step.kind === "reserve") {
            const owner = processes[step.quotas];
            if (owner === undefined) continue;
            const result = await reserve(owner, acme, tokens(step.amount));
            if (isReservation(result)) {
              windowOf(result.at);
              open.push({ owner, reservation: result, amount: step.amount });
            }
          } else if (step.kind === "settle" || step.kind === "release") {
            const picked = open[step.pick % Math.max(open.length, 1)];
            if (picked === undefined) continue;
            open = open.filter((each) => each !== picked);
            if (step.kind === "release") picked.owner.releaseReservation(picked.reservation);
            else {
              const window = windowOf(picked.reservation.at);
              window.used += step.amount;
              window.beyond += Math.max(0, step.amount - picked.amount);
              void picked.owner.settle(picked.reservation, tokens(step.amount));
            }
          } else if (step.kind === "sweep") await processes[step.quotas]?.sweep();
          else if (step.kind === "crash") {
            const dead = processes[step.quotas];
            // What it owed and had not said is lost: a settlement counts once it has resolved. Here
            // all have.
            store.before = store.after = () => Promise.resolve();
            await dead?.sweep();
            // Its requests ran, as far as anybody knows, to the full.
            for (const each of open.filter(({ owner }) => owner === dead))
              windowOf(each.reservation.at).used += each.amount;
            open = open.filter(({ owner }) => owner !== dead);
            processes[step.quotas] = quotasOver(store);
            // Slots come free with the lease.
            await pass(SLOT_LEASE + 1);
          } else if (step.kind === "wait") await pass(step.milliseconds);
          judge();
        }
        store.before = store.after = () => Promise.resolve();
        for (const quotas of processes) await quotas.sweep();
        // Never under: what the store says is used covers what was.
        for (const [start, { used }] of spent) {
          expect(
            store.counters.get(`workspace:acme tokens minute ${start}`) ?? 0,
          ).toBeGreaterThanOrEqual(used);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("frees released amounts for use in their window, to the last unit", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 500 }),
        fc.array(fc.record({ quotas: fc.nat(2), amount: fc.integer({ min: 1, max: 200 }) }), {
          maxLength: 20,
        }),
        async (ceiling, requested) => {
          clock.at = TEN;
          const store = new MemoryLimitStore();
          const acme = workspace({ tokensPerMinute: ceiling });
          const processes = [quotasOver(store), quotasOver(store), quotasOver(store)];
          for (const { quotas, amount } of requested) {
            const owner = processes[quotas];
            const result = owner === undefined ? null : await reserve(owner, acme, tokens(amount));
            if (owner !== undefined && result !== null && isReservation(result))
              owner.releaseReservation(result);
          }
          clock.at += 3_000;
          for (const quotas of processes) await quotas.sweep();
          clock.at += 300;
          expect(store.used("workspace:acme", "tokens")).toBe(0);
          const [first] = processes;
          if (first !== undefined) await reserved(first, acme, tokens(ceiling));
        },
      ),
      { numRuns: 200 },
    );
  });
});

import { randomUUID } from "node:crypto";
import { Quotas } from "../limits/quotas.ts";
import type { LimitStore } from "../limits/limit-store.ts";

/** How often idle amounts go back and leases are renewed. Milliseconds. */
const SWEEP = 1_000;

/** How often what is old is forgotten, milliseconds, and how much of it at a time: a few milliseconds of the store. */
const PRUNE = 600_000;
const BATCH = 500;

/** Deletes old counters, batch by batch. A failed batch is retried the next time. Never rejects. */
export async function forgetOld(store: Pick<LimitStore, "prune">, now: number): Promise<void> {
  try {
    while ((await store.prune(now, BATCH)) >= BATCH);
  } catch {}
}

/** Quotas over the store's limits, swept until it is closed. */
export function openQuotas(store: LimitStore): { readonly quotas: Quotas; readonly close: () => Promise<void> } {
  const quotas = new Quotas({ store, holder: randomUUID(), now: Date.now });
  const sweep = setInterval(() => void quotas.sweep(), SWEEP);
  const prune = setInterval(() => void forgetOld(store, Date.now()), PRUNE);
  sweep.unref();
  prune.unref();
  return {
    quotas,
    close() {
      clearInterval(sweep);
      clearInterval(prune);
      return quotas.close();
    },
  };
}

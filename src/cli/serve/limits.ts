import { randomUUID } from "node:crypto";
import { Ledger } from "../../limits/ledger.ts";
import type { LimitStore } from "../../store/limits.ts";

/** How often what is not needed goes back, and what is held is renewed. Milliseconds. */
const SWEEP = 1_000;

/** How often what is old is forgotten, and how old that is: longer than the longest window. Milliseconds. */
const PRUNE = 3_600_000;
const KEPT = 62 * 86_400_000;

/** A ledger over the store's limits, swept until it is closed. */
export function openLedger(store: LimitStore): { readonly ledger: Ledger; readonly close: () => Promise<void> } {
  const ledger = new Ledger({ store, holder: randomUUID(), now: Date.now });
  const sweep = setInterval(() => void ledger.sweep(), SWEEP);
  // What could not be forgotten now is forgotten an hour later.
  const prune = setInterval(() => void store.prune(Date.now() - KEPT).catch(() => 0), PRUNE);
  sweep.unref();
  prune.unref();
  return {
    ledger,
    close() {
      clearInterval(sweep);
      clearInterval(prune);
      return ledger.close();
    },
  };
}

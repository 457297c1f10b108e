import { StoreUnavailableError } from "../../src/canon/error.ts";
import type {
  CounterLease,
  CounterLeased,
  LimitStore,
  SlotLease,
  SlotsLeased,
} from "../../src/limits/limit-store.ts";

/** The store's port in memory, one call after the other, to be made slow or broken. */
export class MemoryLimitStore implements LimitStore {
  readonly counters = new Map<string, number>();
  readonly slots = new Map<string, { readonly held: number; readonly until: number }>();
  calls = 0;
  /** Awaited before a call is carried out. */
  before: () => Promise<void> = () => Promise.resolve();
  /** Rows with which a call is refused, and nothing of it done. */
  refuses: (row: CounterLease | SlotLease) => boolean = () => false;
  /** Awaited after it has been, before it is answered. */
  after: () => Promise<void> = () => Promise.resolve();

  async lease(
    lease: Parameters<LimitStore["lease"]>[0],
  ): Promise<Awaited<ReturnType<LimitStore["lease"]>>> {
    this.calls += 1;
    await this.before();
    if ([...lease.counters, ...lease.slots].some((row) => this.refuses(row))) {
      throw new StoreUnavailableError("refused", { applied: "no", permanent: true });
    }
    const leased = {
      counters: lease.counters.map((one) => this.#counter(one)),
      slots: lease.slots.map((one) => this.#slots(one, lease.holder, lease.now, lease.until)),
    };
    await this.after();
    return leased;
  }

  /** Everything used of one counter over all windows. */
  used(subject: string, measure: string): number {
    const prefix = `${subject} ${measure} `;
    return [...this.counters].reduce(
      (sum, [id, used]) => (id.startsWith(prefix) ? sum + used : sum),
      0,
    );
  }

  read(): never {
    throw new Error("not needed here");
  }

  prune(): Promise<number> {
    return Promise.resolve(0);
  }

  #counter({ subject, measure, window, start, ...row }: CounterLease): CounterLeased {
    const id = `${subject} ${measure} ${window} ${start}`;
    const used = Math.max(0, (this.counters.get(id) ?? 0) - row.giveBack) + row.overdraft;
    const room = row.ceiling - used;
    const granted = row.need > 0 && room >= row.need ? Math.min(row.want, room) : 0;
    this.counters.set(id, used + granted);
    return { used: used + granted, granted };
  }

  #slots(
    { subject, ceiling, inUse, want }: SlotLease,
    holder: string,
    now: number,
    until: number,
  ): SlotsLeased {
    let others = 0;
    for (const [id, slot] of this.slots) {
      if (id.startsWith(`${subject} `) && id !== `${subject} ${holder}` && slot.until > now)
        others += slot.held;
    }
    const held = Math.max(inUse, Math.min(want, ceiling - others));
    this.slots.set(`${subject} ${holder}`, { held, until });
    return { held, others };
  }
}

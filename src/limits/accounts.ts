import { CounterAccount } from "./counter-account.ts";
import type { EffectiveLimits, LimitedSubject } from "./effective.ts";
import { counterLimits, type Meters } from "./meters.ts";
import { SlotAccount } from "./slot-account.ts";
import { windowStart, type LimitMeasure, type LimitWindow } from "./windows.ts";

/** Use beyond a reservation that is not on disk yet. */
export interface Overdraft {
  readonly subject: string;
  readonly measure: LimitMeasure;
  readonly window: LimitWindow;
  readonly start: number;
  readonly amount: number;
}

/** A larger one could not be written down. */
const LARGEST_DEBT = Number.MAX_SAFE_INTEGER;

/** The state of limits in one process: its leases and its debts. */
export class Accounts {
  readonly counters = new Map<string, CounterAccount>();
  readonly slots = new Map<string, SlotAccount>();
  readonly overdrafts = new Map<string, Overdraft>();
  readonly #refusedDebts = new Set<string>();
  readonly #workspaces = new Map<string, Meters>();
  readonly #keys = new Map<string, Meters>();

  /** An account in use is not idle: one that a waiting request refers to must not be forgotten. */
  metersOf(subject: LimitedSubject, now: number): Meters {
    const meters = this.#find(subject);
    for (const counter of meters.counters) counter.touchedAt = now;
    if (meters.slots !== null) meters.slots.touchedAt = now;
    return meters;
  }

  #find({ kind, id, limits }: LimitedSubject): Meters {
    const known = kind === "workspace" ? this.#workspaces : this.#keys;
    const meters = known.get(id);
    // Every table and key has its own object: another one may be another ceiling, the same one cannot be.
    if (meters !== undefined && meters.limits === limits) return meters;
    const made = this.#make(`${kind}:${id}`, limits);
    known.set(id, made);
    return made;
  }

  /** Forgets who has neither anything under way nor anything in hand. */
  forgetIdle(isIdle: (account: CounterAccount | SlotAccount) => boolean): void {
    for (const [id, account] of this.counters) if (account.open === 0 && isIdle(account)) this.counters.delete(id);
    for (const [id, account] of this.slots) if (account.inUse === 0 && isIdle(account)) this.slots.delete(id);
    for (const known of [this.#workspaces, this.#keys]) {
      for (const [id, { counters, slots }] of known) {
        const isKept = (account: CounterAccount): boolean => this.counters.has(idOf(account));
        if (!counters.every(isKept) || (slots !== null && !this.slots.has(slots.subject))) known.delete(id);
      }
    }
  }

  /** True where more was used than was reserved and at hand: it is owed to the store. */
  settle(account: CounterAccount, reserved: number, used: number, at: number): boolean {
    account.release(reserved, at);
    const isCurrent = account.holds(at);
    let beyond = used - reserved;
    if (isCurrent) {
      // What is at hand pays first.
      const paid = Math.min(account.available, beyond);
      account.available -= paid;
      beyond -= paid;
    }
    if (beyond <= 0) return false;
    const { subject, measure, window } = account;
    this.owe({ subject, measure, window, start: windowStart(window, at), amount: beyond });
    return true;
  }

  owe(debt: Overdraft): void {
    const id = idOfDebt(debt);
    const amount = (this.overdrafts.get(id)?.amount ?? 0) + debt.amount;
    this.overdrafts.set(id, { ...debt, amount: Math.min(amount, LARGEST_DEBT) });
  }

  /**
   * Takes out what is owed.
   *
   * @param isHasty without what the store has refused before: only sweeps try that again.
   */
  takeDebts(isHasty: boolean): readonly Overdraft[] {
    const taken: Overdraft[] = [];
    for (const [id, debt] of this.overdrafts) {
      if (isHasty && this.#refusedDebts.has(id)) continue;
      taken.push(debt);
      this.overdrafts.delete(id);
      this.#refusedDebts.delete(id);
    }
    return taken;
  }

  get hasRefusedDebts(): boolean {
    return this.#refusedDebts.size > 0;
  }

  /** The store will not have it: it is owed still, and keeps no request waiting. */
  oweRefused(debt: Overdraft): void {
    this.owe(debt);
    this.#refusedDebts.add(idOfDebt(debt));
  }

  #make(subject: string, limits: EffectiveLimits): Meters {
    const counters = counterLimits(limits).map(({ measure, window, ceiling }) => {
      const made = new CounterAccount(subject, measure, window, ceiling);
      const known = this.counters.get(idOf(made));
      known?.setCeiling(ceiling);
      if (known === undefined) this.counters.set(idOf(made), made);
      return known ?? made;
    });
    return { limits, counters, slots: limits.concurrency === null ? null : this.#slotsOf(subject, limits.concurrency) };
  }

  #slotsOf(subject: string, ceiling: number): SlotAccount {
    const known = this.slots.get(subject);
    known?.setCeiling(ceiling);
    if (known !== undefined) return known;
    const made = new SlotAccount(subject, ceiling);
    this.slots.set(subject, made);
    return made;
  }
}

function idOf({ subject, measure, window }: CounterAccount): string {
  return `${subject} ${measure} ${window}`;
}

function idOfDebt({ subject, measure, window, start }: Overdraft): string {
  return `${subject} ${measure} ${window} ${start}`;
}

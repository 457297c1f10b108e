import { StoreUnavailableError } from "../canon/error.ts";
import {
  counterId,
  type CounterLease,
  type LimitLease,
  type LimitLeased,
  type SlotLease,
} from "./limit-store.ts";
import { type Accounts, type Overdraft, amountOf, type Amounts, type Meters } from "./accounts.ts";
import { type CounterAccount, SLOT_LEASE, type SlotAccount } from "./counter-account.ts";

/** The requested amount of one counter. */
interface CounterEntry {
  readonly row: CounterLease;
  /** `null` where the row only reports a debt. */
  readonly account: CounterAccount | null;
  readonly debt: Overdraft | null;
}

/** The requested slots of one subject. */
interface SlotEntry {
  readonly row: SlotLease;
  readonly account: SlotAccount;
  /** What was held before. */
  readonly held: number;
}

/** One call of the store, and what to do when it has ended. */
export class ComposedLease {
  readonly lease: LimitLease;
  readonly #accounts: Accounts;
  readonly #counters: readonly CounterEntry[];
  readonly #slots: readonly SlotEntry[];

  constructor(
    accounts: Accounts,
    terms: Pick<LimitLease, "holder" | "now" | "until">,
    counters: readonly CounterEntry[],
    slots: readonly SlotEntry[],
  ) {
    this.#accounts = accounts;
    this.#counters = counters;
    this.#slots = slots;
    const { holder, now, until } = terms;
    this.lease = {
      holder,
      now,
      until,
      counters: counters.map(({ row }) => row),
      slots: slots.map(({ row }) => row),
    };
  }

  apply(leased: LimitLeased, at: number): void {
    for (const [index, { row, account }] of this.#counters.entries()) {
      const said = leased.counters[index];
      if (said !== undefined) account?.apply(row, said, at);
    }
    for (const [index, { account }] of this.#slots.entries()) {
      const said = leased.slots[index];
      if (said !== undefined) account.apply(said, this.lease.until, at);
    }
  }

  /** Gives the accounts whose figures are unknown now; `null` in it is a debt alone. */
  failed(error: unknown): ReadonlySet<CounterAccount | SlotAccount | null> {
    const unknown = new Set<CounterAccount | SlotAccount | null>();
    const isUndone = error instanceof StoreUnavailableError && error.done === "no";
    for (const { row, account, debt } of this.#counters) {
      // It may be on disk already and is then counted twice, but never missing.
      if (debt !== null && isRefused(error)) this.#accounts.oweRefused(debt);
      else if (debt !== null) this.#accounts.owe(debt);
      if (isUndone) account?.keepReturns(row);
      unknown.add(account);
    }
    for (const { account, held } of this.#slots) {
      if (isUndone) account.held = held;
      unknown.add(account);
    }
    return unknown;
  }

  /**
   * The same in two calls; `null` where it is about one figure only. Figures are independent of
   * each other.
   */
  halves(): readonly [ComposedLease, ComposedLease] | null {
    const count = this.#counters.length + this.#slots.length;
    if (count < 2) return null;
    const half = Math.ceil(count / 2);
    const slot = Math.max(0, half - this.#counters.length);
    const part = (from: number, to: number, fromSlot: number, toSlot: number): ComposedLease =>
      new ComposedLease(
        this.#accounts,
        this.lease,
        this.#counters.slice(from, to),
        this.#slots.slice(fromSlot, toSlot),
      );
    return [part(0, half, 0, slot), part(half, count, slot, count)];
  }
}

/** Whether the same call would fail again. */
export function isRefused(error: unknown): boolean {
  return error instanceof StoreUnavailableError && error.refused && error.done === "no";
}

/** A request that waits for the store. */
interface WaitingRequest {
  readonly meters: readonly Meters[];
  readonly amounts: Amounts;
}

/** Leased amounts that were not used in this time go back to the store. Milliseconds. */
const IDLE = 2_000;

/** Accounts that were not used in this time are forgotten. Milliseconds. */
const FORGOTTEN = 120_000;

/** The need of waiting requests for one account. */
interface Demand {
  sum: number;
  least: number;
}

/**
 * Puts together everything that is wanted of the store now; `null` where nothing is. What is given
 * back is out of hand from here on, and stays so where the effect of a failed call is unknown: what
 * is counted twice is safer than what is counted not at all. Where nothing was done, it is given
 * back with the next call.
 */
export function composeLease(
  accounts: Accounts,
  waiting: readonly WaitingRequest[],
  holder: string,
  now: number,
  why: "request" | "return" | "sweep" | "close",
): ComposedLease | null {
  const demands = demandsOf(waiting);
  const all = why !== "request";
  const isIdle = ({ touchedAt }: CounterAccount | SlotAccount): boolean =>
    why === "close" || now - touchedAt >= IDLE;
  const counters: CounterEntry[] = [];
  const debts = accounts.takeDebts(why === "request");
  const owed = new Set(debts);
  for (const account of all ? accounts.counters.values() : demands.counters.keys()) {
    account.roll(now);
    const giveBack = account.takeReturns(isIdle(account));
    const debt = debts.find((one) => counterId(one) === counterId(account)) ?? null;
    const row = counterRow(
      account,
      demands.counters.get(account),
      giveBack,
      debt?.amount ?? 0,
      now,
    );
    if (row === null) continue;
    if (debt !== null) owed.delete(debt);
    counters.push({ row, account, debt });
  }
  for (const debt of owed) {
    const { subject, measure, window, start, amount } = debt;
    const row = {
      subject,
      measure,
      window,
      start,
      ceiling: 0,
      giveBack: 0,
      overdraft: amount,
      need: 0,
      want: 0,
    };
    counters.push({ row, account: null, debt });
  }
  const slots: SlotEntry[] = [];
  for (const account of all ? accounts.slots.values() : demands.slots.keys()) {
    const demand = demands.slots.get(account) ?? 0;
    if (demand === 0 && !account.hasSurplus(isIdle(account)) && !account.isDue(now)) continue;
    const { subject, ceiling, inUse, held } = account;
    slots.push({
      row: { subject, ceiling, inUse, want: account.takeWanted(demand, isIdle(account)) },
      account,
      held,
    });
  }
  if (why === "sweep") accounts.forgetIdle((account) => now - account.touchedAt >= FORGOTTEN);
  if (counters.length + slots.length === 0) return null;
  return new ComposedLease(accounts, { holder, now, until: now + SLOT_LEASE }, counters, slots);
}

function counterRow(
  account: CounterAccount,
  demand: Demand | undefined,
  giveBack: number,
  overdraft: number,
  now: number,
): CounterLease | null {
  const lack = (demand?.sum ?? 0) - account.available;
  if (lack <= 0 && giveBack === 0 && overdraft === 0) return null;
  const { subject, measure, window, start, ceiling } = account;
  const common = { subject, measure, window, start, ceiling, giveBack, overdraft };
  if (demand === undefined || lack <= 0) return { ...common, need: 0, want: 0 };
  return {
    ...common,
    need: Math.max(1, demand.least - account.available),
    want: account.wanted(lack, demand.least, now),
  };
}

interface Demands {
  readonly counters: ReadonlyMap<CounterAccount, Demand>;
  readonly slots: ReadonlyMap<SlotAccount, number>;
}

function demandsOf(waiting: readonly WaitingRequest[]): Demands {
  const counters = new Map<CounterAccount, Demand>();
  const slots = new Map<SlotAccount, number>();
  for (const { meters, amounts } of waiting) {
    for (const { counters: own, slots: slotId } of meters) {
      for (const account of own) {
        const amount = amountOf(amounts, account.measure);
        const demand = counters.get(account);
        if (demand === undefined) counters.set(account, { sum: amount, least: amount });
        else {
          demand.sum += amount;
          demand.least = Math.min(demand.least, amount);
        }
      }
      if (slotId !== null) slots.set(slotId, (slots.get(slotId) ?? 0) + 1);
    }
  }
  return { counters, slots };
}

import type { CounterLease, LimitLease, LimitLeased, SlotLease } from "../store/limits.ts";
import type { Accounts, Overdraft } from "./accounts.ts";
import type { CounterAccount } from "./counter-account.ts";
import { amountOf, type Amounts, type Meters } from "./meters.ts";
import { SLOT_LEASE, type SlotAccount } from "./slot-account.ts";

/** One call of the store, and what to do when it has ended. */
export interface ComposedLease {
  readonly lease: LimitLease;
  readonly told: (leased: LimitLeased, now: number) => void;
  readonly failed: () => void;
}

/** A request that waits for the store. */
export interface WaitingRequest {
  readonly meters: readonly Meters[];
  readonly amounts: Amounts;
}

/** What has not been asked for in this time goes back to where all processes can take it. Milliseconds. */
const IDLE = 2_000;

/** Accounts that nobody has asked for in this time are forgotten. Milliseconds. */
const FORGOTTEN = 120_000;

/** What waiting requests need of one account. */
interface Demand {
  sum: number;
  least: number;
}

/**
 * Puts together everything that is wanted of the store now; `null` where nothing is. What is given back is out of hand from here on, and
 * stays so where the call fails: nobody knows then whether it has come back, and what is counted twice is safer than what is counted not at all.
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
  const counters: CounterLease[] = [];
  const counterAccounts: (CounterAccount | null)[] = [];
  const debts = [...accounts.overdrafts.values()];
  accounts.overdrafts.clear();
  const owed = new Set(debts);
  for (const account of all ? accounts.counters.values() : demands.counters.keys()) {
    account.roll(now);
    const isIdle = why === "close" || (why === "sweep" && now - account.touchedAt >= IDLE);
    const giveBack = account.takeReturns(isIdle);
    const debt = debts.find((one) => isDebtOf(one, account));
    const row = counterRow(account, demands.counters.get(account), giveBack, debt?.amount ?? 0, now);
    if (row === null) continue;
    if (debt !== undefined) owed.delete(debt);
    counters.push(row);
    counterAccounts.push(account);
  }
  for (const { subject, measure, window, start, amount } of owed) {
    counters.push({ subject, measure, window, start, ceiling: 0, giveBack: 0, overdraft: amount, need: 0, want: 0 });
    counterAccounts.push(null);
  }
  const slots: SlotLease[] = [];
  const slotAccounts: SlotAccount[] = [];
  for (const account of all ? accounts.slots.values() : demands.slots.keys()) {
    const demand = why === "close" ? 0 : (demands.slots.get(account) ?? 0);
    const isIdle = why === "close" || now - account.touchedAt >= IDLE;
    if (demand === 0 && !account.hasSurplus(isIdle) && !account.isDue(now)) continue;
    slots.push({
      subject: account.subject,
      ceiling: account.ceiling,
      inUse: account.inUse,
      want: account.takeWanted(demand, isIdle),
    });
    slotAccounts.push(account);
  }
  if (why === "sweep") accounts.forgetIdle((account) => now - account.touchedAt >= FORGOTTEN);
  if (counters.length + slots.length === 0) return null;
  const until = now + SLOT_LEASE;
  return {
    lease: { holder, now, until, counters, slots },
    told(leased, at) {
      for (const [index, account] of counterAccounts.entries()) {
        const [asked, said] = [counters[index], leased.counters[index]];
        if (account !== null && asked !== undefined && said !== undefined) account.told(asked, said, at);
      }
      for (const [index, account] of slotAccounts.entries()) {
        const said = leased.slots[index];
        if (said !== undefined) account.told(said, until, at);
      }
    },
    failed() {
      // It may be on disk already, and then stands there twice: never not at all.
      for (const debt of debts) accounts.owe(debt);
    },
  };
}

function counterRow(
  account: CounterAccount,
  demand: Demand | undefined,
  giveBack: number,
  overdraft: number,
  now: number,
): CounterLease | null {
  const lack = demand === undefined ? 0 : demand.sum - account.available;
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

function isDebtOf(debt: Overdraft, { subject, measure, window, start }: CounterAccount): boolean {
  return debt.subject === subject && debt.measure === measure && debt.window === window && debt.start === start;
}

interface Demands {
  readonly counters: ReadonlyMap<CounterAccount, Demand>;
  readonly slots: ReadonlyMap<SlotAccount, number>;
}

function demandsOf(waiting: readonly WaitingRequest[]): Demands {
  const counters = new Map<CounterAccount, Demand>();
  const slots = new Map<SlotAccount, number>();
  for (const { meters, amounts } of waiting) {
    for (const { counters: own, slots: places } of meters) {
      for (const account of own) {
        const amount = amountOf(amounts, account.measure);
        const demand = counters.get(account);
        if (demand === undefined) counters.set(account, { sum: amount, least: amount });
        else {
          demand.sum += amount;
          demand.least = Math.min(demand.least, amount);
        }
      }
      if (places !== null) slots.set(places, (slots.get(places) ?? 0) + 1);
    }
  }
  return { counters, slots };
}

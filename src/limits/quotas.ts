import { StoreUnavailableError } from "../canon/error.ts";
import { remember } from "../canon/remember.ts";
import {
  Accounts,
  refusalBy,
  unavailable,
  type Amounts,
  type LimitRefusal,
  type LimitedSubject,
  type Meters,
  type Overdraft,
} from "./accounts.ts";
import { SLOT_LEASE, type CounterAccount, type SlotAccount } from "./counter-account.ts";
import {
  counterId,
  type CounterLease,
  type LimitLease,
  type LimitLeased,
  type LimitStore,
  type SlotLease,
} from "./limit-store.ts";

type Account = CounterAccount | SlotAccount;

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
  /** Slots held before. */
  readonly held: number;
}

/** One call of the store. */
interface ComposedLease {
  readonly terms: Pick<LimitLease, "holder" | "now" | "until">;
  readonly counters: readonly CounterEntry[];
  readonly slots: readonly SlotEntry[];
}

/**
 * The same in two calls; `null` where it is about one figure only. Figures are independent of each
 * other.
 */
function halvesOf({ terms, counters, slots }: ComposedLease) {
  const count = counters.length + slots.length;
  if (count < 2) return null;
  const half = Math.ceil(count / 2);
  const slot = Math.max(0, half - counters.length);
  return [
    { terms, counters: counters.slice(0, half), slots: slots.slice(0, slot) },
    { terms, counters: counters.slice(half), slots: slots.slice(slot) },
  ] as const;
}

/** Whether the same call would fail again. */
function isPermanent(error: unknown) {
  return error instanceof StoreUnavailableError && error.permanent && error.applied === "no";
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
 * Gathers all current needs for one call of the store; `null` where there are none. Returned
 * amounts are gone from here on, also where the effect of a failed call is unknown: counting twice
 * is safer than not at all. Where nothing was done, they are returned with the next call.
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
  const isIdle = ({ touchedAt }: Account) => why === "close" || now - touchedAt >= IDLE;
  const counters: CounterEntry[] = [];
  const debts = accounts.takeDebts(!all);
  const unpaid = new Set(debts);
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
    if (debt !== null) unpaid.delete(debt);
    counters.push({ row, account, debt });
  }
  for (const debt of unpaid) {
    const { amount: overdraft, ...counter } = debt;
    const row = { ...counter, ceiling: 0, giveBack: 0, overdraft, need: 0, want: 0 };
    counters.push({ row, account: null, debt });
  }
  const slots: SlotEntry[] = [];
  for (const account of all ? accounts.slots.values() : demands.slots.keys()) {
    const demand = demands.slots.get(account) ?? 0;
    if (demand === 0 && !account.hasExcessSlots(isIdle(account)) && !account.isDue(now)) continue;
    const { subject, ceiling, inUse, held } = account;
    slots.push({
      row: { subject, ceiling, inUse, want: account.requestSlots(demand, isIdle(account)) },
      account,
      held,
    });
  }
  if (why === "sweep") accounts.forgetIdle((account) => now - account.touchedAt >= FORGOTTEN);
  if (counters.length + slots.length === 0) return null;
  return { terms: { holder, now, until: now + SLOT_LEASE }, counters, slots };
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
  const least = lack > 0 ? (demand?.least ?? 0) : 0;
  return {
    subject,
    measure,
    window,
    start,
    ceiling,
    giveBack,
    overdraft,
    need: lack > 0 ? Math.max(1, least - account.available) : 0,
    want: lack > 0 ? account.leaseSize(lack, least, now) : 0,
  };
}

function demandsOf(waiting: readonly WaitingRequest[]) {
  const counters = new Map<CounterAccount, Demand>();
  const slots = new Map<SlotAccount, number>();
  for (const { meters, amounts } of waiting) {
    for (const meter of meters) {
      for (const account of meter.counters) {
        const amount = amounts[account.measure];
        const demand = remember(counters, account, () => ({ sum: 0, least: amount }));
        demand.sum += amount;
        demand.least = Math.min(demand.least, amount);
      }
      if (meter.slots !== null) slots.set(meter.slots, (slots.get(meter.slots) ?? 0) + 1);
    }
  }
  return { counters, slots };
}

/**
 * The reservation of one request. End it once, by `settle` or `releaseReservation` of
 * {@link createQuotas}.
 */
export interface Reservation {
  readonly meters: readonly Meters[];
  readonly amounts: Amounts;
  /** Use counts in the windows of this moment, whenever it is settled. */
  readonly at: number;
  ended: boolean;
}

interface QuotasOptions {
  readonly store: LimitStore;
  /** Random id of this process among those that share the store. */
  readonly holder: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Longest wait of a request for the store, milliseconds. */
  readonly maxWait?: number;
}

interface Waiter extends WaitingRequest {
  readonly end: (result: Reservation | LimitRefusal) => void;
}

const NO_ACCOUNTS: ReadonlySet<Account> = new Set();

const MAX_WAIT = 1_000;

/** Longest time after which a process returns its surplus. Milliseconds. */
const RETURN_DELAY = 20;

export type Quotas = ReturnType<typeof createQuotas>;

/**
 * Leases of this process on each limit, and their renewal: one call of the store at a time, for all
 * needs that arose meanwhile. Reserve before a request is sent, settle when it has ended.
 */
export function createQuotas({ store, holder, now, maxWait = MAX_WAIT }: QuotasOptions) {
  const accounts = new Accounts();
  let waiters: Waiter[] = [];
  let debtors: (() => void)[] = [];
  let flight: Promise<void> | null = null;
  let flyingSince = Number.POSITIVE_INFINITY;
  let returning: ReturnType<typeof setTimeout> | null = null;
  let failing = false;
  let closed = false;

  /**
   * Reserves the most that a request may use. Synchronous where enough is leased; else after one
   * call of the store. `null` where nothing limits it.
   *
   * @param wait longest wait, milliseconds.
   */
  function reserve(
    subjects: readonly LimitedSubject[],
    amounts: Amounts,
    wait: number,
  ): Reservation | LimitRefusal | null | Promise<Reservation | LimitRefusal> {
    const at = now();
    const meters: Meters[] = [];
    for (const subject of subjects) {
      const one = accounts.metersOf(subject, at);
      if (one.counters.length > 0 || one.slots !== null) meters.push(one);
    }
    if (meters.length === 0) return null;
    const decided = tryTake(meters, amounts, at) ?? refusalBy(meters, amounts, at);
    if (decided !== null) return decided;
    if (closed || isLate()) return unavailable(meters);
    return new Promise((resolve) => {
      const end = (result: Reservation | LimitRefusal) => {
        clearTimeout(timer);
        resolve(result);
      };
      const waiter: Waiter = { meters, amounts, end };
      const giveUp = () => {
        waiters = waiters.filter((one) => one !== waiter);
        end(unavailable(meters));
      };
      const timer = setTimeout(giveUp, Math.max(0, Math.min(wait, maxWait)));
      waiters.push(waiter);
      void ask();
    });
  }

  /**
   * Ends a reservation with the actual use. The unused part can be used again at once; use beyond
   * it is an overdraft, which counts whatever the ceiling. Resolves when the overdraft is on disk;
   * `null` where there is none. Never rejects.
   */
  function settle(reservation: Reservation, used: Amounts): Promise<void> | null {
    if (reservation.ended) return null;
    reservation.ended = true;
    let owes = false;
    for (const { counters, slots } of reservation.meters) {
      slots?.releaseSlot();
      for (const counter of counters) {
        const beyond = accounts.settle(
          counter,
          reservation.amounts[counter.measure],
          used[counter.measure],
          reservation.at,
        );
        if (beyond) owes = true;
        else if (counter.available > counter.keep) returnSoon();
      }
    }
    if (!owes) return null;
    const durable = new Promise<void>((resolve) => {
      debtors.push(resolve);
    });
    void ask();
    return durable;
  }

  /** Ends a reservation of which nothing was used: no call was made. */
  function releaseReservation(reservation: Reservation) {
    void settle(reservation, NOTHING);
  }

  /** Gives back idle amounts and renews leases. Call it about every second. */
  async function sweep() {
    await flight;
    await ask("sweep");
  }

  /**
   * Refuses from now on, and gives back all leases. Requests in flight may settle before it
   * resolves, not after.
   */
  async function close() {
    closed = true;
    if (flight === null) await ask("close");
    else {
      await flight;
      await close();
    }
  }

  function tryTake(meters: readonly Meters[], amounts: Amounts, at: number): Reservation | null {
    for (const { counters, slots } of meters) {
      for (const counter of counters) {
        counter.roll(at);
        if (counter.available < amounts[counter.measure]) return null;
      }
      if (slots !== null && slots.free(at) < 1) return null;
    }
    for (const { counters, slots } of meters) {
      for (const counter of counters) counter.take(amounts[counter.measure]);
      slots?.take();
    }
    return { meters, amounts, at, ended: false };
  }

  function isLate() {
    return flight !== null && performance.now() - flyingSince > maxWait;
  }

  function returnSoon() {
    if (returning !== null || closed) return;
    returning = setTimeout(() => {
      returning = null;
      void ask("return");
    }, RETURN_DELAY);
    returning.unref();
  }

  /** One call for everything that is needed now; later needs go with the next. */
  function ask(why: "request" | "return" | "sweep" | "close" = "request"): Promise<void> | null {
    if (flight !== null) return flight;
    const at = now();
    serve(at, false);
    const composed = composeLease(accounts, waiters, holder, at, why);
    const owing = debtors;
    debtors = [];
    if (composed === null) {
      resolveDebtors(owing);
      return null;
    }
    flyingSince = performance.now();
    flight = lease(composed).then((unknown) => {
      const isComplete = unknown !== "all" && unknown.size === 0;
      failing = !isComplete;
      if (isComplete) resolveDebtors(owing);
      else {
        debtors = [...owing, ...debtors];
        refuseWaiters(unknown);
      }
      land(unknown !== "all");
    });
    return flight;
  }

  /** Debts that the store refuses stay owed, and their requests keep waiting. */
  function resolveDebtors(owing: readonly (() => void)[]) {
    if (accounts.hasRefusedDebts) debtors = [...owing, ...debtors];
    else for (const resolve of owing) resolve();
  }

  /**
   * Gives the accounts whose figures are unknown: none after a success; `null` in it is a debt
   * alone. Never rejects.
   */
  async function lease(composed: ComposedLease): Promise<ReadonlySet<Account | null> | "all"> {
    const { terms, counters, slots } = composed;
    let leased: LimitLeased;
    try {
      leased = await store.lease({
        ...terms,
        counters: counters.map(({ row }) => row),
        slots: slots.map(({ row }) => row),
      });
    } catch (error) {
      const halves = isPermanent(error) ? halvesOf(composed) : null;
      if (halves === null) return fail(composed, error);
      // A refused figure must not keep the others from being leased.
      const [first, second] = [await lease(halves[0]), await lease(halves[1])];
      return first === "all" || second === "all" ? "all" : first.union(second);
    }
    const at = now();
    for (const [index, { row, account }] of counters.entries()) {
      const granted = leased.counters[index];
      if (granted !== undefined) account?.apply(row, granted, at);
    }
    for (const [index, { account }] of slots.entries()) {
      const granted = leased.slots[index];
      if (granted !== undefined) account.apply(granted, terms.until, at);
    }
    return NO_ACCOUNTS;
  }

  function fail(
    { counters, slots }: ComposedLease,
    error: unknown,
  ): ReadonlySet<Account | null> | "all" {
    const isRolledBack = error instanceof StoreUnavailableError && error.applied === "no";
    for (const { row, account, debt } of counters) {
      // It may be on disk already and is then counted twice, but never missing.
      if (debt !== null && isPermanent(error)) accounts.oweRefused(debt);
      else if (debt !== null) accounts.owe(debt);
      if (isRolledBack) account?.keepReturns(row);
    }
    if (isRolledBack) for (const { account, held } of slots) account.held = held;
    return isPermanent(error)
      ? new Set([...counters, ...slots].map(({ account }) => account))
      : "all";
  }

  function land(storeAnswered: boolean) {
    flight = null;
    serve(now(), storeAnswered);
    // After a failure the sweep or the next request calls again; a loop here would not end.
    if (storeAnswered && (waiters.length > 0 || debtors.length > 0)) void ask();
  }

  /** First come, first served. @param storeAnswered the store has just reported. */
  function serve(at: number, storeAnswered: boolean) {
    const served = waiters;
    if (served.length === 0) return;
    waiters = [];
    for (const waiter of served) {
      const result =
        tryTake(waiter.meters, waiter.amounts, at) ??
        (storeAnswered ? refusalBy(waiter.meters, waiter.amounts, at) : null);
      if (result === null) waiters.push(waiter);
      else waiter.end(result);
    }
  }

  /** Refuses those who wait for one of these. */
  function refuseWaiters(unknown: ReadonlySet<Account | null> | "all") {
    const isUnavailable = ({ counters, slots }: Meters) =>
      unknown === "all" ||
      counters.some((one) => unknown.has(one)) ||
      (slots !== null && unknown.has(slots));
    const rejected = waiters.filter(({ meters }) => meters.some(isUnavailable));
    waiters = waiters.filter(({ meters }) => !meters.some(isUnavailable));
    for (const { meters, end } of rejected) end(unavailable(meters));
  }

  return {
    /**
     * `unavailable`: the newest call of the store failed or is late; requests with limits are
     * refused.
     */
    get state(): "ok" | "unavailable" {
      return failing || isLate() ? "unavailable" : "ok";
    },
    /** The clock whose windows count, milliseconds since the epoch. */
    now,
    reserve,
    settle,
    releaseReservation,
    sweep,
    close,
  };
}

const NOTHING: Amounts = { requests: 0, tokens: 0, micro_usd: 0 };

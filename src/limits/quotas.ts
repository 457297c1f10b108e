import type { LimitLeased, LimitStore } from "./limit-store.ts";
import {
  type LimitedSubject,
  Accounts,
  amountOf,
  type Amounts,
  type Meters,
  refusalBy,
  unavailable,
  type LimitRefusal,
} from "./accounts.ts";
import { composeLease, isRefused, type ComposedLease } from "./compose-lease.ts";
import type { CounterAccount, SlotAccount } from "./counter-account.ts";

/**
 * The reservation of one request. End it once, by {@link Quotas.settle} or {@link Quotas.release}.
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

interface Waiter {
  readonly meters: readonly Meters[];
  readonly amounts: Amounts;
  readonly resolve: (result: Reservation | LimitRefusal) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

interface Debt {
  readonly resolve: () => void;
}

type Account = CounterAccount | SlotAccount;

const NO_ACCOUNTS: ReadonlySet<Account> = new Set();

const MAX_WAIT = 1_000;

/** Longest time after which what one process holds too much of goes back. Milliseconds. */
const RETURN_DELAY = 20;

/**
 * Leases of this process on each limit, and their renewal: one call of the store at a time, for
 * everything that is wanted meanwhile. Reserve before a request is sent, settle when it has ended.
 */
export class Quotas {
  readonly #store: LimitStore;
  readonly #holder: string;
  readonly #now: () => number;
  readonly #maxWait: number;
  readonly #accounts = new Accounts();
  #waiters: Waiter[] = [];
  #debtors: Debt[] = [];
  #flight: Promise<void> | null = null;
  #flyingSince = Number.POSITIVE_INFINITY;
  #returning: ReturnType<typeof setTimeout> | null = null;
  #failing = false;
  #closed = false;

  constructor({ store, holder, now, maxWait }: QuotasOptions) {
    this.#store = store;
    this.#holder = holder;
    this.#now = now;
    this.#maxWait = maxWait ?? MAX_WAIT;
  }

  /** The clock whose windows count, milliseconds since the epoch. */
  now(): number {
    return this.#now();
  }

  /**
   * `unavailable`: the newest call of the store failed or is late; requests with limits are
   * refused.
   */
  get state(): "ok" | "unavailable" {
    return this.#failing || this.#isLate() ? "unavailable" : "ok";
  }

  /**
   * Takes what a request may use. At once where enough is at hand; else after one call of the
   * store. `null` where nothing limits it.
   *
   * @param wait longest wait, milliseconds.
   */
  reserve(
    subjects: readonly LimitedSubject[],
    amounts: Amounts,
    wait: number,
  ): Reservation | LimitRefusal | null | Promise<Reservation | LimitRefusal> {
    const now = this.#now();
    const meters: Meters[] = [];
    for (const subject of subjects) {
      const one = this.#accounts.metersOf(subject, now);
      if (one.counters.length > 0 || one.slots !== null) meters.push(one);
    }
    if (meters.length === 0) return null;
    const decided = this.#tryTake(meters, amounts, now) ?? refusalBy(meters, amounts, now);
    if (decided !== null) return decided;
    if (this.#closed || this.#isLate()) return unavailable(meters);
    return new Promise((resolve) => {
      const give = (): void => {
        this.#waiters = this.#waiters.filter((one) => one !== waiter);
        resolve(unavailable(meters));
      };
      const timer = setTimeout(give, Math.max(0, Math.min(wait, this.#maxWait)));
      const waiter: Waiter = { meters, amounts, resolve, timer };
      this.#waiters.push(waiter);
      void this.#ask();
    });
  }

  /**
   * Ends a reservation with what was used. What was reserved and not used can be used again at
   * once; what was used beyond is an overdraft, which counts whatever the ceiling. Resolves when it
   * is on disk: at once where there is none. Never rejects.
   */
  settle(reservation: Reservation, used: Amounts): Promise<void> | null {
    if (reservation.ended) return null;
    reservation.ended = true;
    let owes = false;
    for (const { counters, slots } of reservation.meters) {
      slots?.release();
      for (const counter of counters) {
        const beyond = this.#accounts.settle(
          counter,
          amountOf(reservation.amounts, counter.measure),
          amountOf(used, counter.measure),
          reservation.at,
        );
        if (beyond) owes = true;
        else if (counter.available > counter.keep) this.#returnSoon();
      }
    }
    if (!owes) return null;
    const durable = new Promise<void>((resolve) => {
      this.#debtors.push({ resolve });
    });
    void this.#ask();
    return durable;
  }

  /** Ends a reservation of which nothing was used: no call was made. */
  release(reservation: Reservation): void {
    void this.settle(reservation, NOTHING);
  }

  /** Gives back idle amounts and renews leases. Call it about every second. */
  async sweep(): Promise<void> {
    await this.#flight;
    await this.#ask("sweep");
  }

  /**
   * Refuses from now on, and gives back all leases. Requests in flight may settle before it
   * resolves, not after.
   */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#flight !== null) await this.#flight;
    await this.#ask("close");
  }

  #tryTake(meters: readonly Meters[], amounts: Amounts, now: number): Reservation | null {
    for (const { counters, slots } of meters) {
      for (const counter of counters) {
        counter.roll(now);
        if (counter.available < amountOf(amounts, counter.measure)) return null;
      }
      if (slots !== null && slots.free(now) < 1) return null;
    }
    for (const { counters, slots } of meters) {
      for (const counter of counters) counter.take(amountOf(amounts, counter.measure));
      slots?.take();
    }
    return { meters, amounts, at: now, ended: false };
  }

  #isLate(): boolean {
    return this.#flight !== null && performance.now() - this.#flyingSince > this.#maxWait;
  }

  #returnSoon(): void {
    if (this.#returning !== null || this.#closed) return;
    this.#returning = setTimeout(() => {
      this.#returning = null;
      void this.#ask("return");
    }, RETURN_DELAY);
    this.#returning.unref();
  }

  /** One call for everything that is needed now; later needs go with the next. */
  #ask(why: "request" | "return" | "sweep" | "close" = "request"): Promise<void> | null {
    if (this.#flight !== null) return this.#flight;
    const now = this.#now();
    this.#serve(now, false);
    const composed = composeLease(this.#accounts, this.#waiters, this.#holder, now, why);
    const debtors = this.#debtors;
    this.#debtors = [];
    if (composed === null) {
      this.#resolve(debtors);
      return null;
    }
    this.#flyingSince = performance.now();
    this.#flight = this.#lease(composed).then((unknown) => {
      const isDone = unknown !== "all" && unknown.size === 0;
      this.#failing = !isDone;
      if (isDone) this.#resolve(debtors);
      else {
        this.#debtors = [...debtors, ...this.#debtors];
        this.#refuse(unknown);
      }
      this.#land(unknown !== "all");
    });
    return this.#flight;
  }

  /** Debts that the store refuses stay owed, and their requests keep waiting. */
  #resolve(debtors: readonly Debt[]): void {
    if (this.#accounts.hasRefusedDebts) this.#debtors = [...debtors, ...this.#debtors];
    else for (const { resolve } of debtors) resolve();
  }

  /** Gives the accounts whose figures are unknown: none after a success. Never rejects. */
  async #lease(composed: ComposedLease): Promise<ReadonlySet<Account | null> | "all"> {
    let leased: LimitLeased;
    try {
      leased = await this.#store.lease(composed.lease);
    } catch (error) {
      const halves = isRefused(error) ? composed.halves() : null;
      if (halves !== null) return this.#leaseApart(halves);
      const unknown = composed.failed(error);
      return isRefused(error) ? unknown : "all";
    }
    composed.apply(leased, this.#now());
    return NO_ACCOUNTS;
  }

  /** A refused figure must not keep the others from being leased. */
  async #leaseApart([one, other]: readonly [ComposedLease, ComposedLease]): Promise<
    ReadonlySet<Account | null> | "all"
  > {
    const [first, second] = [await this.#lease(one), await this.#lease(other)];
    return first === "all" || second === "all" ? "all" : new Set([...first, ...second]);
  }

  #land(answered: boolean): void {
    this.#flight = null;
    this.#serve(this.#now(), answered);
    // After a failure the sweep or the next request calls again; a loop here would not end.
    if (answered && (this.#waiters.length > 0 || this.#debtors.length > 0)) void this.#ask();
  }

  /** First come, first served. @param answered the store has just reported. */
  #serve(now: number, answered: boolean): void {
    const waiters = this.#waiters;
    if (waiters.length === 0) return;
    this.#waiters = [];
    for (const waiter of waiters) {
      const result =
        this.#tryTake(waiter.meters, waiter.amounts, now) ??
        (answered ? refusalBy(waiter.meters, waiter.amounts, now) : null);
      if (result === null) this.#waiters.push(waiter);
      else {
        clearTimeout(waiter.timer);
        waiter.resolve(result);
      }
    }
  }

  /** Refuses those who wait for one of these. */
  #refuse(unknown: ReadonlySet<Account | null> | "all"): void {
    const waiters = this.#waiters;
    const isMet = ({ counters, slots }: Meters): boolean =>
      unknown === "all" ||
      counters.some((one) => unknown.has(one)) ||
      (slots !== null && unknown.has(slots));
    this.#waiters = waiters.filter(({ meters }) => !meters.some(isMet));
    for (const { meters, resolve, timer } of waiters) {
      if (!meters.some(isMet)) continue;
      clearTimeout(timer);
      resolve(unavailable(meters));
    }
  }
}

const NOTHING: Amounts = { requests: 0, tokens: 0, microUsd: 0 };

import type { LimitMeasure, LimitWindow } from "../canon/limits.ts";
import type { CounterLease, CounterLeased, SlotsLeased } from "./limit-store.ts";
import { windowAt } from "./windows.ts";

/**
 * The part of a ceiling that one process may hold without having used it. The lease of a process
 * that dies is lost until the window ends, so the part is smaller for longer windows.
 */
const SHARES: Readonly<Record<LimitWindow, number>> = {
  minute: 16,
  hour: 64,
  day: 256,
  week: 512,
  month: 1_024,
};

/** A refill that follows faster requests twice as much, a slower one half. Milliseconds. */
const FAST_REFILL = 1_000;
const LEAST_FACTOR = 4;
const LARGEST_FACTOR = 4_096;

/** Amounts that another process gave back are seen after this time at the latest. Milliseconds. */
const REPORT_VALID_FOR = 250;

/** One ceiling of a subject. */
export interface CounterLimit {
  readonly measure: LimitMeasure;
  readonly window: LimitWindow;
  /** Of the window; absent: UTC. */
  readonly zone?: string | undefined;
  readonly ceiling: number;
}

/** One process's share of one counter. Every figure is a whole number. */
export class CounterAccount {
  readonly subject: string;
  readonly measure: LimitMeasure;
  readonly window: LimitWindow;
  readonly zone: string | undefined;
  ceiling: number;
  start = 0;
  end = 0;
  /** Leased and not reserved. */
  available = 0;
  /** To be given back with the next call. */
  returning = 0;
  /** As the store last reported, in this window. */
  used = 0;
  reportedAt = Number.NEGATIVE_INFINITY;
  touchedAt = 0;
  /** Reservations that are not settled, of any window. */
  open = 0;
  /** Sum of those of this window; much of it mostly comes back. */
  reserved = 0;
  #factor = LEAST_FACTOR;
  #refilledAt = Number.NEGATIVE_INFINITY;

  constructor(subject: string, { measure, window, zone, ceiling }: CounterLimit) {
    this.subject = subject;
    this.measure = measure;
    this.window = window;
    this.zone = zone;
    this.ceiling = ceiling;
  }

  /** Brings the account into the current window. The rest of another window is dropped. */
  roll(now: number): void {
    if (now >= this.start && now < this.end) return;
    ({ start: this.start, end: this.end } = windowAt(this.window, now, this.zone));
    this.available = 0;
    this.returning = 0;
    this.reserved = 0;
    this.used = 0;
    this.reportedAt = Number.NEGATIVE_INFINITY;
  }

  holds(at: number): boolean {
    return at >= this.start && at < this.end;
  }

  /** Units leased under another ceiling are returned first: the new one holds at once. */
  setCeiling(ceiling: number): void {
    if (ceiling === this.ceiling) return;
    this.ceiling = ceiling;
    this.returning += this.available;
    this.available = 0;
    this.reportedAt = Number.NEGATIVE_INFINITY;
  }

  take(amount: number): void {
    this.available -= amount;
    this.reserved += amount;
    this.open += 1;
  }

  /** The end of a reservation. @param at when it was made. */
  releaseAmount(amount: number, at: number): void {
    this.open -= 1;
    if (this.holds(at)) this.reserved -= amount;
  }

  /** As last reported, the counter cannot take this amount. */
  isKnownFull(amount: number, now: number): boolean {
    return now - this.reportedAt < REPORT_VALID_FOR && this.occupied + amount > this.ceiling;
  }

  /**
   * The amount would fit if requests in flight here used nothing of their reservations. Each still
   * counts as a request.
   */
  fitsWithoutReservations(amount: number): boolean {
    if (this.measure === "requests") return false;
    return this.occupied - this.reserved + amount <= this.ceiling;
  }

  /** Of all replicas, without the amounts that this process holds and no request has reserved. */
  get occupied(): number {
    return this.used - this.available - this.returning;
  }

  /** As far as this process knows; at least 0. */
  get remaining(): number {
    return Math.max(0, this.ceiling - this.occupied);
  }

  get keep(): number {
    return Math.floor(this.ceiling / SHARES[this.window]);
  }

  /**
   * Takes out the amount to give back: more than a fair share, or everything where the counter was
   * idle.
   */
  takeReturns(isIdle: boolean): number {
    const excess = isIdle ? this.available : Math.max(0, this.available - this.keep);
    const amount = this.returning + excess;
    this.available -= excess;
    this.returning = 0;
    return amount;
  }

  /** The give-back failed. Amounts of a window that is over are dropped. */
  keepReturns({ start, giveBack }: CounterLease): void {
    if (start === this.start) this.returning += giveBack;
  }

  /**
   * How much to request. @param lack need of waiting requests beyond the available amount. @param
   * amount of one of them.
   */
  leaseSize(lack: number, amount: number, now: number): number {
    const isFast = now - this.#refilledAt < FAST_REFILL;
    this.#factor = isFast
      ? Math.min(this.#factor * 2, LARGEST_FACTOR)
      : Math.max(this.#factor / 2, LEAST_FACTOR);
    this.#refilledAt = now;
    return Math.max(lack, Math.min(this.keep, this.#factor * amount));
  }

  /** An answer for a window that is over is ignored. */
  apply(requested: CounterLease, { used, granted }: CounterLeased, now: number): void {
    if (requested.start !== this.start) return;
    this.used = used;
    this.reportedAt = now;
    // The ceiling may have changed meanwhile: then this too goes back before anything is taken of
    // it.
    if (requested.ceiling === this.ceiling) this.available += granted;
    else this.returning += granted;
  }
}

/**
 * How long slots are held without renewal, milliseconds: those of a process that died come free
 * then.
 */
export const SLOT_LEASE = 20_000;

/** Renewed when less is left, milliseconds. */
const RENEW_BELOW = 15_000;

/** Slots that one process holds for requests in flight of one subject. */
export class SlotAccount {
  readonly subject: string;
  ceiling: number;
  held = 0;
  inUse = 0;
  others = 0;
  /** When the lease ends. */
  until = Number.NEGATIVE_INFINITY;
  reportedAt = Number.NEGATIVE_INFINITY;
  touchedAt = 0;

  constructor(subject: string, ceiling: number) {
    this.subject = subject;
    this.ceiling = ceiling;
  }

  setCeiling(ceiling: number): void {
    if (ceiling !== this.ceiling) this.reportedAt = Number.NEGATIVE_INFINITY;
    this.ceiling = ceiling;
  }

  /** Free slots. None where the lease is over, since others may have taken them. */
  free(now: number): number {
    return now < this.until
      ? Math.max(0, Math.min(this.held, this.ceiling - this.others) - this.inUse)
      : 0;
  }

  take(): void {
    this.inUse += 1;
  }

  releaseSlot(): void {
    this.inUse -= 1;
  }

  isKnownFull(now: number): boolean {
    return now - this.reportedAt < REPORT_VALID_FOR && this.inUse + this.others >= this.ceiling;
  }

  /** More slots than are in use and than a busy process may keep. */
  hasExcessSlots(isIdle: boolean): boolean {
    return this.held > this.inUse + (isIdle ? 0 : this.#share);
  }

  get #share(): number {
    return Math.floor(this.ceiling / 16);
  }

  isDue(now: number): boolean {
    return this.held > 0 && this.until - now < RENEW_BELOW;
  }

  /**
   * How many to request. Slots that are given back are gone from now on. @param demand requests
   * that wait for a slot.
   */
  requestSlots(demand: number, isIdle: boolean): number {
    // The held slots can be taken during the call: fewer must not be requested.
    if (demand > 0) return Math.max(this.held, this.inUse + Math.max(demand, this.#share));
    const target =
      this.inUse + (isIdle ? 0 : Math.min(this.#share, Math.max(0, this.held - this.inUse)));
    this.held = Math.min(this.held, target);
    return target;
  }

  apply({ held, others }: SlotsLeased, until: number, now: number): void {
    this.held = held;
    this.others = others;
    this.until = until;
    this.reportedAt = now;
  }
}

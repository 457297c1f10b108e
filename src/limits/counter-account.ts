import type { CounterLease, CounterLeased } from "./limit-store.ts";
import { windowEnd, windowStart, type LimitMeasure, type LimitWindow } from "./windows.ts";

/**
 * The part of a ceiling that one process may hold without having used it. What a process that dies held is lost until the window ends, so the part
 * is smaller for longer windows.
 */
const SHARES: Readonly<Record<LimitWindow, number>> = { minute: 16, hour: 64, day: 256, month: 1_024 };

/** A refill that follows faster requests twice as much, a slower one half. Milliseconds. */
const BRISK = 1_000;
const LEAST_FACTOR = 4;
const LARGEST_FACTOR = 4_096;

/** Amounts that another process gave back are seen after this time at the latest. Milliseconds. */
export const REPORT_VALID_FOR = 250;

/** What one process holds of one counter. Every figure is a whole number. */
export class CounterAccount {
  readonly subject: string;
  readonly measure: LimitMeasure;
  readonly window: LimitWindow;
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

  constructor(subject: string, measure: LimitMeasure, window: LimitWindow, ceiling: number) {
    this.subject = subject;
    this.measure = measure;
    this.window = window;
    this.ceiling = ceiling;
  }

  /** Brings the account into the window of the moment. What was left of another window is gone. */
  roll(now: number): void {
    if (now >= this.start && now < this.end) return;
    this.start = windowStart(this.window, now);
    this.end = windowEnd(this.window, this.start);
    this.available = 0;
    this.returning = 0;
    this.reserved = 0;
    this.used = 0;
    this.reportedAt = Number.NEGATIVE_INFINITY;
  }

  holds(at: number): boolean {
    return at >= this.start && at < this.end;
  }

  /** What was leased under another ceiling is given back first: the new one holds at once. */
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
  release(amount: number, at: number): void {
    this.open -= 1;
    if (this.holds(at)) this.reserved -= amount;
  }

  /** As last reported, the counter cannot take this amount. */
  isKnownFull(amount: number, now: number): boolean {
    return (
      now - this.reportedAt < REPORT_VALID_FOR && this.used - this.returning + amount - this.available > this.ceiling
    );
  }

  /** The amount would fit if requests in flight here used nothing of their reservations. Each still counts as a request. */
  mayComeFree(amount: number): boolean {
    if (this.measure === "requests") return false;
    return this.used - this.returning - this.reserved + amount - this.available <= this.ceiling;
  }

  /** As far as this process knows; at least 0. */
  get remaining(): number {
    return Math.max(0, this.ceiling - this.used + this.available + this.returning);
  }

  get keep(): number {
    return Math.floor(this.ceiling / SHARES[this.window]);
  }

  /** Takes out the amount to give back: more than a fair share, or everything where the counter was idle. */
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

  /** How much to request. @param lack need of waiting requests beyond the available amount. @param amount of one of them. */
  wanted(lack: number, amount: number, now: number): number {
    const brisk = now - this.#refilledAt < BRISK;
    this.#factor = brisk ? Math.min(this.#factor * 2, LARGEST_FACTOR) : Math.max(this.#factor / 2, LEAST_FACTOR);
    this.#refilledAt = now;
    return Math.max(lack, Math.min(this.keep, this.#factor * amount));
  }

  /** An answer for a window that is over means nothing. */
  apply(requested: CounterLease, { used, granted }: CounterLeased, now: number): void {
    if (requested.start !== this.start) return;
    this.used = used;
    this.reportedAt = now;
    // The ceiling may have changed meanwhile: then this too goes back before anything is taken of it.
    if (requested.ceiling === this.ceiling) this.available += granted;
    else this.returning += granted;
  }
}

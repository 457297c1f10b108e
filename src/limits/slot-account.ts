import type { SlotsLeased } from "./limit-store.ts";
import { REPORT_VALID_FOR } from "./counter-account.ts";

/** How long slots are held without renewal, milliseconds: those of a process that died come free then. */
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
    return now < this.until ? Math.max(0, Math.min(this.held, this.ceiling - this.others) - this.inUse) : 0;
  }

  take(): void {
    this.inUse += 1;
  }

  release(): void {
    this.inUse -= 1;
  }

  isKnownFull(now: number): boolean {
    return now - this.reportedAt < REPORT_VALID_FOR && this.inUse + this.others >= this.ceiling;
  }

  /** More slots than are in use and than a busy process may keep. */
  hasSurplus(isIdle: boolean): boolean {
    return this.held > this.inUse + (isIdle ? 0 : this.#share);
  }

  get #share(): number {
    return Math.floor(this.ceiling / 16);
  }

  isDue(now: number): boolean {
    return this.held > 0 && this.until - now < RENEW_BELOW;
  }

  /** How many to request. Slots that are given back are gone from now on. @param demand requests that wait for a slot. */
  takeWanted(demand: number, isIdle: boolean): number {
    // The held slots can be taken during the call: fewer must not be requested.
    if (demand > 0) return Math.max(this.held, this.inUse + Math.max(demand, this.#share));
    const wanted = this.inUse + (isIdle ? 0 : Math.min(this.#share, Math.max(0, this.held - this.inUse)));
    this.held = Math.min(this.held, wanted);
    return wanted;
  }

  apply({ held, others }: SlotsLeased, until: number, now: number): void {
    this.held = held;
    this.others = others;
    this.until = until;
    this.reportedAt = now;
  }
}

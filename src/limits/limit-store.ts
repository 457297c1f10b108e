import type { LimitMeasure, LimitWindow } from "../canon/limits.ts";

/** Larger numbers are not exact in JavaScript; figures of the store stop here. */
export const LARGEST_FIGURE = Number.MAX_SAFE_INTEGER;

/** One counter: subject, measure and period. */
export interface LimitCounter {
  /** `workspace:<id>` or `key:<public id>`. */
  readonly subject: string;
  readonly measure: LimitMeasure;
  readonly window: LimitWindow;
  /** First moment of the window, milliseconds since the epoch. */
  readonly start: number;
}

/**
 * Identifies a counter.
 *
 * @example counterId({ subject: "workspace:acme", measure: "tokens", window: "day", start: 0 })
 */
export function counterId({ subject, measure, window, start }: LimitCounter): string {
  return `${subject} ${measure} ${window} ${start}`;
}

/**
 * Request of one process to one counter, carried out in this order: `giveBack` is subtracted from
 * the use (never below 0), `overdraft` is added whatever the ceiling, then `want` is added as far
 * as it fits under the ceiling, and nothing of it where not even `need` fits. All are whole numbers
 * from 0 to 2^53 - 1.
 */
export interface CounterLease extends LimitCounter {
  readonly ceiling: number;
  readonly giveBack: number;
  readonly overdraft: number;
  /** 0: only `giveBack` and `overdraft` apply. */
  readonly need: number;
  /** At least `need`. */
  readonly want: number;
}

export interface CounterLeased {
  /** The use afterwards, with the granted amount and the leases of other processes. */
  readonly used: number;
  /** 0, or `need` to `want`. */
  readonly granted: number;
}

/**
 * A request of one process for slots for requests in flight of one subject. It holds afterwards as
 * many as it wants and the others leave, and never fewer than are in use. The same call takes,
 * renews and gives back.
 */
export interface SlotLease {
  readonly subject: string;
  readonly ceiling: number;
  /** Requests in flight in the calling process: their slots are kept even above the ceiling. */
  readonly inUse: number;
  /** At least `inUse`; 0 gives everything back. */
  readonly want: number;
}

export interface SlotsLeased {
  /** The slots of the calling process, until the lease ends. */
  readonly held: number;
  /** Units that other processes hold under a valid lease. */
  readonly others: number;
}

export interface LimitLease {
  /** A random id of the calling process; another one after a restart. */
  readonly holder: string;
  /**
   * The calling process's clock, milliseconds since the epoch: leases of slots that ended before
   * are over. Replicas must agree on the time to within some seconds, a small part of a lease.
   * Counters need no clock: their windows are named.
   */
  readonly now: number;
  /** When the leases of slots given here end. */
  readonly until: number;
  /** Each counter at most once. */
  readonly counters: readonly CounterLease[];
  /** Each subject at most once. */
  readonly slots: readonly SlotLease[];
}

/** In the order of the lease. */
export interface LimitLeased {
  readonly counters: readonly CounterLeased[];
  readonly slots: readonly SlotsLeased[];
}

/** A counter's current value. */
export interface LimitUse extends LimitCounter {
  /** Leased amounts that are not used yet included. */
  readonly used: number;
}

interface SlotUse {
  readonly subject: string;
  readonly held: number;
}

export interface LimitUsage {
  readonly counters: readonly LimitUse[];
  readonly slots: readonly SlotUse[];
}

/**
 * Use of limits, over all processes. Granted amounts count as used at once: a process that dies
 * with them has used them. Nothing here knows the ceilings for longer than a call: they are
 * in routes.yaml and on keys.
 */
export interface LimitStore {
  /**
   * One transaction, durable when it resolves. Counters are independent: a refusal by one does not
   * affect the others.
   *
   * Figures stop at 2^53 - 1.
   *
   * @throws {StoreUnavailableError} with `applied: "no"` nothing of it was done. Otherwise it may
   * have been, so amounts to give back must not be given back again. With `permanent` it fails
   * again, alone or with others.
   */
  lease(lease: LimitLease): Promise<LimitLeased>;
  /**
   * Counters of the windows that hold the moment, by subject, and the slots held then. @param now
   * milliseconds since the epoch.
   */
  read(now: number): Promise<LimitUsage>;
  /**
   * Forgets counters whose window is over for long (`KEPT`), and slots whose lease is over for as
   * long as those of minutes. Gives how many: fewer than `limit` counters where none is left to
   * forget.
   *
   * @param now milliseconds since the epoch. @param limit of counters, at least 1.
   */
  prune(now: number, limit: number): Promise<number>;
}

import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  LARGEST_FIGURE,
  type CounterLease,
  type CounterLeased,
  type LimitLease,
  type LimitLeased,
  type LimitUsage,
  type LimitUse,
  type SlotLease,
  type SlotsLeased,
} from "../../../limits/limit-store.ts";
import { LIMIT_MEASURES, LIMIT_WINDOWS } from "../../../canon/limits.ts";
import { KEPT, windowBounds } from "../../../limits/windows.ts";
import { readNumber, readText, type Row } from "../../rows.ts";
import type { Transaction } from "./transaction.ts";

/** The statements over `limit_counters` and `limit_slots`; runs in the worker. */
export class LimitTable {
  readonly #transaction: Transaction;
  readonly #adjust: StatementSync;
  readonly #grant: StatementSync;
  readonly #others: StatementSync;
  readonly #hold: StatementSync;
  readonly #leave: StatementSync;
  readonly #counters: StatementSync;
  readonly #slots: StatementSync;
  readonly #pruneCounters: StatementSync;
  readonly #pruneSlots: StatementSync;

  constructor(database: DatabaseSync, transaction: Transaction) {
    this.#transaction = transaction;
    this.#adjust = database.prepare(
      `INSERT INTO limit_counters (subject, measure, period, start, used) VALUES (?1, ?2, ?3, ?4, ?6)
       ON CONFLICT (subject, measure, period, start) DO UPDATE SET used = min(${LARGEST_FIGURE}, max(0, used - ?5) + ?6) RETURNING used`,
    );
    this.#grant = database.prepare(
      `UPDATE limit_counters SET used = used + min(?7, ?5 - used)
       WHERE subject = ?1 AND measure = ?2 AND period = ?3 AND start = ?4 AND used + ?6 <= ?5 RETURNING used`,
    );
    this.#others = database.prepare(
      "SELECT coalesce(sum(held), 0) AS held FROM limit_slots WHERE subject = ? AND holder <> ? AND until > ?",
    );
    this.#hold = database.prepare(
      `INSERT INTO limit_slots (subject, holder, held, until) VALUES (?, ?, ?, ?)
       ON CONFLICT (subject, holder) DO UPDATE SET held = excluded.held, until = excluded.until`,
    );
    this.#leave = database.prepare("DELETE FROM limit_slots WHERE subject = ? AND holder = ?");
    this.#counters = database.prepare(
      `SELECT subject, measure, period, start, used FROM limit_counters
       WHERE (start IN (?1, ?2) AND start = CASE period WHEN 'minute' THEN ?1 WHEN 'hour' THEN ?2 END)
         OR (period IN ('day', 'week', 'month') AND start > ?5 AND start <= ?6
           AND start > CASE period WHEN 'day' THEN ?3 WHEN 'week' THEN ?4 ELSE ?5 END)
       ORDER BY subject, measure, period, start`,
    );
    this.#slots = database.prepare(
      "SELECT subject, sum(held) AS held FROM limit_slots WHERE until > ? GROUP BY subject ORDER BY subject",
    );
    // The first condition is what the index by start is read with: minutes are forgotten first.
    this.#pruneCounters = database.prepare(
      `DELETE FROM limit_counters WHERE (subject, measure, period, start) IN (
         SELECT subject, measure, period, start FROM limit_counters WHERE start < max(?1, ?2, ?3, ?4, ?5)
           AND start < CASE period WHEN 'minute' THEN ?1 WHEN 'hour' THEN ?2 WHEN 'day' THEN ?3 WHEN 'week' THEN ?4 ELSE ?5 END
         LIMIT ?6)`,
    );
    this.#pruneSlots = database.prepare("DELETE FROM limit_slots WHERE until < ?");
  }

  lease({ holder, now, until, counters, slots }: LimitLease): LimitLeased {
    return this.#transaction.run(() => ({
      counters: counters.map((counter) => this.#leaseCounter(counter)),
      slots: slots.map((slot) => this.#leaseSlots(slot, holder, now, until)),
    }));
  }

  read(now: number): LimitUsage {
    return {
      counters: this.#counters.all(...windowBounds(now), now).map(toUse),
      slots: this.#slots
        .all(now)
        .map((row) => ({ subject: readText(row, "subject"), held: readNumber(row, "held") })),
    };
  }

  prune(now: number, limit: number): number {
    const cutoffs = LIMIT_WINDOWS.map((window) => now - KEPT[window]);
    return this.#transaction.run(
      () =>
        Number(this.#pruneCounters.run(...cutoffs, limit).changes) +
        Number(this.#pruneSlots.run(now - KEPT.minute).changes),
    );
  }

  #leaseCounter(lease: CounterLease): CounterLeased {
    const { subject, measure, window, start, ceiling, giveBack, overdraft, need, want } = lease;
    const adjusted = readNumber(
      this.#adjust.get(subject, measure, window, start, giveBack, overdraft) ?? {},
      "used",
    );
    if (need === 0) return { used: adjusted, granted: 0 };
    const row = this.#grant.get(subject, measure, window, start, ceiling, need, want);
    if (row === undefined) return { used: adjusted, granted: 0 };
    const used = readNumber(row, "used");
    return { used, granted: used - adjusted };
  }

  #leaseSlots(
    { subject, ceiling, inUse, want }: SlotLease,
    holder: string,
    now: number,
    until: number,
  ): SlotsLeased {
    const others = readNumber(this.#others.get(subject, holder, now) ?? {}, "held");
    const held = Math.max(inUse, Math.min(want, ceiling - others));
    if (held === 0) this.#leave.run(subject, holder);
    else this.#hold.run(subject, holder, held, until);
    return { held, others };
  }
}

function toUse(row: Row): LimitUse {
  const [measure, window] = [readText(row, "measure"), readText(row, "period")];
  const knownMeasure = LIMIT_MEASURES.find((one) => one === measure);
  const knownWindow = LIMIT_WINDOWS.find((one) => one === window);
  if (knownMeasure === undefined || knownWindow === undefined)
    throw new TypeError("limit_counters: an unknown measure or window");
  return {
    subject: readText(row, "subject"),
    measure: knownMeasure,
    window: knownWindow,
    start: readNumber(row, "start"),
    used: readNumber(row, "used"),
  };
}

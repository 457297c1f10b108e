import {
  LARGEST_FIGURE,
  type CounterLease,
  type CounterLeased,
  type LimitLease,
  type LimitLeased,
  type SlotLease,
  type SlotsLeased,
} from "../../../limits/limit-store.ts";
import { LIMIT_WINDOWS } from "../../../canon/limits.ts";
import { KEPT } from "../../../limits/windows.ts";
import { readNumber } from "../../rows.ts";
import type { Connection, Statements } from "./connection.ts";

const SQL = {
  adjust: `INSERT INTO limit_counters (subject, measure, period, start, used) VALUES (?1, ?2, ?3, ?4, ?6)
       ON CONFLICT (subject, measure, period, start) DO UPDATE SET used = min(${LARGEST_FIGURE}, max(0, used - ?5) + ?6) RETURNING used`,
  grant: `UPDATE limit_counters SET used = used + min(?7, ?5 - used)
       WHERE subject = ?1 AND measure = ?2 AND period = ?3 AND start = ?4 AND used + ?6 <= ?5 RETURNING used`,
  others:
    "SELECT coalesce(sum(held), 0) AS held FROM limit_slots WHERE subject = ? AND holder <> ? AND until > ?",
  hold: `INSERT INTO limit_slots (subject, holder, held, until) VALUES (?, ?, ?, ?)
       ON CONFLICT (subject, holder) DO UPDATE SET held = excluded.held, until = excluded.until`,
  leave: "DELETE FROM limit_slots WHERE subject = ? AND holder = ?",
  // The first condition is what the index by start is read with: minutes are forgotten first.
  pruneCounters: `DELETE FROM limit_counters WHERE (subject, measure, period, start) IN (
         SELECT subject, measure, period, start FROM limit_counters WHERE start < max(?1, ?2, ?3, ?4, ?5)
           AND start < CASE period WHEN 'minute' THEN ?1 WHEN 'hour' THEN ?2 WHEN 'day' THEN ?3 WHEN 'week' THEN ?4 ELSE ?5 END
         LIMIT ?6)`,
  pruneSlots: "DELETE FROM limit_slots WHERE until < ?",
};

/** The statements over `limit_counters` and `limit_slots`; runs in the worker. */
export class LimitTable {
  readonly #sql: Statements<typeof SQL>;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#sql = connection.prepare(SQL);
    this.#connection = connection;
  }

  lease({ holder, now, until, counters, slots }: LimitLease): LimitLeased {
    return this.#connection.transaction(() => ({
      counters: counters.map((counter) => this.#leaseCounter(counter)),
      slots: slots.map((slot) => this.#leaseSlots(slot, holder, now, until)),
    }));
  }

  prune(now: number, limit: number): number {
    const cutoffs = LIMIT_WINDOWS.map((window) => now - KEPT[window]);
    return this.#connection.transaction(
      () =>
        Number(this.#sql.pruneCounters.run(...cutoffs, limit).changes) +
        Number(this.#sql.pruneSlots.run(now - KEPT.minute).changes),
    );
  }

  #leaseCounter(lease: CounterLease): CounterLeased {
    const { subject, measure, window, start, ceiling, giveBack, overdraft, need, want } = lease;
    const adjusted = readNumber(
      this.#sql.adjust.get(subject, measure, window, start, giveBack, overdraft),
      "used",
    );
    if (need === 0) return { used: adjusted, granted: 0 };
    const row = this.#sql.grant.get(subject, measure, window, start, ceiling, need, want);
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
    const others = readNumber(this.#sql.others.get(subject, holder, now), "held");
    const held = Math.max(inUse, Math.min(want, ceiling - others));
    if (held === 0) this.#sql.leave.run(subject, holder);
    else this.#sql.hold.run(subject, holder, held, until);
    return { held, others };
  }
}

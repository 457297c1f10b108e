import { type LimitLease, type LimitLeased, type LimitStore } from "../../limits/limit-store.ts";
import { LIMIT_WINDOWS } from "../../canon/limits.ts";
import { KEPT } from "../../limits/windows.ts";
import { StatementFailure, TRY_AGAIN } from "./failure.ts";
import type { PostgresLink } from "./link.ts";
import type { Row } from "./pool.ts";
import { limitReads } from "../common-tables.ts";
import { readNumber } from "../rows.ts";

const LEASE = `
SELECT counters_leased, slots_leased
FROM signalbox.lease_limits($1, $2, $3, $4::text::json, $5::text::json)`;
/** Skips rows that a lease has locked: waiting for one while holding others could deadlock. */
const PRUNE = `
WITH old AS (
  SELECT subject, measure, period, start FROM signalbox.limit_counters
  WHERE start < greatest($1::bigint, $2, $3, $4, $5)
    AND start < CASE period WHEN 'minute' THEN $1::bigint WHEN 'hour' THEN $2 WHEN 'day' THEN $3
      WHEN 'week' THEN $4 ELSE $5 END
  LIMIT $6 FOR UPDATE SKIP LOCKED),
counters AS (
  DELETE FROM signalbox.limit_counters AS counter USING old
  WHERE counter.subject = old.subject AND counter.measure = old.measure AND counter.period = old.period
    AND counter.start = old.start RETURNING 1),
slots AS (DELETE FROM signalbox.limit_slots WHERE until < $1 RETURNING 1)
SELECT (SELECT count(*) FROM counters) + (SELECT count(*) FROM slots) AS count`;

/** Attempts of a lease that the server rolled back in favour of another transaction. */
const ATTEMPTS = 3;

/** Usage of limits. A lease is one statement: replicas wait for a row, not for each other. */
export function postgresLimits(link: PostgresLink): LimitStore {
  return {
    ...limitReads(link.runCommon),
    lease: (lease) => leaseLimits(link, lease),
    async prune(now, limit) {
      const cutoffs = LIMIT_WINDOWS.map((window) => Math.trunc(now) - KEPT[window]);
      return readNumber((await link.query(PRUNE, [...cutoffs, limit]))[0], "count");
    },
  };
}

async function leaseLimits(link: PostgresLink, lease: LimitLease): Promise<LimitLeased> {
  const counters = lease.counters.map(
    ({ subject, measure, window, start, ceiling, giveBack, overdraft, need, want }) => ({
      s: subject,
      m: measure,
      p: window,
      a: start,
      c: ceiling,
      g: giveBack,
      o: overdraft,
      n: need,
      w: want,
    }),
  );
  const slots = lease.slots.map(({ subject, ceiling, inUse, want }) => ({
    s: subject,
    c: ceiling,
    i: inUse,
    w: want,
  }));
  const times = [Math.trunc(lease.now), Math.trunc(lease.until)] as const;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const rows = await link.query(LEASE, [
        lease.holder,
        ...times,
        JSON.stringify(counters),
        JSON.stringify(slots),
      ]);
      const row = rows[0] ?? {};
      return {
        counters: readPairs(row, "counters_leased").map(([used, granted]) => ({ used, granted })),
        slots: readPairs(row, "slots_leased").map(([held, others]) => ({ held, others })),
      };
    } catch (error) {
      const again = error instanceof StatementFailure && TRY_AGAIN.includes(error.code ?? "");
      if (!again || attempt === ATTEMPTS) throw error;
    }
  }
}

function readPairs(row: Row, column: string): readonly (readonly [number, number])[] {
  const value = row[column];
  if (!Array.isArray(value)) throw new TypeError(`column ${column} holds no list`);
  return value.map((entry: unknown) => {
    const [first, second] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof first !== "number" || typeof second !== "number")
      throw new TypeError(`column ${column} holds no pairs`);
    return [first, second] as const;
  });
}

import {
  DuplicateKeyError,
  KeyNotActiveError,
  KeyRotatedError,
  type KeyStore,
} from "../../keys/key-store.ts";
import {
  KEY_COLUMNS,
  type KeyListener,
  keyReads,
  keyWatchers,
  limitReads,
} from "../common-tables.ts";
import { readBytes, readKeyRecord, readNumber, type Row } from "../rows.ts";
import { isUniqueViolation, isRetryable } from "./failure.ts";
import { oneAtATime, type PostgresLink } from "./link.ts";
import type { Pool } from "./pool.ts";
import type { LimitLease, LimitLeased, LimitStore } from "../../limits/limit-store.ts";
import { LIMIT_WINDOWS } from "../../canon/limits.ts";
import { RETENTION } from "../../limits/windows.ts";
import { randomUUID } from "node:crypto";
import { Increments, KEPT_MINUTES } from "../../governance/increments.ts";
import { batchCounter } from "../batch/batch-counter.ts";
import { readLines } from "../batch/batch-lines.ts";
import { batchesAfter, findBatches } from "./evidence/log.ts";
import type { EvidenceSealer } from "./evidence/sealer.ts";
import { policyLogOver } from "../policy-log.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";

const CREATE = `SELECT ${KEY_COLUMNS} FROM signalbox.add_key($1::text::jsonb)`;
const REVOKE = `UPDATE signalbox.keys SET status = 'revoked', revoked_at = $2 WHERE id = $1 AND status = 'active' RETURNING ${KEY_COLUMNS}`;
const CHANGE = `
UPDATE signalbox.keys SET scopes = $2::text::jsonb, owner = $3, workload = $4, labels = $5::text::jsonb, limits = $6
WHERE id = $1 AND status = 'active' RETURNING ${KEY_COLUMNS}`;
const ROTATE = `SELECT ${KEY_COLUMNS} FROM signalbox.rotate_key($1, $2::text::jsonb, $3)`;
const TOUCH = `
UPDATE signalbox.keys SET last_used_at = used.at
FROM (SELECT id, max(at) AS at FROM json_to_recordset($1::text::json) AS item (id text, at bigint) GROUP BY id) AS used
WHERE keys.id = used.id AND (keys.last_used_at IS NULL OR keys.last_used_at < used.at)`;

/** Keys; each change is one statement. Its rows are published before the change resolves. */
export function postgresKeys(link: PostgresLink, feed: KeyFeed): KeyStore {
  const reads = keyReads(link.runCommon);
  return {
    ...reads,
    async create(record) {
      feed.publish(
        await refusingDuplicate(record.id, link.query(CREATE, [JSON.stringify(record)])),
      );
    },
    async revoke(id, at) {
      const rows = await link.query(REVOKE, [id, at]);
      feed.publish(rows);
      return rows[0] === undefined ? await reads.get(id) : readKeyRecord(rows[0]);
    },
    async change(id, { scopes, owner, workload, labels, limits }) {
      const values = [JSON.stringify(scopes), owner, workload, JSON.stringify(labels)];
      const rows = await link.query(CHANGE, [
        id,
        ...values,
        limits === null ? null : JSON.stringify(limits),
      ]);
      feed.publish(rows);
      if (rows[0] !== undefined) return readKeyRecord(rows[0]);
      if ((await reads.get(id)) === null) return null;
      throw new KeyNotActiveError(id);
    },
    async rotate(id, replacement, expiresAt) {
      const change = link.query(ROTATE, [id, JSON.stringify(replacement), expiresAt]);
      const rows = await refusingDuplicate(replacement.id, change);
      if (rows[0] !== undefined && rows.length === 1) {
        const { status, replacedBy } = readKeyRecord(rows[0]);
        throw status === "active" && replacedBy !== null
          ? new KeyRotatedError(id)
          : new KeyNotActiveError(id);
      }
      feed.publish(rows);
      return rows[0] === undefined ? null : readKeyRecord(rows[0]);
    },
    async touch(uses) {
      if (uses.length > 0) await link.query(TOUCH, [JSON.stringify(uses)]);
    },
    watch: (listener) => feed.watch(listener),
  };
}

async function refusingDuplicate(
  id: string,
  change: Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  try {
    return await change;
  } catch (error) {
    throw isUniqueViolation(error) ? new DuplicateKeyError(id) : error;
  }
}

/** How often changes are read without a notification, milliseconds; the port has a second. */
const POLL = 500;

/** Keys read at a time. */
const FEED_PAGE = 2_000;

const CHANGED = `SELECT ${KEY_COLUMNS} FROM signalbox.keys WHERE version > $1 ORDER BY version LIMIT ${FEED_PAGE}`;

type KeyFeed = ReturnType<typeof keyFeed>;

/** Key changes of all replicas: read when notified, and by a poll in case that is lost. */
export function keyFeed(link: PostgresLink) {
  const watchers = keyWatchers();
  /** Newest published change by key: our own changes come twice, by statement and by reading. */
  const published = new Map<string, number>();
  let lastChange = 0;
  const read = oneAtATime(readChanges);
  let timer: ReturnType<typeof setInterval> | null = null;
  let listening: Pool | "starting" | null = null;
  let closed = false;

  /** Rows of keys as they now are. Nothing happens while there is no watcher. */
  function publish(rows: readonly Row[]) {
    if (timer === null) return;
    const fresh = rows
      .map((row) => ({ record: readKeyRecord(row), version: readNumber(row, "version") }))
      .filter(({ record, version }) => version > (published.get(record.id) ?? 0));
    for (const { record, version } of fresh) published.set(record.id, version);
    watchers.publish(fresh.map(({ record }) => record));
  }

  async function start() {
    timer ??= setInterval(poll, POLL);
    await read();
    listen();
  }

  function poll() {
    if (!link.available) return;
    listen();
    // The next poll retries; callers notice an outage by their own calls.
    read().catch(() => undefined);
  }

  async function readChanges() {
    for (;;) {
      const rows = await link.query(CHANGED, [lastChange]);
      if (closed) return;
      publish(rows);
      const last = rows.at(-1);
      if (last !== undefined) lastChange = readNumber(last, "version");
      if (rows.length < FEED_PAGE) return;
    }
  }

  function listen() {
    if (listening !== null || closed) return;
    listening = "starting";
    let ended = false;
    const end = () => {
      ended = true;
      if (listening === "starting") return;
      const formerPool = listening;
      listening = null;
      if (formerPool !== null) void formerPool.destroy();
    };
    link
      .listen("signalbox_keys", () => void read().catch(() => undefined), end)
      .then(
        async (pool) => {
          listening = ended || closed ? null : pool;
          if (listening === null) await pool.destroy();
        },
        () => (listening = null),
      );
  }

  return {
    watch(listener: KeyListener): Promise<() => void> {
      return watchers.add(listener, start);
    },
    publish,
    async close(): Promise<void> {
      closed = true;
      if (timer !== null) clearInterval(timer);
      if (listening !== null && listening !== "starting") await listening.destroy();
    },
  };
}

const LEASE = `
SELECT counters_leased, slots_leased
FROM signalbox.lease_limits($1, $2, $3, $4::text::json, $5::text::json)`;
/** Skips rows that a lease has locked: waiting for one while holding others could deadlock. */
const PRUNE_LIMITS = `
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
      const cutoffs = LIMIT_WINDOWS.map((window) => Math.trunc(now) - RETENTION[window]);
      return readNumber((await link.query(PRUNE_LIMITS, [...cutoffs, limit]))[0], "count");
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
      if (!isRetryable(error) || attempt === ATTEMPTS) throw error;
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

/** How often what was written goes into the log and is counted, milliseconds. */
const INTERVAL = 1_000;

/** Lease of the replica that folds counts, milliseconds; then another may take over. */
const TERM = 3_000;

/** Rounds skipped after a failure, so that another replica takes over. */
const ROUNDS_OUT = 4;

const CURSOR = "SELECT position FROM signalbox.roll_up_cursor";

/** One subquery each: a join could read all cells. */
const CELLS = `
SELECT wanted.place, (
    SELECT stored.cell FROM signalbox.roll_ups AS stored WHERE stored.workspace = wanted.workspace
      AND stored.facet = wanted.facet AND stored.hour = wanted.hour AND stored.labels = wanted.labels) AS cell
FROM ROWS FROM (json_to_recordset($1::text::json) AS (w text, f text, h bigint, l text))
  WITH ORDINALITY AS wanted (workspace, facet, hour, labels, place)`;

const FOLD = "SELECT signalbox.fold_roll_ups($1, $2, $3::text::json) AS folded";

const PRUNE_MINUTES = `
DELETE FROM signalbox.roll_ups
WHERE workspace IN (SELECT json_array_elements_text($1::text::json)) AND facet = 'minute' AND hour < $2`;

const CLAIM = `
UPDATE signalbox.roll_up_cursor SET folder = $1, until = signalbox.now_ms() + ${TERM}
WHERE folder = $1 OR until < signalbox.now_ms() RETURNING position`;

/**
 * Counts each row of the log once. A replica that finds the cursor moved starts behind it.
 *
 * @param works whether this process counts in the background; one that only reads does not
 */
export function rollUpFolder(link: PostgresLink, sealer: EvidenceSealer, works: () => boolean) {
  const id = randomUUID();
  const counter = batchCounter();
  let step: Promise<number | null> | null = null;
  let round: Promise<void> | null = null;
  let roundsOut = 0;
  /** Up to which minutes were pruned. */
  let newestMinute = 0;
  const timer: ReturnType<typeof setInterval> = setInterval(() => {
    round ??= background().finally(() => (round = null));
  }, INTERVAL);

  /** Resolves when every row up to `position` is counted. @throws {StoreUnavailableError} */
  async function foldTo(position: number) {
    let folded: number | null = readNumber((await link.query(CURSOR))[0], "position");
    while (folded !== null && folded < position) folded = await stepOnce();
  }

  /** Resolves when everything written before is counted. @throws {StoreUnavailableError} */
  async function foldAll() {
    await foldTo((await sealer.seal()).position);
  }

  async function background() {
    if (!works() || !link.available) return;
    if (roundsOut > 0) {
      roundsOut -= 1;
      return;
    }
    try {
      if ((await link.query(CLAIM, [id]))[0] !== undefined) await foldAll();
    } catch {
      roundsOut = ROUNDS_OUT;
    }
  }

  /** One page at a time. @returns up to which position rows are counted; `null`: nothing left */
  function stepOnce(): Promise<number | null> {
    step ??= fold().finally(() => (step = null));
    return step;
  }

  async function fold(): Promise<number | null> {
    const from = readNumber((await link.query(CURSOR))[0], "position");
    const batches = await batchesAfter(link, from);
    const to = batches.at(-1)?.last;
    if (to === undefined) return null;
    const increments = new Increments();
    const earlier = counter.count(
      batches.flatMap((batch) => [...readLines(batch)]),
      increments,
    );
    for (const requestId of earlier.keys()) {
      for (const batch of await findBatches(link, requestId, ["decision"]))
        counter.countEarlier(batch, earlier, increments);
    }
    const entries = increments.entries();
    const positions = entries.map(({ workspace, facet, hour, labels }) => ({
      w: workspace ?? "",
      f: facet,
      h: hour,
      l: labels,
    }));
    for (const row of await link.query(CELLS, [JSON.stringify(positions)])) {
      if (row.cell !== null)
        entries[readNumber(row, "place") - 1]?.cell.addEncoded(readBytes(row, "cell"));
    }
    const cells = entries.map(({ cell }, index) => ({
      ...positions[index],
      c: Buffer.from(cell.encode()).toString("base64"),
    }));
    const folded = (await link.query(FOLD, [from, to, JSON.stringify(cells)]))[0]?.folded;
    const newest = increments.newestMinute();
    if (newest > newestMinute) {
      newestMinute = newest;
      const workspaces = new Set(positions.map(({ w }) => w));
      // A separate statement: a server without this privilege must still count.
      await link
        .query(PRUNE_MINUTES, [JSON.stringify([...workspaces]), newest - KEPT_MINUTES])
        .catch(() => []);
    }
    return folded === true ? to : from;
  }

  return {
    foldTo,
    foldAll,
    async close(): Promise<void> {
      clearInterval(timer);
      await round;
    },
  };
}

const APPEND = "SELECT signalbox.append_policy_log($1, $2, $3::text::json) AS appended";
const IS_KEPT = "SELECT 1 AS kept FROM signalbox.policy_contents WHERE digest = $1";
const KEEP = `
INSERT INTO signalbox.policy_contents (digest, policy, description, module) VALUES ($1, $2, $3, $4)
ON CONFLICT (digest) DO NOTHING`;
/** The policy log. An append is never retried here: a lost answer may have succeeded. */
export function postgresPolicyLog(link: PostgresLink): PolicyLogStore {
  return policyLogOver(link.runCommon, {
    async append({ position, hash }, rows) {
      try {
        const [row] = await link.query(APPEND, [position, hash, JSON.stringify(rows)]);
        return row?.appended === true;
      } catch (error) {
        // The position is taken by a row that was added without the function and its lock.
        if (isUniqueViolation(error)) return false;
        throw error;
      }
    },
    async keep({ policy, digest, description, module }) {
      // A start keeps the same contents as the last one, and a module can be large.
      if ((await link.query(IS_KEPT, [digest])).length > 0) return;
      await link.query(KEEP, [digest, policy, description, module]);
    },
  });
}

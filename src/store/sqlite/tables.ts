import type { KeyGrants, KeyRecord, KeyUse } from "../../keys/key-store.ts";
import { COMMON_SQL, KEY_COLUMNS } from "../common-tables.ts";
import { readBytes, readKeyRecord, readLink, readNumber } from "../rows.ts";
import { isUniqueViolation, KeyRefusal } from "./sqlite-failure.ts";
import type { Connection } from "./connection.ts";
import {
  type CounterLease,
  type CounterLeased,
  LARGEST_FIGURE,
  type LimitLease,
  type LimitLeased,
  type SlotLease,
  type SlotsLeased,
} from "../../limits/limit-store.ts";
import { LIMIT_WINDOWS } from "../../canon/limits.ts";
import { RETENTION } from "../../limits/windows.ts";
import { Increments, KEPT_MINUTES } from "../../governance/increments.ts";
import { batchCounter, type CountedRecord } from "../batch/batch-counter.ts";
import { type NewRecord, readLines } from "../batch/batch-lines.ts";
import type { BatchTable } from "./evidence-table.ts";
import type { ChainLink } from "../../evidence/chain.ts";
import { refuseUnchained } from "../policy-log.ts";
import type { PolicyLogRow } from "../../lifecycle/records.ts";
import type { StoredContent } from "../../canon/policy.ts";

/** Taken inside the write transaction, so that numbers rise in the order of commits. */
const NEXT_VERSION = "(SELECT coalesce(max(version), 0) + 1 FROM keys)";

const KEY_SQL = {
  insert: `INSERT INTO keys (${KEY_COLUMNS}) VALUES (:id, :digest, :workspace, :scopes, :owner, :environment, :workload,
    :labels, :expiresAt, :createdAt, :createdBy, :lastUsedAt, :rotatedFrom, :replacedBy, :status, :revokedAt, :exchange,
    :limits, :lineage, :name, ${NEXT_VERSION})`,
  get: COMMON_SQL["keys.get"],
  revoke: `UPDATE keys SET status = 'revoked', revoked_at = ?, version = ${NEXT_VERSION} WHERE id = ? AND status = 'active'`,
  change: `UPDATE keys SET scopes = ?, owner = ?, workload = ?, labels = ?, limits = ?, version = ${NEXT_VERSION} WHERE id = ? AND status = 'active'`,
  replace: `UPDATE keys SET replaced_by = ?, expires_at = min(expires_at, ?), version = ${NEXT_VERSION} WHERE id = ?`,
  touch:
    "UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
  changedSince: `SELECT ${KEY_COLUMNS} FROM keys WHERE version > ? ORDER BY version`,
};

/**
 * The statements over the `keys` table; runs in the worker.
 *
 * @param changed called after each change of a key, before the call returns.
 */
export function keyTable(connection: Connection, changed: () => void) {
  const sql = connection.prepare(KEY_SQL);

  function get(id: string): KeyRecord | null {
    const row = sql.get.get(id);
    return row === undefined ? null : readKeyRecord(row);
  }

  function add(record: KeyRecord) {
    const { scopes, labels, exchange, limits } = record;
    try {
      sql.insert.run({
        ...record,
        scopes: JSON.stringify(scopes),
        labels: JSON.stringify(labels),
        exchange: jsonOrNull(exchange),
        limits: jsonOrNull(limits),
      });
    } catch (error) {
      throw isUniqueViolation(error) ? new KeyRefusal("duplicate", record.id) : error;
    }
  }

  return {
    /** @throws {KeyRefusal} where the id exists */
    create(record: KeyRecord): void {
      connection.transaction(() => add(record));
      changed();
    },
    revoke(id: string, at: number): KeyRecord | null {
      connection.transaction(() => sql.revoke.run(at, id));
      changed();
      return get(id);
    },
    /** `null`: no such key. @throws {KeyRefusal} */
    change(id: string, grants: KeyGrants): KeyRecord | null {
      const { scopes, owner, workload, labels, limits } = grants;
      const values = [
        JSON.stringify(scopes),
        owner,
        workload,
        JSON.stringify(labels),
        jsonOrNull(limits),
      ];
      const { changes } = connection.transaction(() => sql.change.run(...values, id));
      const record = get(id);
      if (record !== null && changes === 0) throw new KeyRefusal("not_active", id);
      changed();
      return record;
    },
    /** The replaced key; `null`: no such key. @throws {KeyRefusal} */
    rotate(id: string, replacement: KeyRecord, expiresAt: number): KeyRecord | null {
      const rotated = connection.transaction(() => {
        const previous = get(id);
        if (previous === null) return null;
        if (previous.status !== "active") throw new KeyRefusal("not_active", id);
        // The write transaction orders rotations of one key by all processes.
        if (previous.replacedBy !== null) throw new KeyRefusal("rotated", id);
        if (previous.expiresAt <= replacement.createdAt) throw new KeyRefusal("not_active", id);
        const { scopes, owner, workload, labels, limits } = previous;
        add({ ...replacement, scopes, owner, workload, labels, limits });
        sql.replace.run(replacement.id, expiresAt, id);
        return {
          ...previous,
          replacedBy: replacement.id,
          expiresAt: Math.min(previous.expiresAt, expiresAt),
        };
      });
      changed();
      return rotated;
    },
    touch(uses: readonly KeyUse[]): void {
      if (uses.length === 0) return;
      connection.transaction(() => {
        for (const use of uses) sql.touch.run(use.at, use.id, use.at);
      });
    },
    /** Keys changed after `version`, with the version to read on from. */
    changedSince(version: number): {
      readonly records: readonly KeyRecord[];
      readonly version: number;
    } {
      const rows = sql.changedSince.all(version);
      const last = rows.at(-1);
      return {
        records: rows.map(readKeyRecord),
        version: last === undefined ? version : readNumber(last, "version"),
      };
    },
  };
}

function jsonOrNull(value: object | null) {
  return value === null ? null : JSON.stringify(value);
}

const LIMIT_SQL = {
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
export function limitTable(connection: Connection) {
  const sql = connection.prepare(LIMIT_SQL);

  function leaseCounter(lease: CounterLease): CounterLeased {
    const { subject, measure, window, start, ceiling, giveBack, overdraft, need, want } = lease;
    const adjusted = readNumber(
      sql.adjust.get(subject, measure, window, start, giveBack, overdraft),
      "used",
    );
    if (need === 0) return { used: adjusted, granted: 0 };
    const row = sql.grant.get(subject, measure, window, start, ceiling, need, want);
    if (row === undefined) return { used: adjusted, granted: 0 };
    const used = readNumber(row, "used");
    return { used, granted: used - adjusted };
  }

  function leaseSlots(
    { subject, ceiling, inUse, want }: SlotLease,
    holder: string,
    now: number,
    until: number,
  ): SlotsLeased {
    const others = readNumber(sql.others.get(subject, holder, now), "held");
    const held = Math.max(inUse, Math.min(want, ceiling - others));
    if (held === 0) sql.leave.run(subject, holder);
    else sql.hold.run(subject, holder, held, until);
    return { held, others };
  }

  return {
    lease({ holder, now, until, counters, slots }: LimitLease): LimitLeased {
      return connection.transaction(() => ({
        counters: counters.map(leaseCounter),
        slots: slots.map((slot) => leaseSlots(slot, holder, now, until)),
      }));
    },
    prune(now: number, limit: number): number {
      const cutoffs = LIMIT_WINDOWS.map((window) => now - RETENTION[window]);
      return connection.transaction(
        () =>
          Number(sql.pruneCounters.run(...cutoffs, limit).changes) +
          Number(sql.pruneSlots.run(now - RETENTION.minute).changes),
      );
    },
  };
}

const ROLL_UP_SQL = {
  checkpoint: "SELECT position FROM evidence_checkpoint",
  move: "UPDATE evidence_checkpoint SET position = ?",
  get: "SELECT cell FROM roll_ups WHERE workspace = ? AND facet = ? AND hour = ? AND labels = ?",
  put: "INSERT INTO roll_ups (workspace, facet, hour, labels, cell) VALUES (?, ?, ?, ?, ?) ON CONFLICT (workspace, facet, hour, labels) DO UPDATE SET cell = excluded.cell",
  prune: "DELETE FROM roll_ups WHERE workspace = ? AND facet = 'minute' AND hour < ?",
};

/** Hourly counts: cells up to the checkpoint, and in memory what is to be added to them. */
export function rollUpTable(connection: Connection, log: BatchTable) {
  let counter = batchCounter();
  let increments = new Increments();
  /** Position of the checkpoint that the increments follow; `null` where nothing is counted. */
  let base: number | null = null;
  /** Position up to which the increments count. */
  let countedTo = 0;
  /** Up to which minutes were pruned. */
  let newestMinute = 0;
  /** Written and not counted, with the position of the last of each commit. */
  let uncounted: { readonly last: number; readonly records: readonly NewRecord[] }[] = [];
  const sql = connection.prepare(ROLL_UP_SQL);

  /** Adds to the cells what they lack. @param least position that is enough; absent: the end */
  function write(least = Number.POSITIVE_INFINITY) {
    const newest = log.head().position;
    if (readNumber(sql.checkpoint.get(), "position") >= Math.min(least, newest)) return;
    try {
      countAppended();
      while (countPage());
      const isWritten = connection.transaction(writeCells);
      if (isWritten) {
        base = countedTo;
        increments = new Increments();
        return;
      }
    } catch (error) {
      reset();
      throw error;
    }
    // Another process has written the same counts.
    reset();
    write(least);
  }

  /** False where the log may have records that were not appended through this table. */
  function countAppended(): boolean {
    let isComplete = false;
    begin();
    for (const { last, records } of uncounted.splice(0)) {
      isComplete = last - records.length === countedTo;
      if (!isComplete) continue;
      countRecords(records);
      countedTo = last;
    }
    return isComplete;
  }

  function begin() {
    base ??= countedTo = readNumber(sql.checkpoint.get(), "position");
  }

  /** Whether there was anything to count. */
  function countPage(): boolean {
    begin();
    const batches = log.after(countedTo);
    const end = batches.at(-1)?.last;
    if (end === undefined) return false;
    for (const batch of batches) countRecords(readLines(batch));
    countedTo = end;
    return true;
  }

  function countRecords(records: Iterable<CountedRecord>) {
    const earlier = counter.count(records, increments);
    for (const requestId of earlier.keys()) {
      for (const batch of log.find(requestId, ["decision"])) {
        counter.countEarlier(batch, earlier, increments);
      }
    }
  }

  /** Whether the checkpoint is still the one that the increments follow. */
  function writeCells(): boolean {
    if (readNumber(sql.checkpoint.get(), "position") !== base) return false;
    for (const { workspace, facet, hour, labels, cell } of increments.entries()) {
      const stored = sql.get.get(workspace ?? "", facet, hour, labels);
      if (stored !== undefined) cell.addEncoded(readBytes(stored, "cell"));
      sql.put.run(workspace ?? "", facet, hour, labels, cell.encode());
    }
    pruneMinutes();
    sql.move.run(countedTo);
    return true;
  }

  function pruneMinutes() {
    const newest = increments.newestMinute();
    if (newest <= newestMinute) return;
    newestMinute = newest;
    const workspaces = new Set(increments.entries().map(({ workspace }) => workspace ?? ""));
    for (const workspace of workspaces) sql.prune.run(workspace, newest - KEPT_MINUTES);
  }

  function reset() {
    counter = batchCounter();
    increments = new Increments();
    base = null;
  }

  return {
    /** Keeps records for {@link count}: reading them back takes the thread 8 µs a request. */
    appended(records: readonly NewRecord[], last: number): void {
      uncounted.push({ last, records });
    },
    /** Counts appended records, or a page of what the log has. Call it after a reply. */
    count(): void {
      try {
        if (!countAppended()) countPage();
      } catch {
        // Unreadable just now. Everything after the checkpoint is counted again.
        reset();
      }
    },
    write,
  };
}

const POLICY_SQL = {
  newest: COMMON_SQL["policyLog.head"],
  insert: "INSERT INTO policy_log (position, previous, hash, record) VALUES (?, ?, ?, ?)",
  // Node 22 binds an array of no bytes as NULL.
  keep: "INSERT INTO policy_contents (digest, policy, description, module) VALUES (?, ?, ?, coalesce(?, zeroblob(0))) ON CONFLICT (digest) DO NOTHING",
};

/** The statements over `policy_log` and `policy_contents`; runs in the worker. */
export function policyLogTable(connection: Connection) {
  const sql = connection.prepare(POLICY_SQL);

  return {
    /**
     * `false` where `expected` is not the head. The head is read under the write lock, so no other
     * process can add between the two.
     *
     * @throws {RangeError} for rows that do not follow: a row that did not verify would end the log
     * for every reader, for ever
     */
    append(expected: ChainLink, rows: readonly PolicyLogRow[]): boolean {
      refuseUnchained(expected, rows);
      return connection.transaction(() => {
        const { position, hash } = readLink(sql.newest.get());
        if (position !== expected.position || hash !== expected.hash) return false;
        for (const row of rows) sql.insert.run(row.position, row.previous, row.hash, row.record);
        return true;
      });
    },
    /** The first content under a digest stays. */
    keep({ digest, policy, description, module }: StoredContent): void {
      sql.keep.run(digest, policy, description, module);
    },
  };
}

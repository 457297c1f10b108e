import type { ChainKind, ChainLink } from "../../evidence/chain.ts";
import {
  type EvidenceAnchor,
  type EvidenceProcess,
  LOST_IS_LISTED,
} from "../../evidence/evidence-store.ts";
import {
  type NewRecord,
  type StoredBatch,
  readRows,
  sealBatch,
  takeKinds,
} from "../batch/batch-lines.ts";
import type { Appended } from "../evidence-queue.ts";
import {
  readAbandoned,
  readAnchor,
  readBatch,
  readLink,
  readNumber,
  readText,
  type Row,
} from "../rows.ts";
import { unknownRecord } from "../stored-evidence.ts";
import type { Connection } from "./connection.ts";

/**
 * The log as batches: a row holds many records as lines (`batch/batch-lines.ts`); `lowest` and
 * `highest` are the smallest and largest of their request ids, by which look-ups find it. Columns
 * that look-ups read stand before the records: SQLite then reads no other page for them.
 *
 * `evidence_requests` has the requests that run, each with the first position of its decision's
 * batch, in one tree of a few pages: every commit writes them. `evidence_checkpoint` is the
 * position up to which `roll_ups` (counts) are written; what follows it is counted again after a
 * crash. `evidence_start` is where the log begins: it moves with every step of a prune, whose
 * anchor is written first, so that an interrupted prune leaves a log that verifies.
 */
export const BATCHES = `
CREATE TABLE evidence_batches (
  last INTEGER PRIMARY KEY,
  first INTEGER NOT NULL CHECK (first >= 1 AND first <= last),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  lowest TEXT NOT NULL,
  highest TEXT NOT NULL,
  workspaces TEXT NOT NULL,
  records BLOB NOT NULL
) STRICT;
CREATE INDEX evidence_batches_by_highest ON evidence_batches (highest, lowest);
CREATE TABLE evidence_requests (
  request_id TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  process INTEGER NOT NULL,
  workspace TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER evidence_never_changes BEFORE UPDATE ON evidence_batches
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
CREATE TRIGGER evidence_is_kept BEFORE DELETE ON evidence_batches
  WHEN old.last > coalesce((SELECT max(position) FROM evidence_anchors), 0)
    OR old.last <> (SELECT min(last) FROM evidence_batches)
    OR EXISTS (SELECT 1 FROM evidence_requests WHERE position BETWEEN old.first AND old.last)
  BEGIN SELECT RAISE(ABORT, 'evidence is only pruned from its beginning up to an anchor'); END;
CREATE TRIGGER evidence_is_counted BEFORE DELETE ON evidence_batches
  WHEN old.last > (SELECT position FROM evidence_checkpoint)
  BEGIN SELECT RAISE(ABORT, 'evidence is counted before it is deleted'); END;
CREATE TRIGGER evidence_has_no_gaps BEFORE INSERT ON evidence_batches
  WHEN new.first <> 1 + coalesce((SELECT max(last) FROM evidence_batches), (SELECT position FROM evidence_start), 0)
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added at its end'); END;
CREATE TRIGGER evidence_anchors_are_true BEFORE INSERT ON evidence_anchors
  WHEN new.hash IS NOT (SELECT hash FROM evidence_batches WHERE last = new.position)
  BEGIN SELECT RAISE(ABORT, 'an anchor has the hash of its row'); END;
`;

const OF_WORKSPACE = "(? IS NULL OR EXISTS (SELECT 1 FROM json_each(workspaces) WHERE value = ?))";

/** Stored bytes of records read at a time: writing waits for a few milliseconds at most. */
const PAGE = 64 * 1024;

export const BATCH_SQL = {
  newest: "SELECT last AS position, hash FROM evidence_batches ORDER BY last DESC LIMIT 1",
  start: "SELECT position, hash FROM evidence_start",
  insert: "INSERT INTO evidence_batches VALUES (?, ?, ?, ?, ?, ?, ?)",
  after: "SELECT * FROM evidence_batches WHERE last > ? ORDER BY last",
  before: `SELECT * FROM evidence_batches WHERE last < ? AND last > ? AND ${OF_WORKSPACE} ORDER BY last DESC`,
  position: "SELECT last FROM evidence_batches WHERE highest >= ? ORDER BY highest, last LIMIT 1",
  range: `SELECT batch.* FROM evidence_batches AS batch JOIN (
         SELECT last, highest FROM evidence_batches WHERE highest >= ? AND lowest <= ?) AS found ON found.last = batch.last
       ORDER BY found.highest, found.last`,
};

export type BatchTable = ReturnType<typeof batchTable>;

/** The batches of the log; runs in the worker. */
export function batchTable(connection: Connection) {
  const sql = connection.prepare(BATCH_SQL);

  /** The newest row of any process; after a prune of everything, the row that it ended at. */
  function head() {
    return readLink(sql.newest.get() ?? sql.start.get());
  }

  return {
    head,
    insert({ last, first, hash, lowest, highest, workspaces, records }: StoredBatch): void {
      sql.insert.run(last, first, hash, lowest, highest, JSON.stringify(workspaces), records);
    },
    /** Batches after a position, in order. */
    after(position: number): readonly StoredBatch[] {
      return pageOf(sql.after.iterate(position));
    },
    /**
     * Batches with a last position between the two, the newest first. @param workspace `null`: any
     */
    before(before: number, after: number, workspace: string | null): readonly StoredBatch[] {
      return pageOf(sql.before.iterate(before, after, workspace, workspace));
    },
    /** Batches of a request. @param kinds wanted: an absent one is searched to the end */
    find(requestId: string, kinds: readonly ChainKind[]): readonly StoredBatch[] {
      const remaining = new Set(kinds);
      const found: StoredBatch[] = [];
      for (const row of sql.range.iterate(requestId, requestId)) {
        const batch = readBatch(row);
        if (takeKinds(batch, requestId, remaining)) found.push(batch);
        if (remaining.size === 0) break;
      }
      return found;
    },
    /** See {@link SearchedLog.positionOf}. */
    positionOf(requestId: string): number {
      const row = sql.position.get(requestId);
      return row === undefined ? head().position : readNumber(row, "last");
    },
  };
}

function pageOf(rows: Iterable<Row>): readonly StoredBatch[] {
  const batches: StoredBatch[] = [];
  let bytes = 0;
  for (const row of rows) {
    const batch = readBatch(row);
    batches.push(batch);
    bytes += batch.records.length;
    if (bytes >= PAGE) break;
  }
  return batches;
}

/** How often a process renews its lease, milliseconds. */
const RENEWAL = 5_000;

/** A process with an older lease is dead: its running requests read `unknown`. Milliseconds. */
const LEASE = 20_000;

/** Requests of dead processes that a reader learns of; others read as running for some seconds. */
const MOST_ABANDONED = 10_000;

/** Ended requests that are remembered, at most twice as many: a lost batch comes again. */
const REMEMBERED = 10_000;

interface EvidenceParts {
  readonly connection: Connection;
  readonly batches: BatchTable;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called after each commit with its records and the newest row. */
  readonly appended: (records: readonly NewRecord[], head: ChainLink) => void;
  /** Counts the rows up to a position: the counts outlive the rows. */
  readonly countTo: (position: number) => void;
}

const EVIDENCE_SQL = {
  // WHERE: without it, ON would belong to a join.
  begin: `INSERT INTO evidence_requests (position, process, request_id, workspace)
       SELECT ?1, ?2, value ->> 0, value ->> 1 FROM json_each(?3) WHERE true
       ON CONFLICT DO NOTHING RETURNING request_id`,
  running: "SELECT request_id FROM evidence_requests WHERE request_id = ?",
  end: "DELETE FROM evidence_requests WHERE request_id IN (SELECT value FROM json_each(?)) RETURNING request_id, workspace",
  open: "SELECT request_id FROM evidence_requests",
  abandoned: `SELECT request.request_id, holder.seen_at FROM evidence_requests AS request
       JOIN processes AS holder ON request.process = holder.id
       WHERE holder.ended_at IS NOT NULL OR holder.seen_at < ? ORDER BY request.position LIMIT ?`,
  startProcess: "INSERT INTO processes (started_at, seen_at) VALUES (?, ?)",
  renew: "UPDATE processes SET seen_at = ? WHERE id = ?",
  endProcess: "UPDATE processes SET ended_at = ?, seen_at = ? WHERE id = ?",
  processes:
    "SELECT started_at, seen_at FROM processes WHERE ended_at IS NULL AND seen_at > ? ORDER BY id",
  // The beginning that an interrupted prune left is no anchor.
  anchors: `SELECT position, hash, at FROM evidence_anchors
       UNION ALL SELECT position, hash, at FROM evidence_start WHERE position NOT IN (SELECT position FROM evidence_anchors)
       ORDER BY position`,
  insertAnchor:
    "INSERT INTO evidence_anchors (position, hash, at) VALUES (?, ?, ?) ON CONFLICT (position) DO NOTHING",
  oldest: "SELECT first, last FROM evidence_batches WHERE last <= ? ORDER BY last",
  hashAt: "SELECT hash FROM evidence_batches WHERE last = ?",
  moveStart: `INSERT INTO evidence_start (only, position, hash, at) VALUES (1, ?, ?, ?)
       ON CONFLICT (only) DO UPDATE SET position = excluded.position, hash = excluded.hash, at = excluded.at`,
  delete: "DELETE FROM evidence_batches WHERE last <= ?",
};

/** Appends batches, which begin and end requests, and prunes the log. Runs in the worker. */
export function evidenceTable(parts: EvidenceParts) {
  /** Number of this process in `processes`: the lease by which others know that it runs. */
  let processId: number | null = null;
  let renewedAt = 0;
  let recentlyEnded = new Set<string>();
  let endedBefore: ReadonlySet<string> = new Set();
  const sql = parts.connection.prepare(EVIDENCE_SQL);

  function anchors(): readonly EvidenceAnchor[] {
    return sql.anchors.all().map(readAnchor);
  }

  function readHash(position: number) {
    return readText(sql.hashAt.get(position), "hash");
  }

  /** Requests of dead processes, the oldest first. */
  function abandoned(limit = MOST_ABANDONED) {
    return readAbandoned(sql.abandoned.all(parts.now() - LEASE, limit));
  }

  /**
   * Writes the records whose requests allow it: decisions whose request id is new, and outcomes
   * whose request runs.
   *
   * @param lease the number of the process, `null` for records in the name of another one. Called
   * inside the transaction; a number that was rolled back is not used again.
   */
  function commit(records: readonly NewRecord[], lease: () => number | null): Appended {
    const { process, added, duplicates, head } = parts.connection.transaction(() => {
      const owner = lease();
      return { process: owner, ...insert(records, owner ?? 0) };
    });
    if (processId === null && process !== null) [processId, renewedAt] = [process, parts.now()];
    for (const { kind, requestId } of added) if (kind === "outcome") remember(requestId);
    if (added.length > 0) parts.appended(added, head);
    return { duplicates, lost: records.length - added.length - duplicates.length, head };
  }

  function insert(records: readonly NewRecord[], process: number) {
    const before = parts.batches.head();
    const begun = beginRequests(before.position + 1, process, records);
    const ended = endRequests(records);
    const workspaces = new Set(ended.values());
    const duplicates: number[] = [];
    const added = records.filter(({ kind, requestId, workspace }, index) => {
      if (kind === "outcome") return ended.delete(requestId);
      const isNew = begun.delete(requestId);
      if (isNew) workspaces.add(workspace);
      else duplicates.push(index);
      return isNew;
    });
    if (added.length === 0) return { added, duplicates, head: before };
    const batch = sealBatch(before, added, workspaces);
    parts.batches.insert(batch);
    return { added, duplicates, head: { position: batch.last, hash: batch.hash } };
  }

  /** @param first position of the batch. @returns ids of the requests that were new */
  function beginRequests(first: number, process: number, records: readonly NewRecord[]) {
    const rows = records.flatMap(({ kind, requestId, workspace }) => {
      const isNew =
        kind === "decision" && !recentlyEnded.has(requestId) && !endedBefore.has(requestId);
      return isNew ? [[requestId, workspace]] : [];
    });
    if (rows.length === 0) return new Set<string>();
    const begun = sql.begin.all(first, process, JSON.stringify(rows));
    return new Set(begun.map((row) => readText(row, "request_id")));
  }

  /** @returns the workspaces of the requests that ran, by request id */
  function endRequests(records: readonly NewRecord[]) {
    const ids = records.flatMap(({ kind, requestId }) => (kind === "outcome" ? [requestId] : []));
    const rows = ids.length === 0 ? [] : sql.end.all(JSON.stringify(ids));
    return new Map(rows.map((row) => [readText(row, "request_id"), readText(row, "workspace")]));
  }

  function remember(requestId: string) {
    if (recentlyEnded.size >= REMEMBERED) {
      endedBefore = recentlyEnded;
      recentlyEnded = new Set();
    }
    recentlyEnded.add(requestId);
  }

  /** The previous thread may have written a batch without confirming it. */
  function rememberEnded() {
    const { position } = parts.batches.head();
    for (let before = position + 1; ;) {
      const batches = parts.batches.before(before, position - REMEMBERED, null);
      for (const batch of batches) {
        for (const row of readRows(batch)) if (row.kind === "outcome") remember(row.requestId);
        before = batch.last;
      }
      if (batches.length === 0) return;
    }
  }

  return {
    /** This process has written evidence. A command that only reads leaves no trace. */
    get writes() {
      return processId !== null;
    },
    append(records: readonly NewRecord[]): Appended {
      if (records.length === 0) return { duplicates: [], lost: 0, head: parts.batches.head() };
      if (processId === null) rememberEnded();
      const now = parts.now();
      return commit(
        records,
        () => processId ?? Number(sql.startProcess.run(now, now).lastInsertRowid),
      );
    },
    /** The batches of a request: of its decision and of its outcome. */
    find(requestId: string): readonly StoredBatch[] {
      const runs = sql.running.get(requestId) !== undefined;
      return parts.batches.find(requestId, runs ? ["decision"] : ["decision", "outcome"]);
    },
    /** Request ids of the decisions without an outcome. */
    openRequests(): readonly string[] {
      return sql.open.all().map((row) => readText(row, "request_id"));
    },
    /** Ends up to `limit` requests of dead processes as `unknown`. @returns how many */
    reap(limit: number): number {
      // Searched without the write lock: there is almost never one.
      if (abandoned(1).size === 0) return 0;
      const records = Array.from(abandoned(limit), unknownRecord);
      commit(records, () => null);
      return records.length;
    },
    /** Running processes, and those that were lost in the last hour. */
    processes(): readonly EvidenceProcess[] {
      const now = parts.now();
      return sql.processes.all(now - LOST_IS_LISTED).map((row) => ({
        startedAt: readNumber(row, "started_at"),
        seenAt: readNumber(row, "seen_at"),
        state: now - readNumber(row, "seen_at") > LEASE ? "lost" : "running",
      }));
    },
    renewLeaseWhenDue(): void {
      const now = parts.now();
      if (processId === null || now - renewedAt < RENEWAL) return;
      sql.renew.run(now, processId);
      renewedAt = now;
    },
    endLease(): void {
      const now = parts.now();
      if (processId !== null) sql.endProcess.run(now, now, processId);
    },
    anchors,
    anchor(now: number): EvidenceAnchor | null {
      return parts.connection.transaction(() => {
        const { position, hash } = parts.batches.head();
        // After a prune of everything the head's row is gone, and the head is an anchor already.
        if (sql.hashAt.get(position) !== undefined) sql.insertAnchor.run(position, hash, now);
        return anchors().find((anchor) => anchor.position === position) ?? null;
      });
    },
    /**
     * Deletes batches of up to `limit` rows, but at least one batch, up to `through`, after writing
     * an anchor there; gives how many rows.
     *
     * @param through the last position of a batch
     */
    deleteThrough(through: number, limit: number, now: number): number {
      parts.countTo(through);
      return parts.connection.transaction(() => {
        let [rows, end] = [0, 0];
        for (const row of sql.oldest.iterate(through)) {
          const last = readNumber(row, "last");
          const count = last - readNumber(row, "first") + 1;
          if (end > 0 && rows + count > limit) break;
          rows += count;
          end = last;
        }
        if (end === 0) return 0;
        sql.insertAnchor.run(through, readHash(through), now);
        sql.moveStart.run(end, readHash(end), now);
        sql.delete.run(end);
        return rows;
      });
    },
    abandoned,
  };
}

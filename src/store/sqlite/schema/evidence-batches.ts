import type { DatabaseSync } from "node:sqlite";

import { Increments } from "../../../governance/increments.ts";
import { LogPacker } from "../../batch/pack.ts";
import type { StoredBatch } from "../../batch/stored-batch.ts";
import { readBytes } from "../../rows/row.ts";

/**
 * The log as batches: a row holds many records as bytes (`batch/frames.ts`). `decided_…` and `ended_…` are the smallest
 * and largest request ids of its decisions and outcomes, `high_water` the largest id of a decision so far, by which
 * look-ups find their batch. Columns that look-ups read stand before the bytes: SQLite then reads no other page for them.
 *
 * `evidence_checkpoint` is the position up to which `evidence_open` (decisions without an outcome) and `roll_ups` (counts)
 * are written; what follows it is in the memory of each process, and read from the log again after a crash.
 */
const TABLES = `
CREATE TABLE evidence_batches (
  last INTEGER PRIMARY KEY,
  first INTEGER NOT NULL CHECK (first >= 1 AND first <= last),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  process INTEGER NOT NULL REFERENCES processes (id),
  high_water TEXT NOT NULL,
  decided_lowest TEXT NOT NULL,
  decided_highest TEXT NOT NULL,
  ended_lowest TEXT NOT NULL,
  ended_highest TEXT NOT NULL,
  workspaces TEXT NOT NULL,
  records BLOB NOT NULL
) STRICT;
ALTER TABLE evidence_open RENAME TO old_open;
CREATE TABLE evidence_open (
  position INTEGER PRIMARY KEY,
  process INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  workspace TEXT
) STRICT;
INSERT INTO evidence_open (position, process, request_id, workspace)
  SELECT old_open.position, old_open.process, evidence_log.request_id, evidence_log.workspace
  FROM old_open JOIN evidence_log ON evidence_log.position = old_open.position;
CREATE TABLE evidence_checkpoint (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  position INTEGER NOT NULL
) STRICT;
`;

/** Made after the rows have been taken over. Dropping a table does not fire its triggers. */
const GUARDS = `
DROP TRIGGER evidence_anchors_are_true;
DROP TABLE old_open;
DROP TABLE evidence_log;
DROP TABLE roll_up_increments;
CREATE TRIGGER evidence_never_changes BEFORE UPDATE ON evidence_batches
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
CREATE TRIGGER evidence_is_kept BEFORE DELETE ON evidence_batches
  WHEN old.last > coalesce((SELECT max(position) FROM evidence_anchors), 0)
    OR old.last <> (SELECT min(last) FROM evidence_batches)
    OR EXISTS (SELECT 1 FROM evidence_open WHERE position BETWEEN old.first AND old.last)
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
CREATE TRIGGER evidence_checkpoint_moves_on BEFORE UPDATE ON evidence_checkpoint WHEN new.position < old.position
  BEGIN SELECT RAISE(ABORT, 'the checkpoint only moves on'); END;
CREATE TRIGGER evidence_checkpoint_is_kept BEFORE DELETE ON evidence_checkpoint
  BEGIN SELECT RAISE(ABORT, 'the checkpoint is kept'); END;
`;

/** Takes over the log of version 4. */
export function migrateToEvidenceBatches(database: DatabaseSync): void {
  database.exec(TABLES);
  const insert = database.prepare("INSERT INTO evidence_batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const rows = database.prepare(
    "SELECT position, kind, at, request_id, workspace, process, record, hash FROM evidence_log ORDER BY position",
  );
  const store = (batch: StoredBatch | null): void => {
    if (batch === null) return;
    const { first, last, hash, process, highWater, decided, ended, workspaces, records } = batch;
    const ids = [decided.lowest, decided.highest, ended.lowest, ended.highest];
    insert.run(last, first, hash, process, highWater, ...ids, JSON.stringify(workspaces), records);
  };
  const packer = new LogPacker();
  for (const row of rows.iterate()) store(packer.take(row));
  store(packer.end());
  foldIncrements(database);
  database.exec(
    `INSERT INTO evidence_checkpoint (only, position) VALUES
       (1, coalesce((SELECT max(last) FROM evidence_batches), (SELECT position FROM evidence_start), 0))`,
  );
  database.exec(GUARDS);
}

/** Adds to the cells what was counted and not added yet. */
function foldIncrements(database: DatabaseSync): void {
  const get = database.prepare(
    "SELECT cell FROM roll_ups WHERE workspace = ? AND facet = ? AND hour = ? AND labels = ?",
  );
  const put = database.prepare(
    "INSERT OR REPLACE INTO roll_ups (workspace, facet, hour, labels, cell) VALUES (?, ?, ?, ?, ?)",
  );
  const increments = new Increments();
  for (const row of database.prepare("SELECT increments FROM roll_up_increments ORDER BY id").iterate()) {
    increments.addEncoded(readBytes(row, "increments"));
  }
  for (const { workspace, facet, hour, labels, cell } of increments.entries()) {
    const stored = get.get(workspace ?? "", facet, hour, labels);
    if (stored !== undefined) cell.addEncoded(readBytes(stored, "cell"));
    put.run(workspace ?? "", facet, hour, labels, cell.encode());
  }
}

import type { DatabaseSync } from "node:sqlite";

import { chainHash, GENESIS, type ChainKind } from "../../../evidence/chain.ts";
import { readNumber, readText, readTextOrNull } from "../../rows/row.ts";

/**
 * The log of decisions and outcomes. `evidence_open` lists the decisions without an outcome, so that neither the reaper
 * nor pruning searches the log for them. `evidence_start` is where the log begins: it moves with every step of a prune,
 * whose anchor is written first, so that a prune that is cut off leaves a log that verifies.
 */
const TABLES = `
CREATE TABLE evidence_log (
  position INTEGER PRIMARY KEY CHECK (position >= 1),
  kind TEXT NOT NULL CHECK (kind IN ('decision', 'outcome')),
  at INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  workspace TEXT,
  process INTEGER NOT NULL REFERENCES processes (id),
  record TEXT NOT NULL,
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  UNIQUE (request_id, kind)
) STRICT;
CREATE INDEX evidence_decisions_by_workspace ON evidence_log (workspace, position) WHERE kind = 'decision';
CREATE TABLE evidence_open (
  position INTEGER PRIMARY KEY,
  process INTEGER NOT NULL
) STRICT;
CREATE TABLE evidence_anchors (
  position INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE TABLE evidence_start (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  position INTEGER NOT NULL,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
`;

/** Made after the rows have been taken over. Dropping a table does not fire its triggers. */
const GUARDS = `
DROP TABLE outcomes;
DROP TABLE decisions;
CREATE TRIGGER evidence_log_never_changes BEFORE UPDATE ON evidence_log
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
CREATE TRIGGER evidence_log_is_kept BEFORE DELETE ON evidence_log
  WHEN old.position > coalesce((SELECT max(position) FROM evidence_anchors), 0)
    OR old.position <> (SELECT min(position) FROM evidence_log)
    OR EXISTS (SELECT 1 FROM evidence_open WHERE position = old.position)
  BEGIN SELECT RAISE(ABORT, 'evidence is only pruned from its beginning up to an anchor'); END;
CREATE TRIGGER evidence_log_has_no_gaps BEFORE INSERT ON evidence_log
  WHEN new.position <> 1 + coalesce((SELECT max(position) FROM evidence_log), (SELECT position FROM evidence_start), 0)
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added at its end'); END;
CREATE TRIGGER evidence_anchors_are_true BEFORE INSERT ON evidence_anchors
  WHEN new.hash IS NOT (SELECT hash FROM evidence_log WHERE position = new.position)
  BEGIN SELECT RAISE(ABORT, 'an anchor has the hash of its row'); END;
CREATE TRIGGER evidence_anchors_never_change BEFORE UPDATE ON evidence_anchors
  BEGIN SELECT RAISE(ABORT, 'anchors are kept'); END;
CREATE TRIGGER evidence_anchors_are_kept BEFORE DELETE ON evidence_anchors
  BEGIN SELECT RAISE(ABORT, 'anchors are kept'); END;
`;

/** Makes the log and takes over what the tables before it hold: each decision in its order, followed by its outcome. */
export function migrateToEvidenceLog(database: DatabaseSync): void {
  database.exec(TABLES);
  const insert = database.prepare(
    "INSERT INTO evidence_log (position, kind, at, request_id, workspace, process, record, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const open = database.prepare("INSERT INTO evidence_open (position, process) VALUES (?, ?)");
  const old = database.prepare(
    `SELECT decisions.process, decisions.at, decisions.request_id, decisions.workspace, decisions.record AS decision,
       outcomes.record AS outcome, CAST(coalesce(outcomes.record ->> '$.at', decisions.at) AS INTEGER) AS ended_at
     FROM decisions LEFT JOIN outcomes ON outcomes.decision = decisions.sequence ORDER BY decisions.sequence`,
  );
  let { position, hash } = GENESIS;
  for (const row of old.iterate()) {
    const process = readNumber(row, "process");
    const append = (kind: ChainKind, at: number, record: string): void => {
      position += 1;
      hash = chainHash(hash, position, kind, record);
      const [requestId, workspace] = [readText(row, "request_id"), readTextOrNull(row, "workspace")];
      insert.run(position, kind, at, requestId, workspace, process, record, hash);
    };
    append("decision", readNumber(row, "at"), readText(row, "decision"));
    const outcome = readTextOrNull(row, "outcome");
    if (outcome === null) open.run(position, process);
    else append("outcome", readNumber(row, "ended_at"), outcome);
  }
  database.exec(GUARDS);
}

import type { DatabaseSync } from "node:sqlite";

import { decompressedRecords } from "../batch/compression.ts";
import { convertedBatch, formerRows } from "../batch/former-batch.ts";
import { readBytes, readNumber, readText, readTexts } from "../rows/row.ts";
import { BatchTable } from "./tables/batch-table.ts";
import { RequestTable } from "./tables/request-table.ts";

/**
 * The log as batches: a row holds many records as lines (`batch/lines.ts`); `lowest` and `highest`
 * are the smallest and largest of their request ids, by which look-ups find it. Columns that
 * look-ups read stand before the records: SQLite then reads no other page for them.
 *
 * `evidence_requests` has the request ids of decisions that run, by the position of the decision,
 * and of the newest that have ended. `evidence_checkpoint` is the position up to which `roll_ups`
 * (counts) are written; what follows it is counted again after a crash. `evidence_start` is where
 * the log begins: it moves with every step of a prune, whose anchor is written first, so that a
 * prune that is cut off leaves a log that verifies.
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
  position INTEGER PRIMARY KEY,
  request_id TEXT NOT NULL UNIQUE,
  process INTEGER NOT NULL,
  workspace TEXT NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX evidence_requests_that_run ON evidence_requests (process) WHERE ended = 0;
CREATE TRIGGER evidence_never_changes BEFORE UPDATE ON evidence_batches
  BEGIN SELECT RAISE(ABORT, 'evidence is only ever added'); END;
CREATE TRIGGER evidence_is_kept BEFORE DELETE ON evidence_batches
  WHEN old.last > coalesce((SELECT max(position) FROM evidence_anchors), 0)
    OR old.last <> (SELECT min(last) FROM evidence_batches)
    OR EXISTS (SELECT 1 FROM evidence_requests WHERE ended = 0 AND position BETWEEN old.first AND old.last)
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

const REPLACE = `
DROP TRIGGER evidence_never_changes;
DROP TRIGGER evidence_is_kept;
DROP TRIGGER evidence_is_counted;
DROP TRIGGER evidence_has_no_gaps;
DROP TRIGGER evidence_anchors_are_true;
ALTER TABLE evidence_batches RENAME TO former_batches;
${BATCHES}
INSERT INTO evidence_requests (position, request_id, process, workspace)
  SELECT position, request_id, process, coalesce(workspace, '') FROM evidence_open;
`;

/** Brings batches of version 15 into the form of version 16; positions and hashes stay. */
export function convertBatches(database: DatabaseSync): void {
  database.exec(REPLACE);
  const [batches, requests] = [new BatchTable(database), new RequestTable(database)];
  const checkpoint = readNumber(
    database.prepare("SELECT position FROM evidence_checkpoint").get() ?? {},
    "position",
  );
  let { hash: previous } = batches.head();
  for (const row of database.prepare("SELECT * FROM former_batches ORDER BY last").iterate()) {
    const [first, last, hash] = [
      readNumber(row, "first"),
      readNumber(row, "last"),
      readText(row, "hash"),
    ];
    const frames = decompressedRecords(readBytes(row, "records"));
    const former = { first, last, hash, workspaces: readTexts(row, "workspaces"), frames };
    batches.insert(convertedBatch(former, previous));
    previous = hash;
    // Running requests were written at the checkpoint.
    if (last <= checkpoint) continue;
    let position = first;
    for (const { kind, requestId, workspace } of formerRows(former)) {
      if (kind === "outcome") requests.end(requestId);
      else requests.begin(position, requestId, readNumber(row, "process"), workspace);
      position += 1;
    }
  }
  database.exec("DROP TABLE former_batches; DROP TABLE evidence_open");
}

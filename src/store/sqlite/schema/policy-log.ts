import type { DatabaseSync } from "node:sqlite";

import { canonicalJson } from "../../../canon/json.ts";
import { chainHash, GENESIS } from "../../../evidence/chain.ts";
import { readNumber, readText } from "../../rows/row.ts";

/**
 * The log of policies and their contents. The triggers see the columns; that a hash is the one that follows is checked by `PolicyLogTable`, as SQLite
 * has no SHA-256. REPLACE deletes rows without asking their triggers: an insertion of what is there is left out before it comes to that.
 */
const TABLES = `
CREATE TABLE policy_log (
  position INTEGER PRIMARY KEY CHECK (position >= 1),
  previous TEXT NOT NULL CHECK (length(previous) = 64),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE TABLE policy_contents (
  digest TEXT PRIMARY KEY NOT NULL,
  policy TEXT NOT NULL,
  description TEXT NOT NULL CHECK (json_valid(description)),
  module BLOB NOT NULL
) STRICT;
CREATE TRIGGER policy_log_follows BEFORE INSERT ON policy_log
  WHEN new.position <> 1 + coalesce((SELECT max(position) FROM policy_log), 0)
    OR new.previous IS NOT coalesce((SELECT hash FROM policy_log ORDER BY position DESC LIMIT 1), '${GENESIS.hash}')
  BEGIN SELECT RAISE(ABORT, 'what happened to policies is only ever added at its end'); END;
CREATE TRIGGER policy_log_never_changes BEFORE UPDATE ON policy_log
  BEGIN SELECT RAISE(ABORT, 'what happened to policies is only ever added'); END;
CREATE TRIGGER policy_log_is_kept BEFORE DELETE ON policy_log
  BEGIN SELECT RAISE(ABORT, 'what happened to policies is only ever added'); END;
CREATE TRIGGER policy_contents_stay BEFORE INSERT ON policy_contents
  WHEN EXISTS (SELECT 1 FROM policy_contents WHERE digest = new.digest)
  BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER policy_contents_never_change BEFORE UPDATE ON policy_contents
  BEGIN SELECT RAISE(ABORT, 'contents of policies are kept as they are'); END;
CREATE TRIGGER policy_contents_are_kept BEFORE DELETE ON policy_contents
  BEGIN SELECT RAISE(ABORT, 'contents of policies are kept as they are'); END;
`;

/**
 * Makes the log and begins it with the numbers that policies had before, one record for each: evidence speaks of them, so none may be given again. The
 * records are `ImportedRecord`s (`lifecycle/records.ts`), in the order of policy and number, the same that PostgreSQL makes of the same tables.
 */
export function migrateToPolicyLog(database: DatabaseSync): void {
  database.exec(TABLES);
  const insert = database.prepare("INSERT INTO policy_log (position, previous, hash, record) VALUES (?, ?, ?, ?)");
  const old = database.prepare(
    `SELECT known.id, known.revision, known.digest, known.first_seen_at, policies.mode
     FROM policy_revisions AS known JOIN policies ON policies.id = known.id ORDER BY known.id, known.revision`,
  );
  let { position, hash } = GENESIS;
  for (const row of old.iterate()) {
    const record = canonicalJson({
      kind: "imported",
      policy: readText(row, "id"),
      at: readNumber(row, "first_seen_at"),
      revision: readNumber(row, "revision"),
      digest: readText(row, "digest"),
      mode: readText(row, "mode"),
    });
    const previous = hash;
    position += 1;
    hash = chainHash(previous, position, "policy", record);
    insert.run(position, previous, hash, record);
  }
  // There is one server over a file, and it is of this version: they are not read any more.
  database.exec("DROP TABLE policy_revisions; DROP TABLE policies");
}

import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import { pathToFileURL } from "node:url";
import {
  missingSteps,
  newestVersion,
  schemaVersionFault,
  type SchemaVersions,
} from "../schema-version.ts";
import { isBusy, cannotOpen } from "./sqlite-failure.ts";
import { GENESIS } from "../../evidence/chain.ts";
import { storeConnection } from "./connection.ts";
import { BATCHES, batchTable } from "./evidence-table.ts";
import { decompressedRecords } from "../batch/batch-lines.ts";
import { convertedBatch, formerRows, readFormer } from "../batch/former-batch.ts";
import { readBytes, readNumber } from "../rows.ts";

/** In the file's header, so that SQLite files of other programs are refused. */
const APPLICATION_ID = 0x53_42_58_31;

/** How long opening waits for a process that opens the same file, milliseconds. */
const OPENING_WAIT = 5_000;

export const IN_MEMORY = ":memory:";

/** A file of another program or version. The message is for operators and names the fix. */
export class UnusableDatabaseError extends Error {
  override readonly name = "UnusableDatabaseError";
}

/**
 * Opens the file (made with mode 0600, its folder with 0700 where missing), switches it to WAL with
 * full synchronisation and brings its tables up to date. Several processes may do so at once.
 *
 * @param busyTimeout how long a statement waits for another process's write, milliseconds
 * @throws {UnusableDatabaseError} when the file belongs to another program or a version without
 * steps to ours, or to an older one while another process has it open
 */
export function openDatabase(path: string, busyTimeout: number): DatabaseSync {
  if (path === IN_MEMORY) return openUpToDate(path, busyTimeout);
  prepareFile(path, busyTimeout);
  // Processes that start together see each other; each lets go for a random time.
  for (const end = Date.now() + OPENING_WAIT; ; sleep(20 + 80 * Math.random())) {
    try {
      return openUpToDate(path, busyTimeout);
    } catch (error) {
      if (!(error instanceof OpenElsewhereError) || Date.now() >= end) throw error;
    }
  }
}

/** Another process has a database of an older version open. */
class OpenElsewhereError extends UnusableDatabaseError {
  constructor(path: string, present: number) {
    super(
      `${basename(path)} has the older schema version ${present}, and another process has it open, such as a server of that version; converting it would make that server refuse every request: stop it, then try again`,
    );
  }
}

function openUpToDate(path: string, timeout: number): DatabaseSync {
  return openOwn(path, { timeout }, (database) => {
    database.exec(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF",
    );
    if (path !== IN_MEMORY) convertAlone(database, path);
    // The busy timeout does not cover the switch to WAL, at which two starting processes meet.
    retryWhileBusy(() => database.exec("PRAGMA journal_mode = WAL"));
    retryWhileBusy(() => migrate(database));
  });
}

/** Opens a file that is not another program's; it is closed again where `prepare` fails. */
function openOwn(
  path: string | URL,
  options: DatabaseSyncOptions,
  prepare: (database: DatabaseSync) => void,
): DatabaseSync {
  const database = new DatabaseSync(path, options);
  try {
    retryWhileBusy(() => refuseForeignFile(database));
    prepare(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/**
 * Brings a database of an older version up to date, if no other process has it open: each
 * connection to a file with a WAL holds a lock, without which the file cannot leave that mode.
 *
 * @throws {OpenElsewhereError}
 */
function convertAlone(database: DatabaseSync, path: string) {
  const present = retryWhileBusy(() => readVersion(database));
  if (present === 0 || present === newestVersion(VERSIONS)) return;
  try {
    // From here on, and until the mode is normal again, no other process can open it.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = DELETE");
    database.exec("BEGIN EXCLUSIVE; COMMIT");
  } catch (error) {
    throw isBusy(error) ? new OpenElsewhereError(path, present) : error;
  }
  migrate(database);
  database.exec("PRAGMA locking_mode = NORMAL");
  // The next access to the file releases the lock.
  readVersion(database);
}

/**
 * Opens a file for reading: not a byte of it changes, and rights to read are enough. Where SQLite
 * cannot make the WAL's index beside the file and there is no WAL, the file is taken for one
 * without a writer, such as a copy.
 *
 * @throws {UnusableDatabaseError} when the file belongs to another program, or is not of this
 * version
 */
export function openToRead(path: string, busyTimeout: number): DatabaseSync {
  try {
    return openChecked(path, busyTimeout);
  } catch (error) {
    if (!cannotOpen(error) || !existsSync(path) || existsSync(`${path}-wal`)) throw error;
    const url = pathToFileURL(path);
    url.searchParams.set("immutable", "1");
    return openChecked(url, busyTimeout);
  }
}

function openChecked(path: string | URL, timeout: number): DatabaseSync {
  return openOwn(path, { timeout, readOnly: true }, (database) => {
    database.exec("PRAGMA trusted_schema = OFF");
    const present = readVersion(database);
    if (present !== newestVersion(VERSIONS)) {
      throw new UnusableDatabaseError(
        `this database has schema version ${present}, and this program reads version ${newestVersion(VERSIONS)} only; read it with the program that wrote it, or let "signalbox serve" bring it up to date`,
      );
    }
  });
}

/** Sets the mode of the main file first: SQLite gives the WAL and its index the same. */
function prepareFile(path: string, busyTimeout: number) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    // Closing any descriptor drops this process's locks, SQLite's too: only a new file is opened.
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600));
    chmodSync(path, 0o600);
    return;
  }
  if (!found.isFile())
    throw new UnusableDatabaseError(
      "the database is a folder or a device, not a file; name a file",
    );
  if ((found.mode & 0o777) === 0o600) return;
  // Before its mode is changed: a mistyped path may lead to anybody's file.
  openOwn(path, { timeout: busyTimeout, readOnly: true }, () => {}).close();
  chmodSync(path, 0o600);
}

function refuseForeignFile(database: DatabaseSync) {
  // In this order: a process that makes our tables in between has written our id with them.
  const tables = readInteger(database, "SELECT count(*) FROM sqlite_schema");
  const applicationId = readInteger(database, "PRAGMA application_id");
  if (applicationId !== APPLICATION_ID && tables > 0) {
    throw new UnusableDatabaseError(
      "this SQLite file was made by another program; give the path of a new file",
    );
  }
}

function migrate(database: DatabaseSync) {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(
      "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
    );
    const present = readVersion(database);
    const applied = database.prepare(
      "INSERT INTO migrations (version, name, applied_at) VALUES (?, ?, ?)",
    );
    for (const migration of missingSteps(present, VERSIONS)) {
      if (typeof migration.sql === "string") database.exec(migration.sql);
      else migration.sql(database);
      applied.run(migration.version, migration.name, Date.now());
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function readInteger(database: DatabaseSync, sql: string): number {
  const value = Object.values(database.prepare(sql).get() ?? {})[0];
  if (typeof value !== "number") throw new TypeError(`${sql} gave no number`);
  return value;
}

/** 0 without our tables. @throws {UnusableDatabaseError} for a version without steps to ours */
function readVersion(database: DatabaseSync): number {
  const tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'";
  if (readInteger(database, tables) === 0) return 0;
  const present = readInteger(database, "SELECT coalesce(max(version), 0) FROM migrations");
  const fault = schemaVersionFault(present, VERSIONS);
  if (fault !== null) throw new UnusableDatabaseError(fault);
  return present;
}

function retryWhileBusy<Result>(action: () => Result): Result {
  for (const end = Date.now() + OPENING_WAIT; ; sleep(10)) {
    try {
      return action();
    } catch (error) {
      if (!isBusy(error) || Date.now() >= end) throw error;
    }
  }
}

/** @param time milliseconds */
function sleep(time: number) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time);
}

const KEYS_STAY = `CREATE TRIGGER keys_stay_what_they_are
  BEFORE UPDATE OF id, name, digest, workspace, environment, created_at, created_by, rotated_from, exchange ON keys
  BEGIN SELECT RAISE(ABORT, 'only scopes, owner, workload, labels and limits of a key change'); END;
`;

const NAME_KEYS = `
ALTER TABLE keys ADD COLUMN name TEXT;
DROP TRIGGER keys_stay_what_they_are;
${KEYS_STAY}`;

/** From version 15, of commit a0f1d9ef, to version 16. */
function convert(database: DatabaseSync) {
  database.exec(NAME_KEYS + COUNT_WEEKS);
  convertBatches(database);
}

/** Only the grants of a living key can change. `lineage`: the first key of its rotations. */
const KEYS = `
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  workspace TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  owner TEXT NOT NULL,
  environment TEXT NOT NULL,
  workload TEXT NOT NULL,
  labels TEXT NOT NULL CHECK (json_valid(labels)),
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  last_used_at INTEGER,
  rotated_from TEXT REFERENCES keys (id),
  status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
  revoked_at INTEGER,
  -- Rises with every change of any key, except of last_used_at: what watchers read on from.
  version INTEGER NOT NULL,
  exchange TEXT CHECK (exchange IS NULL OR json_valid(exchange)),
  limits TEXT CHECK (limits IS NULL OR json_valid(limits)),
  lineage TEXT,
  replaced_by TEXT,
  name TEXT,
  CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_version ON keys (version);
CREATE INDEX keys_by_workspace ON keys (workspace, created_at DESC, id);
CREATE INDEX keys_by_state ON keys (workspace, status, expires_at);
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE OF status, revoked_at ON keys WHEN old.status = 'revoked'
  BEGIN SELECT RAISE(ABORT, 'a revoked key never comes back'); END;
CREATE TRIGGER keys_never_live_longer BEFORE UPDATE OF expires_at ON keys WHEN new.expires_at > old.expires_at
  BEGIN SELECT RAISE(ABORT, 'the expiry of a key only moves nearer'); END;
${KEYS_STAY}CREATE TRIGGER revoked_keys_keep_their_grants
  BEFORE UPDATE OF scopes, owner, workload, labels, limits ON keys WHEN old.status = 'revoked'
  BEGIN SELECT RAISE(ABORT, 'the grants of a revoked key never change'); END;
CREATE TRIGGER keys_keep_their_lineage BEFORE UPDATE OF lineage ON keys
  BEGIN SELECT RAISE(ABORT, 'the grants of a key never change'); END;
CREATE TRIGGER keys_are_replaced_once BEFORE UPDATE OF replaced_by ON keys WHEN old.replaced_by IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'a key is rotated once'); END;
CREATE TRIGGER keys_are_kept BEFORE DELETE ON keys
  BEGIN SELECT RAISE(ABORT, 'keys are kept; revoke instead'); END;
`;

const EVIDENCE = `
CREATE TABLE processes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE TABLE evidence_checkpoint (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  position INTEGER NOT NULL
) STRICT;
INSERT INTO evidence_checkpoint (only, position) VALUES (1, 0);
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
CREATE TABLE roll_ups (
  workspace TEXT NOT NULL,
  facet TEXT NOT NULL,
  hour INTEGER NOT NULL,
  labels TEXT NOT NULL,
  cell BLOB NOT NULL,
  PRIMARY KEY (workspace, facet, hour, labels)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER evidence_checkpoint_moves_on BEFORE UPDATE ON evidence_checkpoint WHEN new.position < old.position
  BEGIN SELECT RAISE(ABORT, 'the checkpoint only moves on'); END;
CREATE TRIGGER evidence_checkpoint_is_kept BEFORE DELETE ON evidence_checkpoint
  BEGIN SELECT RAISE(ABORT, 'the checkpoint is kept'); END;
CREATE TRIGGER evidence_anchors_never_change BEFORE UPDATE ON evidence_anchors
  BEGIN SELECT RAISE(ABORT, 'anchors are kept'); END;
CREATE TRIGGER evidence_anchors_are_kept BEFORE DELETE ON evidence_anchors
  BEGIN SELECT RAISE(ABORT, 'anchors are kept'); END;
`;

const COUNTERS = `
CREATE TABLE limit_counters (
  subject TEXT NOT NULL,
  measure TEXT NOT NULL CHECK (measure IN ('requests', 'tokens', 'micro_usd')),
  period TEXT NOT NULL CHECK (period IN ('minute', 'hour', 'day', 'week', 'month')),
  start INTEGER NOT NULL,
  used INTEGER NOT NULL CHECK (used >= 0),
  PRIMARY KEY (subject, measure, period, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX limit_counters_by_start ON limit_counters (start);
`;

/** SQLite cannot change a check: the table is created again. */
const COUNT_WEEKS = `
DROP INDEX limit_counters_by_start;
ALTER TABLE limit_counters RENAME TO former_counters;
${COUNTERS}
INSERT INTO limit_counters SELECT * FROM former_counters;
DROP TABLE former_counters;
`;

const LIMITS = `${COUNTERS}
CREATE TABLE limit_slots (
  subject TEXT NOT NULL,
  holder TEXT NOT NULL,
  held INTEGER NOT NULL CHECK (held > 0),
  until INTEGER NOT NULL,
  PRIMARY KEY (subject, holder)
) STRICT, WITHOUT ROWID;
`;

const ISSUERS = `
CREATE TABLE issuers (
  kid TEXT PRIMARY KEY,
  public_key TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER issuers_never_change BEFORE UPDATE ON issuers
  BEGIN SELECT RAISE(ABORT, 'an issuer never changes'); END;
`;

/**
 * The log of policies and their contents. The triggers see the columns; that a hash is the one that
 * follows is checked by `PolicyLogTable`, as SQLite has no SHA-256. REPLACE deletes rows without
 * asking their triggers: an insertion of a content that is there is ignored before that.
 */
const POLICY_LOG = `
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

const SESSIONS = `
CREATE TABLE sessions (
  digest TEXT PRIMARY KEY,
  -- Equal for all sessions of a key or person.
  holder TEXT NOT NULL,
  key_id TEXT,
  person TEXT CHECK (person IS NULL OR json_valid(person)),
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  CHECK ((key_id IS NULL) <> (person IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_holder ON sessions (holder);
CREATE INDEX sessions_by_end ON sessions (ends_at);
CREATE INDEX sessions_by_use ON sessions (seen_at);
`;

/** Databases of versions before commit a0f1d9ef of 2026-11-28 are refused. */
export const VERSIONS: SchemaVersions<DatabaseSync> = {
  oldest: 15,
  baseline: {
    version: 16,
    name: "baseline",
    sql: KEYS + EVIDENCE + BATCHES + LIMITS + ISSUERS + POLICY_LOG + SESSIONS,
  },
  steps: [{ version: 16, name: "lines", sql: convert }],
};

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
function convertBatches(database: DatabaseSync) {
  database.exec(REPLACE);
  const batches = batchTable(storeConnection(database));
  const end = database.prepare("DELETE FROM evidence_requests WHERE request_id = ?");
  const begin = database.prepare(
    "INSERT INTO evidence_requests (position, request_id, process, workspace) VALUES (?, ?, ?, ?)",
  );
  const checkpoint = readInteger(database, "SELECT position FROM evidence_checkpoint");
  let { hash: previous } = batches.head();
  for (const row of database.prepare("SELECT * FROM former_batches ORDER BY last").iterate()) {
    const former = readFormer(row, decompressedRecords(readBytes(row, "records")));
    batches.insert(convertedBatch(former, previous));
    previous = former.hash;
    // Running requests were written at the checkpoint.
    if (former.last <= checkpoint) continue;
    let position = former.first;
    for (const { kind, requestId, workspace } of formerRows(former)) {
      if (kind === "outcome") end.run(requestId);
      else begin.run(position, requestId, readNumber(row, "process"), workspace);
      position += 1;
    }
  }
  database.exec("DROP TABLE former_batches; DROP TABLE evidence_open");
}

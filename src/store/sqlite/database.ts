import {
  chmodSync,
  closeSync,
  existsSync,
  constants,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

import { missingSteps, newestVersion, schemaVersionFault } from "../schema-version.ts";
import { VERSIONS } from "./migrations.ts";
import { isBusy, isCannotOpen } from "./sqlite-failure.ts";

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

function openUpToDate(path: string, busyTimeout: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeout });
  try {
    retryWhileBusy(() => refuseForeignFile(database));
    database.exec(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF",
    );
    if (path !== IN_MEMORY) convertAlone(database, path);
    // The busy timeout does not cover the switch to WAL, at which two starting processes meet.
    retryWhileBusy(() => database.exec("PRAGMA journal_mode = WAL"));
    retryWhileBusy(() => migrate(database));
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
  refuseOtherVersion(present);
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
    if (!isCannotOpen(error) || !existsSync(path) || existsSync(`${path}-wal`)) throw error;
    const url = pathToFileURL(path);
    url.searchParams.set("immutable", "1");
    return openChecked(url, busyTimeout);
  }
}

function openChecked(path: string | URL, busyTimeout: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeout, readOnly: true });
  try {
    database.exec("PRAGMA trusted_schema = OFF");
    retryWhileBusy(() => refuseForeignFile(database));
    const present = readVersion(database);
    refuseOtherVersion(present);
    if (present !== newestVersion(VERSIONS)) {
      throw new UnusableDatabaseError(
        `this database has schema version ${present}, and this program reads version ${newestVersion(VERSIONS)} only; read it with the program that wrote it, or let "signalbox serve" bring it up to date`,
      );
    }
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
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
  const database = new DatabaseSync(path, { timeout: busyTimeout, readOnly: true });
  try {
    retryWhileBusy(() => refuseForeignFile(database));
  } finally {
    database.close();
  }
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
    const present = readInteger(database, "SELECT coalesce(max(version), 0) FROM migrations");
    refuseOtherVersion(present);
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

/** 0 for a file without our tables. */
function readVersion(database: DatabaseSync): number {
  const tables = readInteger(
    database,
    "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'",
  );
  return tables === 0
    ? 0
    : readInteger(database, "SELECT coalesce(max(version), 0) FROM migrations");
}

/** @throws {UnusableDatabaseError} for a version from which no steps lead to ours */
function refuseOtherVersion(present: number) {
  const fault = schemaVersionFault(present, VERSIONS);
  if (fault !== null) throw new UnusableDatabaseError(fault);
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

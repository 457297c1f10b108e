import { StoreUnavailableError } from "../../canon/error.ts";
import {
  missingSteps,
  newestVersion,
  schemaVersionFault,
  type SchemaVersions,
} from "../schema-version.ts";
import { StatementFailure, UNIQUE_VIOLATION } from "./failure.ts";
import { type Pool, type Query, textArray } from "./pool.ts";
import { BASELINE, COUNT_WEEKS, NAME_KEYS } from "./schema.ts";
import { GENESIS } from "../../evidence/chain.ts";
import { convertedBatch, withHashes } from "../batch/former-batch.ts";
import { readBytes, readNumber, readText, readTexts } from "../rows.ts";
import { EVIDENCE } from "./evidence/schema.ts";

/** Databases of versions before commit a0f1d9ef of 2026-11-28 are refused. */
export const VERSIONS: SchemaVersions<Query> = {
  oldest: 14,
  baseline: { version: 15, name: "baseline", sql: BASELINE },
  steps: [{ version: 15, name: "written batches", sql: convert }],
};

async function convert(query: Query) {
  await query(NAME_KEYS + COUNT_WEEKS);
  await convertEvidence(query);
}

/** An arbitrary number, the same in every version: the lock to change the schema. */
const ADVISORY_LOCK = 7_241_853_902_117;

/** Longest wait for another replica's migrations, and for one of our steps, milliseconds. */
const LONGEST_STEP = 60_000;

const MIGRATIONS_TABLE = `
CREATE SCHEMA IF NOT EXISTS signalbox;
CREATE TABLE IF NOT EXISTS signalbox.migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
)`;

/**
 * Brings the schema up to date. Any number of replicas may do so at once: one does it, the others
 * wait. A schema that is up to date is only read, so a user without the right to change it can run
 * the program.
 *
 * @param create whether an empty database gets the schema
 * @throws {StoreUnavailableError} when the database is empty and `create` is not set, belongs to a
 * version without steps to ours, or is not in UTF-8; the message names the fix
 */
export async function migrate(pool: Pool, create: boolean): Promise<void> {
  await pool.onOneConnection(LONGEST_STEP, async (query) => {
    await refuseOtherEncoding(query);
    const present = await readVersion(query);
    if (present === 0 && !create) {
      throw new StoreUnavailableError(
        "this database has no tables of Signalbox yet; check the database URL",
      );
    }
    if (present === newestVersion(VERSIONS)) return;
    await query(`SET statement_timeout = ${LONGEST_STEP}`);
    await query("SELECT pg_advisory_lock($1)", [ADVISORY_LOCK]);
    try {
      await applyMissing(query);
    } finally {
      await query("SELECT pg_advisory_unlock($1)", [ADVISORY_LOCK]);
      await query("RESET statement_timeout");
    }
  });
}

async function applyMissing(query: Query) {
  if (!(await hasMigrationsTable(query))) await query(MIGRATIONS_TABLE);
  // Read again: the process that had the lock before may have done it all.
  const present = await readVersion(query);
  for (const { version, name, sql } of missingSteps(present, VERSIONS)) {
    await query("BEGIN");
    try {
      if (typeof sql === "string") await query(sql);
      else await sql(query);
      await query("INSERT INTO signalbox.migrations (version, name) VALUES ($1, $2)", [
        version,
        name,
      ]);
      await query("COMMIT");
    } catch (error) {
      await query("ROLLBACK");
      throw isForeign(error) ? foreign() : error;
    }
  }
}

/** 0 without our tables. @throws {StoreUnavailableError} for a version without steps to ours */
async function readVersion(query: Query): Promise<number> {
  if (!(await hasMigrationsTable(query))) return 0;
  const rows = await query("SELECT coalesce(max(version), 0) AS version FROM signalbox.migrations");
  const present = Number(rows[0]?.version);
  const fault = schemaVersionFault(present, VERSIONS);
  if (fault !== null) throw new StoreUnavailableError(fault);
  return present;
}

async function hasMigrationsTable(query: Query): Promise<boolean> {
  const rows = await query("SELECT to_regclass('signalbox.migrations') IS NOT NULL AS present");
  return rows[0]?.present === true;
}

/** A hash covers the bytes of UTF-8; another encoding could not hold every record. */
async function refuseOtherEncoding(query: Query) {
  const rows = await query("SELECT current_setting('server_encoding') = 'UTF8' AS fits");
  if (rows[0]?.fits !== true) {
    throw new StoreUnavailableError(
      "this database is not in UTF-8; create one with ENCODING 'UTF8'",
    );
  }
}

/** A table or function of the same name exists that our migrations did not create. */
function isForeign(error: unknown) {
  return (
    error instanceof StatementFailure &&
    ["42P07", "42723", UNIQUE_VIOLATION].includes(error.code ?? "")
  );
}

const foreign = () =>
  new StoreUnavailableError(
    "the schema signalbox holds tables of another program; use another database",
  );

const FORMER_TABLES = ["batches", "head", "open", "processes", "anchors"];

/** Creates the new tables beside the old ones. */
const REPLACE = `
DROP FUNCTION signalbox.append_evidence, signalbox.anchor_evidence, signalbox.prune_evidence, signalbox.check_pruning,
  signalbox.check_head_change, signalbox.check_counted, signalbox.is_gone, signalbox.now_ms CASCADE;
CREATE SCHEMA signalbox_former;
${FORMER_TABLES.map((name) => `ALTER TABLE signalbox.evidence_${name} SET SCHEMA signalbox_former;`).join("\n")}
${EVIDENCE}
INSERT INTO signalbox.evidence_processes (id, token, started_at, seen_at, ended_at) OVERRIDING SYSTEM VALUE
  SELECT id, 'former', started_at, seen_at, ended_at FROM signalbox_former.evidence_processes;
SELECT setval(pg_get_serial_sequence('signalbox.evidence_processes', 'id'), max(id)) FROM signalbox.evidence_processes;
INSERT INTO signalbox.evidence_requests (request_id, process, workspace)
  SELECT request_id, process, coalesce(workspace, '') FROM signalbox_former.evidence_open;
INSERT INTO signalbox.evidence_anchors SELECT * FROM signalbox_former.evidence_anchors;
UPDATE signalbox.evidence_head AS head SET position = former.position, hash = former.hash
  FROM signalbox_former.evidence_head AS former WHERE former.position > 0;
`;

/** Where the log begins. */
const START = `
SELECT hash FROM signalbox.evidence_anchors
WHERE position < (SELECT min(first) FROM signalbox_former.evidence_batches) ORDER BY position DESC LIMIT 1`;

const PAGE = `
SELECT first, last, hash, array_to_json(workspaces)::text AS workspaces, hashes, records
FROM signalbox_former.evidence_batches WHERE last > $1 ORDER BY last LIMIT 50`;

const INSERT = `
INSERT INTO signalbox.evidence_batches (last, first, hash, lowest, highest, workspaces, records)
VALUES ($1, $2, $3, $4, $5, $6::text::text[], $7)`;

/** Brings evidence of version 14 into the form of version 15; positions and hashes stay. */
async function convertEvidence(query: Query) {
  await query(REPLACE);
  const [start] = await query(START);
  let previous = start === undefined ? GENESIS.hash : readText(start, "hash");
  for (let end = 0; ;) {
    const rows = await query(PAGE, [end]);
    for (const row of rows) {
      const [first, last, hash] = [
        readNumber(row, "first"),
        readNumber(row, "last"),
        readText(row, "hash"),
      ];
      const frames = withHashes(readBytes(row, "records"), readBytes(row, "hashes"));
      const columns = { first, last, hash, workspaces: readTexts(row, "workspaces") };
      const { lowest, highest, workspaces, records } = convertedBatch(
        { ...columns, frames },
        previous,
      );
      await query(INSERT, [last, first, hash, lowest, highest, textArray(workspaces), records]);
      [previous, end] = [hash, last];
    }
    if (rows.length === 0) break;
  }
  await query("DROP SCHEMA signalbox_former CASCADE");
}

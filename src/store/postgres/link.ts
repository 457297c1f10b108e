import { setTimeout as delay } from "node:timers/promises";
import { StoreUnavailableError } from "../../canon/error.ts";
import { COMMON_SQL, type RunCommon } from "../common-tables.ts";
import { isUniqueViolation, NO_ANSWER, StatementFailure } from "./failure.ts";
import { type Parameter, Pool, type Query, textArray } from "./pool.ts";
import type { PostgresSettings } from "./settings.ts";
import {
  missingSteps,
  newestVersion,
  schemaVersionFault,
  type SchemaVersions,
} from "../schema-version.ts";
import { BASELINE, COUNT_WEEKS, NAME_KEYS } from "./schema.ts";
import { GENESIS } from "../../evidence/chain.ts";
import { convertedBatch, readFormer, withHashes } from "../batch/former-batch.ts";
import { readBytes, readText, type Row } from "../rows.ts";
import { EVIDENCE } from "./evidence/schema.ts";

/** Milliseconds. */
export interface LinkBounds {
  /** The server ends a statement that takes longer. */
  readonly statementTimeout: number;
  /** Longest time to a usable connection, and longest wait of a probe. */
  readonly connectTimeout: number;
  /** From a failed probe to the next. */
  readonly probeInterval: number;
}

export const DEFAULT_LINK_BOUNDS: LinkBounds = {
  statementTimeout: 3_000,
  connectTimeout: 2_000,
  probeInterval: 1_000,
};

/** How much longer this process waits than the server may take, milliseconds: the round trip. */
const WAY = 1_000;

const CONNECTIONS = 4;

/** How long calls wait for the first probe, milliseconds: one cut connection is no outage. */
const SUSPICION = 250;

/** Usable means able to write: after a failover the old address may lead to a standby. */
const PROBE = "SELECT current_setting('transaction_read_only') = 'off' AS usable";

const AWAY = "PostgreSQL cannot be used now; the server tries again every second";

export type PostgresLink = Awaited<ReturnType<typeof openPostgresLink>>;

/**
 * Statements to one server, with a breaker: while it is away, calls fail at once.
 *
 * @param create whether an empty database gets the schema
 * @throws {StoreUnavailableError}
 */
export async function openPostgresLink(
  settings: PostgresSettings,
  create: boolean,
  { statementTimeout, connectTimeout, probeInterval }: LinkBounds,
) {
  const ended = new AbortController();
  const listeners = new Set<() => void>();
  let state: "available" | "suspected" | "away" = "available";
  let pool = newPool();

  function newPool(connections = CONNECTIONS, hooks: ConstructorParameters<typeof Pool>[2] = {}) {
    return new Pool(settings, { connections, statementTimeout }, hooks);
  }

  function isAvailable() {
    return state === "available" && !ended.signal.aborted;
  }

  async function query(
    text: string,
    parameters: readonly Parameter[] = [],
  ): Promise<readonly Row[]> {
    if (ended.signal.aborted)
      throw new StoreUnavailableError("the store is closed", { applied: "no" });
    if (state === "suspected") await whenAvailable(SUSPICION);
    if (!isAvailable()) throw new StoreUnavailableError(AWAY, { applied: "no" });
    const used = pool;
    try {
      return await used.query(text, parameters, statementTimeout + WAY);
    } catch (error) {
      if (error instanceof StatementFailure && error.away) lose(used, error.code === NO_ANSWER);
      throw error;
    }
  }

  function onRestored(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async function whenAvailable(wait: number): Promise<void> {
    if (isAvailable()) return;
    const restored = Promise.withResolvers<void>();
    const end = onRestored(restored.resolve);
    const timer = setTimeout(restored.resolve, wait);
    await restored.promise;
    clearTimeout(timer);
    end();
  }

  function lose(used: Pool, silent: boolean) {
    if (used !== pool || state !== "available") return;
    state = "suspected";
    // The driver replaces a cut connection, but would keep one that does not answer.
    if (silent) replacePool();
    void restore();
  }

  async function restore() {
    while (!ended.signal.aborted) {
      if (await probe()) {
        state = "available";
        for (const listener of listeners) listener();
        return;
      }
      state = "away";
      replacePool();
      await delay(probeInterval, null, { signal: ended.signal }).catch(() => undefined);
    }
  }

  function replacePool() {
    void pool.destroy();
    if (!ended.signal.aborted) pool = newPool();
  }

  async function probe(): Promise<boolean> {
    try {
      const rows = await pool.query(PROBE, [], connectTimeout);
      return rows[0]?.usable === true;
    } catch {
      return false;
    }
  }

  async function close(): Promise<void> {
    ended.abort();
    await pool.destroy();
  }

  /** The same as {@link query}, of a statement that SQLite has too. */
  const runCommon: RunCommon = (name, parameters) =>
    query(COMMON_SQL[name].replaceAll("?", "$"), parameters);

  try {
    const rows = await pool.query(PROBE, [], connectTimeout + WAY);
    if (rows[0]?.usable !== true) throw new StatementFailure("25006");
    await migrate(pool, create);
  } catch (error) {
    await close();
    if (!(error instanceof StoreUnavailableError)) throw error;
    throw new StoreUnavailableError(`the database could not be opened: ${error.message}`);
  }
  return {
    /** Whether calls are let through. */
    get available(): boolean {
      return isAvailable();
    },
    /**
     * Runs one statement, a transaction of its own.
     *
     * @throws {StatementFailure} when it failed; with `away` whether it took effect is not known
     * @throws {StoreUnavailableError} at once while the server is away, or the link closed
     */
    query,
    runCommon,
    /** Calls back whenever the server can be used again. Gives back a function that ends it. */
    onRestored,
    /** Resolves when calls are let through, or `wait` milliseconds later at the latest. */
    whenAvailable,
    /** A separate connection that listens on `channel`; the caller destroys it. */
    async listen(
      channel: "signalbox_keys",
      onNotification: () => void,
      onClosed: () => void,
    ): Promise<Pool> {
      const listening = newPool(1, { onNotification, onClosed });
      try {
        await listening.query(`LISTEN ${channel}`, [], connectTimeout + WAY);
        return listening;
      } catch (error) {
        await listening.destroy();
        throw error;
      }
    },
    /** Safe to call twice. */
    close,
  };
}

/**
 * The action, one run at a time. Calls during a run share the next one: a run that began earlier
 * may not see what its callers know.
 */
export function oneAtATime<Result>(action: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  let next: Promise<Result> | null = null;
  const run = (): Promise<Result> => {
    if (running === null) return (running = action().finally(() => (running = null)));
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = null;
        return run();
      });
    return next;
  };
  return run;
}

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
async function migrate(pool: Pool, create: boolean): Promise<void> {
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
  const codes = ["42P07", "42723"];
  const alreadyExists = error instanceof StatementFailure && codes.includes(error.code ?? "");
  return alreadyExists || isUniqueViolation(error);
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
      const frames = withHashes(readBytes(row, "records"), readBytes(row, "hashes"));
      const { first, last, hash, lowest, highest, workspaces, records } = convertedBatch(
        readFormer(row, frames),
        previous,
      );
      await query(INSERT, [last, first, hash, lowest, highest, textArray(workspaces), records]);
      [previous, end] = [hash, last];
    }
    if (rows.length === 0) break;
  }
  await query("DROP SCHEMA signalbox_former CASCADE");
}

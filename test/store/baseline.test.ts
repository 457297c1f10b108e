import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { asIdentifier } from "../../src/evidence/record.ts";
import { summarise } from "../../src/governance/summarise.ts";
import { VERSIONS as POSTGRES_VERSIONS } from "../../src/store/postgres/link.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import type { Store } from "../../src/store/port.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { VERSIONS } from "../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { groupingOf } from "../governance/agreement.ts";
import { fault } from "./conformance-log.ts";
import { readVerifiedPolicyLog } from "./policy-log-rows.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./postgres/server.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";
import { PERSON } from "./session-laws.ts";
import { temporaryFolder } from "./temporary-folder.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const sample = (name: string): Buffer =>
  gunzipSync(readFileSync(join(import.meta.dirname, "files", name)));

const compareText = (a: string, b: string): number => (a < b ? -1 : 1);

/** A file that commit a0f1d9ef wrote, as it is while its server runs. */
function formerFile(): string {
  const path = join(temporaryFolder(), "signalbox.db");
  writeFileSync(path, sample("a0f1d9ef.db.gz"), { mode: 0o600 });
  return path;
}

const HEAD = {
  position: 120,
  hash: "9564ae88e755d1b40bfd50e4e077b92ee3623cf7da4ba0c1877a846575ece914",
};

/** Expects what commit a0f1d9ef wrote, ends its running requests, and returns the counts. */
async function restored(
  store: Store,
): Promise<{ readonly requests: number; readonly running: number }> {
  const keys = (await store.keys.list()).map(({ id, status, replacedBy, lineage }) => [
    id,
    status,
    replacedBy,
    lineage,
  ]);
  expect(keys.toSorted(([a], [b]) => compareText(String(a), String(b)))).toEqual([
    ["a", "active", "b", null],
    ["b", "active", null, "a"],
    ["z", "revoked", null, null],
  ]);
  expect((await store.issuers.list(0)).map(({ kid }) => kid)).toEqual(["i"]);
  expect((await store.sessions.find("s"))?.holder).toEqual(PERSON);
  const counter = {
    subject: "workspace:acme",
    measure: "tokens",
    window: "minute",
    start: 9_000_000_000_000,
  } as const;
  const [leased] = (
    await store.limits.lease({
      holder: "other",
      now: 9_000_000_000_000,
      until: 9_000_000_020_000,
      counters: [{ ...counter, ceiling: 100, giveBack: 0, overdraft: 0, need: 1, want: 90 }],
      slots: [],
    })
  ).counters;
  expect(leased).toMatchObject({ granted: 40, used: 100 });
  expect(await readVerifiedPolicyLog(store.policyLog)).toHaveLength(2);
  expect((await store.policyLog.content("d".repeat(64)))?.module).toEqual(Uint8Array.of(1));
  expect(await store.evidence.head()).toEqual(HEAD);
  expect((await store.evidence.anchors()).map(({ position }) => position)).toEqual([40, 100]);
  expect((await store.evidence.openRequests()).toSorted(compareText)).toEqual(["r020", "r030"]);
  await recordDecision(store.evidence, decisionRecord("r999", { workspace: asIdentifier("acme") }));
  for (const id of ["r020", "r030", "r999"]) store.evidence.settle(outcomeRecord(id));
  await store.evidence.flush();
  expect(store.evidence.health().lost).toBe(0);
  expect(await fault(store)).toBeNull();
  const [found] = await store.evidence.read({ after: 0, limit: 1, requestId: "r044" });
  expect([found?.decision.workspace, found?.outcome?.terminal]).toEqual(["grüße", "completed"]);
  const sums = { requests: 0, running: 0 };
  for (const workspace of await store.summary.workspaces()) {
    const { totals } = await summarise(
      (facet) => store.summary.read({ workspace, facet, from: 0, until: 1_000_000 }),
      groupingOf([]),
    );
    sums.requests += totals.requests;
    sums.running += totals.running ?? 0;
  }
  await store.close();
  return sums;
}

describe("SQLite: a file of commit a0f1d9ef", () => {
  /** Names, statements and columns, whatever the white space that ALTER TABLE left. */
  function schemaOf(path: string): readonly unknown[] {
    const database = new DatabaseSync(path);
    const rows = database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
    const columns = rows.map(({ name }) =>
      database.prepare("SELECT * FROM pragma_table_xinfo(?)").all(String(name)),
    );
    database.close();
    return rows.map(({ name, sql }, index) => [
      name,
      String(sql).replaceAll(/\s+/g, " "),
      columns[index],
    ]);
  }

  it("opens as it is, with all that it holds", async () => {
    const path = formerFile();
    const database = new DatabaseSync(path);
    database
      .prepare("UPDATE processes SET ended_at = NULL, seen_at = ?")
      .run(Date.now() + 3_600_000);
    database.close();
    expect(await restored(await openSqliteStore({ path }))).toEqual({ requests: 62, running: 0 });
  });

  it("has the schema that a new file gets", async () => {
    const path = join(temporaryFolder(), "new.db");
    openDatabase(path, 1_000).close();
    const converted = formerFile();
    openDatabase(converted, 1_000).close();
    expect(schemaOf(path)).toEqual(schemaOf(converted));
  });

  it("of an older version is refused and left alone", async () => {
    const path = formerFile();
    const database = new DatabaseSync(path);
    database.exec("DELETE FROM migrations WHERE version > 11");
    database.close();
    const before = readFileSync(path);
    await expect(openSqliteStore({ path })).rejects.toThrow(
      "has schema version 11, and this program converts versions from 15 only; read it with the program that wrote it",
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  describe("when a next step exists", () => {
    const steps = VERSIONS.steps as { version: number; name: string; sql: string }[];
    const withNext = (sql: string): void => {
      steps.push({ version: 17, name: "next", sql });
      onTestFinished(() => void steps.pop());
    };
    const version = (database: DatabaseSync): unknown =>
      database.prepare("SELECT max(version) AS version FROM migrations").get()?.version;

    it("is converted, unless another process has it open", () => {
      withNext("CREATE TABLE next (a)");
      const path = formerFile();
      const server = new DatabaseSync(path);
      server.exec("PRAGMA journal_mode = WAL");
      expect(version(server)).toBe(15);
      expect(() => openDatabase(path, 0)).toThrow(
        /has the older schema version 15, and another process has it open.*stop it, then try again/,
      );
      expect(version(server)).toBe(15);
      server.close();
      const database = openDatabase(path, 0);
      expect(version(database)).toBe(17);
      expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      expect(database.prepare("SELECT * FROM next").all()).toEqual([]);
      database.close();
    });

    it("stays unchanged when the step fails", () => {
      withNext("CREATE TABLE next (a); CREATE TABLE keys (a)");
      const path = formerFile();
      expect(() => openDatabase(path, 0)).toThrow("table keys already exists");
      const database = new DatabaseSync(path);
      expect(version(database)).toBe(15);
      expect(database.prepare("SELECT name FROM sqlite_schema WHERE name = 'next'").all()).toEqual(
        [],
      );
      database.close();
    });
  });
});

describe.skipIf(NO_POSTGRES !== null)(
  `PostgreSQL: a database of commit a0f1d9ef ${NO_POSTGRES ?? ""}`,
  () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startTestServer();
    });
    afterAll(() => server.close());

    const operator = (url: string): postgres.Sql => {
      const sql = postgres(url, { max: 1, onnotice: () => undefined });
      onTestFinished(() => sql.end({ timeout: 0 }));
      return sql;
    };
    async function former(): Promise<string> {
      const url = await server.database();
      // As pg_dump wrote it, without LZ4, which not every server has.
      await operator(url).unsafe(sample("a0f1d9ef.sql.gz").toString());
      return url;
    }

    it("opens as it is, with all that it holds", async () => {
      const url = await former();
      await operator(
        url,
      )`UPDATE signalbox.evidence_processes SET ended_at = NULL, seen_at = ${Date.now() + 3_600_000}`;
      expect(await restored(await openPostgresStore({ url }))).toEqual({
        requests: 62,
        running: 0,
      });
    });

    it("has the schema that a new database gets, and empty tables of policies beside it", async () => {
      const schemaOf = async (url: string): Promise<readonly string[]> => {
        const rows = await operator(url)`
        SELECT pg_get_functiondef(p.oid) AS text FROM pg_proc p WHERE p.pronamespace = 'signalbox'::regnamespace
        UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
          WHERE c.relnamespace = 'signalbox'::regnamespace AND NOT t.tgisinternal
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'signalbox'
        UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
          WHERE connamespace = 'signalbox'::regnamespace
        UNION ALL SELECT c.oid::regclass || ' ' || coalesce(c.reloptions::text, '') FROM pg_class c
          WHERE c.relnamespace = 'signalbox'::regnamespace
        UNION ALL SELECT a.attrelid::regclass || ' ' || a.attnum || ' ' || a.attname || ' '
            || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || CASE WHEN a.attname = 'records' THEN 'by LZ4' ELSE a.attstorage::text END || a.attidentity::text
            || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || coalesce(o.collname, '')
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
          LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
          LEFT JOIN pg_collation o ON o.oid = a.attcollation
          WHERE c.relnamespace = 'signalbox'::regnamespace AND a.attnum > 0`;
        return rows.map(({ text }) => String(text)).toSorted(compareText);
      };
      const url = await server.database();
      await (await openPostgresStore({ url })).close();
      const converted = await former();
      await (await openPostgresStore({ url: converted })).close();
      const [fresh, old] = [await schemaOf(url), await schemaOf(converted)];
      const isOfPolicies =
        /\bpolic(?:ies|y_revisions)(?:_pkey)?\b|observe_policies|check_policy_change/;
      expect(old.filter((text) => !isOfPolicies.test(text))).toEqual(
        fresh.filter((text) => !isOfPolicies.test(text)),
      );
    });

    it("of an older version is refused and left alone", async () => {
      const url = await former();
      const sql = operator(url);
      await sql`DELETE FROM signalbox.migrations WHERE version > 11`;
      await expect(openPostgresStore({ url })).rejects.toThrow("converts versions from 14 only");
      expect(await sql`SELECT count(*)::int AS count FROM signalbox.keys`).toEqual([{ count: 3 }]);
    });

    it("is converted once by replicas that start together when a next step exists", async () => {
      const url = await former();
      const steps = POSTGRES_VERSIONS.steps as { version: number; name: string; sql: string }[];
      steps.push({ version: 16, name: "next", sql: "CREATE TABLE signalbox.next (a integer)" });
      onTestFinished(() => void steps.pop());
      const stores = await Promise.all([0, 1, 2].map(() => openPostgresStore({ url })));
      expect(await operator(url)`SELECT * FROM signalbox.next`).toEqual([]);
      await Promise.all(stores.map((store) => store.close()));
    });
  },
);

import fc from "fast-check";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import { describe, expect, it, onTestFinished, vi } from "vitest";

import { canonicalJson } from "../../src/canon/json.ts";
import { GENESIS } from "../../src/evidence/chain.ts";
import type { ImportedRecord } from "../../src/lifecycle/records.ts";
import { MIGRATIONS as POSTGRES_MIGRATIONS } from "../../src/store/postgres/migrate.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import type { Store } from "../../src/store/port.ts";
import { IN_MEMORY, openDatabase } from "../../src/store/sqlite/database.ts";
import { MIGRATIONS as SQLITE_MIGRATIONS } from "../../src/store/sqlite/migrations.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { StoreEngine } from "../../src/store/sqlite/store-engine.ts";
import { appendOne, readVerifiedPolicyLog, recordText, rowsAfter } from "./policy-log-rows.ts";
import { NO_POSTGRES, startTestServer } from "./postgres/server.ts";
import { temporaryFolder } from "./temporary-folder.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** A policy as older versions kept it: the digests that it had one after the other, when each was first seen, and its mode. */
interface OldPolicy {
  readonly id: string;
  readonly mode: "shadow" | "enforce";
  readonly contents: readonly { readonly digest: string; readonly at: number }[];
}

/** Some with a digest that came back, as it did when files were changed back: it had a new number each time. */
const OLD: readonly OldPolicy[] = [
  {
    id: "residency",
    mode: "enforce",
    contents: ["a", "b", "a"].map((digit, at) => ({ digest: digit.repeat(64), at })),
  },
  { id: "budget", mode: "shadow", contents: [{ digest: "c".repeat(64), at: 1_795_000_000_123 }] },
  { id: "Zone", mode: "shadow", contents: [{ digest: "d".repeat(64), at: 9 }] },
];

/** In the order of policies by their bytes, and of numbers; to the letter. */
function expectedRecords(policies: readonly OldPolicy[]): readonly string[] {
  return policies
    .toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
    .flatMap(({ id, mode, contents }) =>
      contents.map(({ digest, at }, index) => {
        const record: ImportedRecord = { kind: "imported", policy: id, at, revision: index + 1, digest, mode };
        return canonicalJson(record);
      }),
    );
}

/** A file as the version before the log left it. */
function oldFile(policies: readonly OldPolicy[]): string {
  const path = join(temporaryFolder(), "signalbox.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA application_id = 0x53425831");
  database.exec(
    "CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
  );
  for (const { version, name, sql } of SQLITE_MIGRATIONS.filter((one) => one.version < 10)) {
    if (typeof sql === "string") database.exec(sql);
    else sql(database);
    database.prepare("INSERT INTO migrations VALUES (?, ?, 0)").run(version, name);
  }
  const insert = database.prepare("INSERT INTO policies VALUES (?, ?, ?, ?)");
  const remember = database.prepare("INSERT INTO policy_revisions VALUES (?, ?, ?, ?)");
  for (const { id, mode, contents } of policies) {
    insert.run(id, contents.at(-1)?.digest ?? "", contents.length, mode);
    for (const [index, { digest, at }] of contents.entries()) remember.run(id, index + 1, digest, at);
  }
  database.close();
  return path;
}

/** Tables as the version before the log left them, in a new database. */
async function oldSchema(url: string, policies: readonly OldPolicy[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`CREATE SCHEMA signalbox; CREATE TABLE signalbox.migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  for (const { version, name, sql: step } of POSTGRES_MIGRATIONS.filter((one) => one.version < 9)) {
    await sql.unsafe(String(step));
    await sql`INSERT INTO signalbox.migrations (version, name) VALUES (${version}, ${name})`;
  }
  const rows = JSON.stringify(policies.map((policy) => ({ ...policy, digest: policy.contents.at(-1)?.digest })));
  await sql.unsafe(
    `INSERT INTO signalbox.policies SELECT p.id, p.digest, json_array_length(p.contents), p.mode
     FROM json_to_recordset($1::text::json) AS p (id text, digest text, mode text, contents json)`,
    [rows],
  );
  await sql.unsafe(
    `INSERT INTO signalbox.policy_revisions SELECT p.id, c.place, c.content ->> 'digest',
       timestamptz 'epoch' + (c.content ->> 'at')::bigint * interval '1 millisecond' + interval '0.4 milliseconds'
     FROM json_to_recordset($1::text::json) AS p (id text, contents json),
       json_array_elements(p.contents) WITH ORDINALITY AS c (content, place)`,
    [rows],
  );
  await sql.end();
}

/** What a replica of the version before does while new ones are there: reads, and observes its files anew. */
async function expectOldReplicaGoesOn(url: string, old: readonly OldPolicy[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const observe = (digestOf: (policy: OldPolicy) => string): Promise<readonly unknown[]> =>
    sql.unsafe("SELECT id, revision FROM signalbox.observe_policies($1::text::jsonb)", [
      JSON.stringify(old.map((policy) => ({ id: policy.id, digest: digestOf(policy), initialMode: "shadow" }))),
    ]);
  expect(await observe(({ contents }) => contents.at(-1)?.digest ?? "")).toHaveLength(old.length);
  // A number that it gave now would be given again by the log.
  if (old.length > 0) await expect(observe(() => "new")).rejects.toThrow("numbered in policy_log");
  expect(await sql`SELECT FROM signalbox.policies`).toHaveLength(old.length);
  await sql.end();
}

async function recordsOf(store: Store): Promise<readonly string[]> {
  return (await readVerifiedPolicyLog(store.policyLog)).map(({ record }) => record);
}

/** Any text that PostgreSQL can hold: no zero character, and no half of a pair. */
const text = fc
  .string({ unit: "binary", minLength: 1, maxLength: 12 })
  .map((value) => value.replaceAll("\0", "0"))
  .filter((value) => value.isWellFormed());

const policies = fc.uniqueArray(
  fc.record({
    id: fc.oneof(text, fc.constantFrom("constructor", "__proto__", '"', "\\", "\n", "\u007f", "\u2028", "🦊")),
    mode: fc.constantFrom("shadow", "enforce"),
    contents: fc.array(fc.record({ digest: text, at: fc.integer({ min: 0, max: 4_000_000_000_000 }) }), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  { selector: ({ id }) => id, maxLength: 60 },
);

describe("the tables of policies of older versions become the beginning of the log", () => {
  it("SQLite: each number one record, and the chain verifies", async () => {
    await fc.assert(
      fc.asyncProperty(policies, async (old) => {
        const store = await openSqliteStore({ path: oldFile(old) });
        const records = await recordsOf(store);
        await store.close();
        expect(records).toEqual(expectedRecords(old));
      }),
      { numRuns: 8, examples: [[[...OLD]], [[]]] },
    );
  });

  it("SQLite: the log goes on from there, over a close", async () => {
    const path = oldFile(OLD);
    const first = await openSqliteStore({ path });
    expect(await recordsOf(first)).toEqual(expectedRecords(OLD));
    await appendOne(first.policyLog, recordText("next"));
    await first.close();
    const second = await openSqliteStore({ path });
    expect(await recordsOf(second)).toEqual([...expectedRecords(OLD), recordText("next")]);
    await second.close();
    const database = new DatabaseSync(path);
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE name IN ('policies', 'policy_revisions')");
    expect(tables.all()).toEqual([]);
    database.close();
  });

  it("SQLite: a file that cannot be taken over stays as it was", async () => {
    const path = oldFile(OLD);
    const spoil = new DatabaseSync(path);
    spoil.exec("CREATE TABLE policy_contents (a)");
    spoil.close();
    await expect(openSqliteStore({ path })).rejects.toThrow("could not be opened");
    const database = new DatabaseSync(path);
    expect(database.prepare("SELECT count(*) AS count FROM policy_revisions").get()).toEqual({ count: 5 });
    expect(database.prepare("SELECT max(version) AS version FROM migrations").get()).toEqual({ version: 9 });
    database.close();
  });

  it.skipIf(NO_POSTGRES !== null)(`PostgreSQL: to the letter as SQLite does ${NO_POSTGRES ?? ""}`, async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    await fc.assert(
      fc.asyncProperty(policies, async (old) => {
        const url = await server.database();
        await oldSchema(url, old);
        // Replicas of the new version that start together: one of them does it.
        const stores = await Promise.all([0, 1].map(() => openPostgresStore({ url })));
        const records = await Promise.all(stores.map(recordsOf));
        await Promise.all(stores.map((store) => store.close()));
        for (const each of records) expect(each).toEqual(expectedRecords(old));
        await expectOldReplicaGoesOn(url, old);
      }),
      { numRuns: 8, examples: [[[...OLD]], [[]]] },
    );
  });
});

it("SQLite's worker refuses rows that do not follow itself, whichever program sends them", () => {
  const engine = new StoreEngine(openDatabase(IN_MEMORY, 0), () => undefined);
  const [row] = rowsAfter(GENESIS, [recordText("p")]);
  if (row === undefined) throw new Error("no row");
  const append = (members: Partial<typeof row>): unknown =>
    engine.answer({ operation: "policy_log.append", expected: GENESIS, rows: [{ ...row, ...members }] }, 0);
  for (const wrong of [
    { hash: "1".repeat(64) },
    { previous: "1".repeat(64) },
    { position: 2 },
    { record: recordText("q") },
  ]) {
    expect(append(wrong)).toMatchObject({ kind: "failed", refused: true });
  }
  expect(append({})).toEqual({ kind: "policy_appended", appended: true });
  expect(append({})).toEqual({ kind: "policy_appended", appended: false });
});

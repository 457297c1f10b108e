import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";

import { type DecisionRecord, type OutcomeRecord, asIdentifier } from "../../src/evidence/record.ts";
import type { Store } from "../../src/store/port.ts";
import { MIGRATIONS } from "../../src/store/sqlite/migrations.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { Facet } from "../../src/governance/increments.ts";
import { HOUR } from "../../src/governance/roll-up.ts";
import { summarise } from "../../src/governance/summarise.ts";
import { groupingOf } from "../governance/agreement.ts";
import { fault } from "./conformance-log.ts";
import { decisionRecord, outcomeRecord } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** As `sqlite/database.ts` writes it. */
const APPLICATION_ID = 0x53_42_58_31;

/** A file as the version before the log left it. */
function oldFile(entries: readonly (readonly [DecisionRecord, OutcomeRecord | null])[]): string {
  const path = join(temporaryFolder(), "signalbox.db");
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${APPLICATION_ID}`);
  database.exec(
    "CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
  );
  for (const { version, name, sql } of MIGRATIONS.filter((migration) => migration.version <= 3)) {
    if (typeof sql !== "string") throw new Error("the first versions are statements only");
    database.exec(sql);
    database.prepare("INSERT INTO migrations VALUES (?, ?, 0)").run(version, name);
  }
  database.exec("INSERT INTO processes (started_at, seen_at, ended_at) VALUES (1, 50, 60)");
  const decide = database.prepare(
    "INSERT INTO decisions (process, at, request_id, workspace, record) VALUES (1, ?, ?, ?, ?)",
  );
  const settle = database.prepare("INSERT INTO outcomes (decision, record) VALUES (?, ?)");
  for (const [decision, outcome] of entries) {
    const { at, requestId, workspace } = decision;
    const { lastInsertRowid } = decide.run(Math.trunc(at), requestId, workspace, JSON.stringify(decision));
    if (outcome !== null) settle.run(lastInsertRowid, JSON.stringify(outcome));
  }
  database.close();
  return path;
}

async function reopened<Result>(path: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openSqliteStore({ path });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

it("takes the evidence of older files over into the chain, in its order and to the letter", async () => {
  const [first, second, third] = ["r1", "r2", "r3"].map((id) =>
    decisionRecord(id, { workspace: asIdentifier("beta") }),
  );
  if (first === undefined || second === undefined || third === undefined) throw new Error("three records");
  const ended: OutcomeRecord = { ...outcomeRecord("r1"), at: 1_795_000_000_900.75 };
  const path = oldFile([
    [first, ended],
    [second, null],
    [third, outcomeRecord("r3", "failed")],
  ]);
  await reopened(path, async (store) => {
    const rows = await store.evidence.log({ after: 0, limit: 10 });
    expect(rows.map(({ position, kind, record }) => [position, kind, record])).toEqual([
      [1, "decision", JSON.stringify(first)],
      [2, "outcome", JSON.stringify(ended)],
      [3, "decision", JSON.stringify(second)],
      [4, "decision", JSON.stringify(third)],
      [5, "outcome", JSON.stringify(outcomeRecord("r3", "failed"))],
    ]);
    expect(await fault(store)).toBeNull();
    const entries = await store.evidence.read({ after: 0, limit: 10, workspace: "beta" });
    expect(entries.map(({ outcome }) => outcome?.terminal)).toEqual(["completed", "unknown", "failed"]);
    // The decision of the process that died is found as open, and ended by pruning.
    await store.evidence.prune(0, 7);
    expect((await store.evidence.head()).position).toBe(6);
    await store.evidence.decide(decisionRecord("r4"));
    expect(await fault(store)).toBeNull();
  });
  const database = new DatabaseSync(path);
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE name IN ('decisions', 'outcomes')").all();
  database.close();
  expect(tables).toEqual([]);
});

it("leaves an older file as it was when it cannot be taken over", async () => {
  const path = oldFile([[decisionRecord("r1"), outcomeRecord("r1")]]);
  const spoil = new DatabaseSync(path);
  spoil.exec("CREATE TABLE evidence_anchors (a)");
  spoil.close();
  await expect(openSqliteStore({ path })).rejects.toThrow("could not be opened");
  const database = new DatabaseSync(path);
  expect(database.prepare("SELECT count(*) AS count FROM outcomes").get()).toEqual({ count: 1 });
  expect(database.prepare("SELECT max(version) AS version FROM migrations").get()).toEqual({ version: 3 });
  database.close();
});

it("counts what older files hold, so that no outcome counts without its decision", async () => {
  const at = 1_795_000_000_000;
  const [first, second] = ["r1", "r2"].map((id) => decisionRecord(id, { workspace: asIdentifier("beta"), at }));
  if (first === undefined || second === undefined) throw new Error("two records");
  const path = oldFile([
    [first, outcomeRecord("r1")],
    [second, null],
  ]);
  await reopened(path, async (store) => {
    // It was open when the file was taken over.
    store.evidence.settle(outcomeRecord("r2", "failed"));
    await store.evidence.flush();
    const hour = Math.floor(at / HOUR);
    const read = (facet: Facet) => store.summary.read({ workspace: "beta", facet, from: hour, until: hour + 1 });
    const { totals } = await summarise(read, groupingOf([]));
    expect(totals).toMatchObject({ requests: 2, running: 0, ended: { terminals: { completed: 1, failed: 1 } } });
  });
});

describe("a file of the version before batches, with a prune, an anchor and running requests", () => {
  /** Written by that version while it ran, so that some counts were not in the cells yet. */
  function version11(): string {
    const path = join(temporaryFolder(), "signalbox.db");
    writeFileSync(path, gunzipSync(readFileSync(join(import.meta.dirname, "files", "version-11.db.gz"))), {
      mode: 0o600,
    });
    return path;
  }
  const HEAD = { position: 98, hash: "0cbc5125e4b9e30a5bf27646500525afee2722f709d79048bd208cf27286a5d0" };

  it("is taken over row by row, and verifies from its anchor", async () => {
    const path = version11();
    const database = new DatabaseSync(path);
    const old = database.prepare("SELECT * FROM evidence_log ORDER BY position").all();
    const open = database.prepare("SELECT position FROM evidence_open ORDER BY position").all();
    const anchors = database.prepare("SELECT position FROM evidence_anchors ORDER BY position").all();
    database.close();
    await reopened(path, async (store) => {
      expect(await store.evidence.head()).toEqual(HEAD);
      const rows = await store.evidence.log({ after: 0, limit: 1_000 });
      expect(
        rows.map(({ position, kind, record, hash, columns }) => ({ position, kind, record, hash, ...columns })),
      ).toEqual(
        old.map(({ position, kind, record, hash, request_id: requestId, at, workspace }) => ({
          position,
          kind,
          record,
          hash,
          requestId,
          at,
          workspace,
          isFound: true,
        })),
      );
      expect(await store.evidence.openDecisions()).toEqual(open.map(({ position }) => position));
      expect(open).toHaveLength(2);
      expect((await store.evidence.anchors()).map(({ position }) => position)).toEqual(
        anchors.map(({ position }) => position),
      );
      expect(rows[0]?.position).toBeGreaterThan(1);
      expect(await fault(store)).toBeNull();
      const [first] = await store.evidence.read({ after: 0, limit: 1, requestId: rows[0]?.columns.requestId ?? "" });
      expect(first?.outcome?.terminal).toBe("completed");
    });
  });

  it("stays as it is while a server of that version has it open, also one that has not written", async () => {
    const path = version11();
    const server = new DatabaseSync(path);
    const version = () => server.prepare("SELECT max(version) AS version FROM migrations").get();
    server.exec("PRAGMA journal_mode = WAL");
    expect(version()).toEqual({ version: 11 });
    await expect(openSqliteStore({ path })).rejects.toThrow(
      /signalbox\.db has the older schema version 11, and another process has it open.*stop it, then try again/,
    );
    expect(version()).toEqual({ version: 11 });
    expect(server.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    server.close();
    await reopened(path, async (store) => {
      expect((await store.evidence.head()).position).toBe(98);
    });
  }, 20_000);

  it("is taken over once by processes that start together", async () => {
    const path = version11();
    const stores = await Promise.all([1, 2, 3].map(() => openSqliteStore({ path })));
    for (const store of stores) expect((await store.evidence.head()).position).toBe(98);
    await Promise.all(stores.map((store) => store.close()));
    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    database.close();
  }, 20_000);

  it("keeps its counts, also those of the rows that are gone, and counts what follows", async () => {
    const path = version11();
    const database = new DatabaseSync(path);
    // Its process runs: otherwise its requests would be ended as unknown.
    database.prepare("UPDATE processes SET seen_at = ?").run(Date.now() + 3_600_000);
    database.close();
    const counts = async (store: Store) => {
      const sums = { requests: 0, running: 0 };
      for (const workspace of ["acme", "grüße"]) {
        const read = (facet: Facet) => store.summary.read({ workspace, facet, from: 0, until: 1_000_000 });
        const { totals } = await summarise(read, groupingOf([]));
        sums.requests += totals.requests;
        sums.running += totals.running ?? 0;
      }
      return sums;
    };
    await reopened(path, async (store) => {
      expect(await counts(store)).toEqual({ requests: 50, running: 2 });
      await store.evidence.decide(decisionRecord("next", { workspace: asIdentifier("acme") }));
      for (const { decision, outcome } of await store.evidence.read({ after: 0, limit: 100 })) {
        if (outcome === null) store.evidence.settle(outcomeRecord(decision.requestId));
      }
      await store.evidence.flush();
      expect(store.evidence.health().lost).toBe(0);
      expect(await counts(store)).toEqual({ requests: 51, running: 0 });
      expect(await fault(store)).toBeNull();
      expect(await store.evidence.prune(Number.MAX_SAFE_INTEGER, Date.now())).toMatchObject({ rows: 92 });
      expect(await counts(store)).toEqual({ requests: 51, running: 0 });
    });
  });
});

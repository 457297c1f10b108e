import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { GENESIS } from "../../src/evidence/chain.ts";
import { DuplicateDecisionError } from "../../src/evidence/evidence-store.ts";
import { summarise } from "../../src/governance/summarise.ts";
import { StoreUnavailableError } from "../../src/canon/error.ts";
import type { KeyRecord } from "../../src/keys/key-store.ts";
import { IN_MEMORY, openDatabase } from "../../src/store/sqlite/database.ts";
import { VERSIONS } from "../../src/store/sqlite/database.ts";
import { newestVersion } from "../../src/store/schema-version.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { storeEngine } from "../../src/store/sqlite/store-engine.ts";
import { groupingOf } from "../governance/agreement.ts";
import { fewOrMany } from "../support/long.ts";
import { describeStore } from "./conformance.ts";
import { issuerRecord } from "./issuer-laws.ts";
import { sharedPolicyLogLaws } from "./policy-log-laws.ts";
import { appendOne, recordText, rowsAfter } from "./policy-log-rows.ts";
import { decisionRecord, keyRecord, outcomeRecord, recordDecision } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

// The engine is the same in memory: `npm run test:long` tries it too.
describe.runIf(fewOrMany(false, true))("without a file", () => {
  describeStore("SQLite in memory", () => openSqliteStore({ path: ":memory:" }));
});
describeStore("SQLite in a file", () =>
  openSqliteStore({ path: join(temporaryFolder(), "signalbox.db") }),
);

sharedPolicyLogLaws(async (count) => {
  const path = databaseFile();
  const stores = await Promise.all(
    Array.from({ length: count }, () => openSqliteStore({ path, busyTimeout: 10_000 })),
  );
  onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
  return stores;
});

const databaseFile = (): string => join(temporaryFolder(), "data", "signalbox.db");

describe("the file", () => {
  it("is for its owner only, as are its folder, its log and the log's index", async () => {
    const path = databaseFile();
    const store = await openSqliteStore({ path });
    await store.keys.create(keyRecord("a"));
    const mode = (file: string): string => (statSync(file).mode & 0o777).toString(8);
    expect(["-wal", "-shm", ""].map((suffix) => mode(path + suffix))).toEqual([
      "600",
      "600",
      "600",
    ]);
    expect(mode(join(path, ".."))).toBe("700");
    await store.close();
  });

  it("is closed to other users again when its mode had been opened", async () => {
    const path = databaseFile();
    await (await openSqliteStore({ path })).close();
    chmodSync(path, 0o644);
    await (await openSqliteStore({ path })).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("is refused where it is a folder or another program's file, and its mode is unchanged", async () => {
    const folder = join(databaseFile(), "..", "folder");
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    chmodSync(folder, 0o755);
    await expect(openSqliteStore({ path: folder })).rejects.toThrow(
      "is a folder or a device, not a file",
    );
    const text = join(folder, "notes.txt");
    writeFileSync(
      text,
      "a text that is long enough to be taken for the header of a database, as it were, or not\n".repeat(
        20,
      ),
    );
    const foreign = join(folder, "foreign.db");
    const database = new DatabaseSync(foreign);
    database.exec("CREATE TABLE theirs (a)");
    database.close();
    for (const path of [text, foreign]) {
      chmodSync(path, 0o664);
      const before = readFileSync(path);
      await expect(openSqliteStore({ path })).rejects.toThrow(
        /another program|could not be opened/,
      );
      expect([statSync(path).mode & 0o777, readFileSync(path).equals(before)]).toEqual([
        0o664,
        true,
      ]);
    }
    expect(statSync(folder).mode & 0o777).toBe(0o755);
  });

  it("keeps everything over a close", async () => {
    const path = databaseFile();
    const first = await openSqliteStore({ path });
    await first.keys.create(keyRecord("a"));
    const row = await appendOne(first.policyLog, recordText("p"));
    const content = { policy: "p", digest: "d", description: "{}", module: Uint8Array.of(1) };
    await first.policyLog.keep(content);
    const decided = recordDecision(first.evidence, decisionRecord("r1"));
    first.evidence.settle(outcomeRecord("r1"));
    await first.close();
    await decided;

    const second = await openSqliteStore({ path });
    expect(await second.keys.get("a")).toEqual(keyRecord("a"));
    expect(await second.policyLog.read({ after: 0, limit: 9 })).toEqual([row]);
    expect(await second.policyLog.content("d")).toEqual(content);
    expect((await second.evidence.read({ after: 0, limit: 9 }))[0]?.outcome).toEqual(
      outcomeRecord("r1"),
    );
    await second.close();
  });

  it("refuses a repeated decision after a restart, although its request has ended", async () => {
    const path = databaseFile();
    const first = await openSqliteStore({ path });
    const decided = recordDecision(first.evidence, decisionRecord("r1"));
    first.evidence.settle(outcomeRecord("r1"));
    await first.close();
    await decided;
    const second = await openSqliteStore({ path });
    await expect(recordDecision(second.evidence, decisionRecord("r1"))).rejects.toThrow(
      DuplicateDecisionError,
    );
    expect((await second.evidence.head()).position).toBe(2);
    await second.close();
  });

  it("can be opened by several at the same first moment", async () => {
    const path = databaseFile();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openSqliteStore({ path })));
    await Promise.all(stores.map((store, index) => store.keys.create(keyRecord(`k${index}`))));
    expect(await stores[0]?.keys.list()).toHaveLength(6);
    await Promise.all(stores.map((store) => store.close()));
  });
});

describe("a file that cannot be used", () => {
  const refusal = async (path: string): Promise<unknown> => {
    const error: unknown = await openSqliteStore({ path }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    return (error as Error).message;
  };

  it("of another program is not changed", async () => {
    const path = join(temporaryFolder(), "other.db");
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE theirs (a)");
    other.close();
    expect(await refusal(path)).toContain("was made by another program");
    const again = new DatabaseSync(path);
    expect(again.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "theirs" }]);
    again.close();
  });

  it("of a newer version is not changed", async () => {
    const path = databaseFile();
    await (await openSqliteStore({ path })).close();
    const newest = newestVersion(VERSIONS);
    const database = new DatabaseSync(path);
    database.exec(`INSERT INTO migrations VALUES (${newest + 1}, 'future', 0)`);
    database.close();
    expect(await refusal(path)).toContain(
      `schema version ${newest + 1}, and this program supports versions up to ${newest}`,
    );
  });

  it("is reported as no database, or as no path for one", async () => {
    const text = join(temporaryFolder(), "notes.txt");
    writeFileSync(
      text,
      "not a database, but long enough to have what could be a header of one".repeat(30),
    );
    expect(await refusal(text)).toContain("not an SQLite database");
    expect(await refusal(join(text, "below", "a.db"))).toMatch(/ENOTDIR|EEXIST/);
  });
});

describe("rules that the tables themselves keep", () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-rules-"));
  const path = join(folder, "signalbox.db");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  beforeAll(async () => {
    const store = await openSqliteStore({ path });
    await store.keys.create(keyRecord("active"));
    await store.keys.create(keyRecord("revoked"));
    await store.keys.revoke("revoked", 1);
    await recordDecision(store.evidence, decisionRecord("r1"));
    store.evidence.settle(outcomeRecord("r1"));
    await store.evidence.flush();
    await store.evidence.anchor(5);
    await store.policyLog.append(GENESIS, rowsAfter(GENESIS, [recordText("p"), recordText("q")]));
    await store.policyLog.keep({
      policy: "p",
      digest: "d",
      description: "{}",
      module: Uint8Array.of(1),
    });
    await store.close();
  });

  it.each([
    [
      "UPDATE keys SET status = 'active', revoked_at = NULL WHERE id = 'revoked'",
      "never comes back",
    ],
    ["UPDATE keys SET expires_at = expires_at + 1 WHERE id = 'active'", "only moves nearer"],
    ["UPDATE keys SET workspace = 'beta' WHERE id = 'active'", "of a key change"],
    ["UPDATE keys SET exchange = '{}' WHERE id = 'active'", "of a key change"],
    ["UPDATE keys SET scopes = '[]' WHERE id = 'revoked'", "never change"],
    ["DELETE FROM keys", "revoke instead"],
    ["UPDATE evidence_batches SET records = x'00'", "only ever added"],
    ["UPDATE evidence_batches SET hash = replace(hash, 'a', 'b')", "only ever added"],
    [
      "DELETE FROM evidence_batches WHERE last = 2",
      "only pruned from its beginning up to an anchor",
    ],
    [
      "DROP TRIGGER evidence_checkpoint_moves_on; UPDATE evidence_checkpoint SET position = 0; DELETE FROM evidence_batches WHERE last = 1",
      "counted before it is deleted",
    ],
    ["UPDATE evidence_checkpoint SET position = 0", "only moves on"],
    ["DELETE FROM evidence_checkpoint", "is kept"],
    [
      "INSERT INTO evidence_batches SELECT 4, 4, hash, lowest, highest, workspaces, records FROM evidence_batches WHERE last = 1",
      "only ever added at its end",
    ],
    [
      `INSERT INTO evidence_anchors VALUES (1, '${"0".repeat(64)}', 0)`,
      "an anchor has the hash of its row",
    ],
    [
      `INSERT INTO evidence_anchors VALUES (7, '${"0".repeat(64)}', 0)`,
      "an anchor has the hash of its row",
    ],
    ["UPDATE evidence_anchors SET at = 0", "anchors are kept"],
    ["DELETE FROM evidence_anchors", "anchors are kept"],
    ["UPDATE policy_log SET record = '{}'", "only ever added"],
    ["DELETE FROM policy_log WHERE position = 2", "only ever added"],
    [
      "INSERT INTO policy_log SELECT position + 5, previous, hash, record FROM policy_log",
      "only ever added at its end",
    ],
    [
      "INSERT INTO policy_log SELECT 3, previous, hash, record FROM policy_log WHERE position = 2",
      "added at its end",
    ],
    [
      "REPLACE INTO policy_log SELECT position, previous, hash, '{}' FROM policy_log",
      "only ever added at its end",
    ],
    ["UPDATE policy_contents SET module = x'00'", "kept as they are"],
    ["DELETE FROM policy_contents", "kept as they are"],
  ])("refuse %s", (statement, complaint) => {
    const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
    onTestFinished(() => database.close());
    // What a rule lets through would be another test's beginning.
    database.exec("BEGIN");
    expect(() => database.exec(statement)).toThrow(complaint);
  });
});

it("the first content stays, even if it is written again", async () => {
  const path = databaseFile();
  const store = await openSqliteStore({ path });
  const content = { policy: "p", digest: "d", description: "{}", module: Uint8Array.of(1) };
  await store.policyLog.keep(content);
  const database = new DatabaseSync(path);
  // REPLACE would delete the first without asking the trigger that keeps it.
  database.exec("INSERT OR REPLACE INTO policy_contents VALUES ('d', 'other', '{}', x'00')");
  database.close();
  expect(await store.policyLog.content("d")).toEqual(content);
  await store.close();
});

it("a reader of the policy log is notified of appends, and cannot add", async () => {
  const path = databaseFile();
  const writer = await openSqliteStore({ path });
  const reader = await openSqliteStore({ path, readOnly: true });
  let heard = 0;
  await reader.policyLog.watch(() => (heard += 1));
  const row = await appendOne(writer.policyLog, recordText("p"));
  await expect.poll(() => heard, { timeout: 5_000, interval: 20 }).toBe(1);
  expect(await reader.policyLog.read({ after: 0, limit: 9 })).toEqual([row]);
  await expect(reader.policyLog.append(row, rowsAfter(row, ["{}"]))).rejects.toMatchObject({
    applied: "no",
  });
  const content = { policy: "p", digest: "d", description: "{}", module: Uint8Array.of(1) };
  await expect(reader.policyLog.keep(content)).rejects.toThrow("read-only");
  expect(await writer.policyLog.content("d")).toBeNull();
  await Promise.all([writer.close(), reader.close()]);
});

describe("two stores on one file, as two processes have them", () => {
  it("get each other's key changes within a second, and are not notified of evidence", async () => {
    const path = databaseFile();
    const [server, command] = [await openSqliteStore({ path }), await openSqliteStore({ path })];
    const seen: (readonly KeyRecord[])[] = [];
    await server.keys.watch((records) => seen.push(records));
    for (const change of [
      () => command.keys.create(keyRecord("a")),
      () => command.keys.revoke("a", 9),
    ]) {
      const calls = seen.length;
      await change();
      const changedAt = performance.now();
      while (seen.length === calls && performance.now() - changedAt < 1_000) await delay(5);
      expect(seen).toHaveLength(calls + 1);
    }
    expect(seen.at(-1)).toMatchObject([{ id: "a", status: "revoked", revokedAt: 9 }]);
    await recordDecision(command.evidence, decisionRecord("r1"));
    await delay(500);
    expect(seen).toHaveLength(3);
    await Promise.all([server.close(), command.close()]);
  });

  it("get each other's issuers within a second", async () => {
    const path = databaseFile();
    const [server, other] = [await openSqliteStore({ path }), await openSqliteStore({ path })];
    const seen: string[] = [];
    await server.issuers.watch((records) => seen.push(...records.map(({ kid }) => kid)));
    await other.issuers.publish(issuerRecord("k"));
    await expect.poll(() => seen, { timeout: 5_000, interval: 20 }).toEqual(["k"]);
    await Promise.all([server.close(), other.close()]);
  });

  it("count an outcome of a decision that the other one wrote", async () => {
    const path = databaseFile();
    const [one, other] = [await openSqliteStore({ path }), await openSqliteStore({ path })];
    await recordDecision(one.evidence, decisionRecord("r1"));
    other.evidence.settle(outcomeRecord("r1"));
    await other.evidence.flush();
    const query = { workspace: "acme-prod", from: 0, until: 1_000_000 };
    const summary = await summarise(
      (facet) => one.summary.read({ ...query, facet }),
      groupingOf(["route"]),
    );
    expect(summary.groups).toMatchObject([
      {
        group: { route: "chat-large" },
        measures: { requests: 1, running: 0, ended: { fallbacks: 0 } },
      },
    ]);
    await Promise.all([one.close(), other.close()]);
  });

  it("write evidence at once, each decision once", async () => {
    const path = databaseFile();
    const [left, right] = [await openSqliteStore({ path }), await openSqliteStore({ path })];
    await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        recordDecision((index % 2 === 0 ? left : right).evidence, decisionRecord(`r${index}`)),
      ),
    );
    const entries = await left.evidence.read({ after: 0, limit: 1_000 });
    expect(new Set(entries.map(({ decision }) => decision.requestId)).size).toBe(400);
    await Promise.all([left.close(), right.close()]);
  });

  it("distinguish a running decision from one of a dead process", async () => {
    const path = databaseFile();
    const [gone, reader] = [await openSqliteStore({ path }), await openSqliteStore({ path })];
    await recordDecision(gone.evidence, decisionRecord("r1"));
    expect((await reader.evidence.read({ after: 0, limit: 1 }))[0]?.outcome).toBeNull();
    await gone.close();
    expect((await reader.evidence.read({ after: 0, limit: 1 }))[0]?.outcome).toMatchObject({
      requestId: "r1",
      terminal: "unknown",
      status: 0,
      attempts: [],
    });
    await reader.close();
  });
});

describe("another process that holds the write lock", () => {
  it("makes decisions fail in bounded time; later ones are written again", async () => {
    const path = databaseFile();
    const store = await openSqliteStore({ path, busyTimeout: 50 });
    await recordDecision(store.evidence, decisionRecord("before"));
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const startedAt = performance.now();
    await expect(recordDecision(store.evidence, decisionRecord("during"))).rejects.toMatchObject({
      name: "EvidenceUnavailableError",
      reason: "failed",
    });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(store.evidence.health()).toMatchObject({ state: "unavailable", refused: 1 });
    await expect(store.keys.create(keyRecord("a"))).rejects.toThrow(
      "another process holds the database",
    );
    const lease = { holder: "a", now: 0, until: 1, counters: [], slots: [] };
    await expect(store.limits.lease(lease)).rejects.toMatchObject({
      applied: "no",
      permanent: false,
    });
    // An outcome must survive the trouble.
    store.evidence.settle(outcomeRecord("before"));
    await expect(store.evidence.flush()).rejects.toMatchObject({ reason: "failed" });
    other.exec("ROLLBACK");
    other.close();
    await recordDecision(store.evidence, decisionRecord("after"));
    await store.evidence.flush();
    expect(store.evidence.health()).toMatchObject({ state: "ok", waiting: 0, lost: 0 });
    const entries = await store.evidence.read({ after: 0, limit: 9 });
    expect(entries.map(({ decision }) => decision.requestId)).toEqual([
      "before",
      "during",
      "after",
    ]);
    expect(entries[0]?.outcome?.terminal).toBe("completed");
    await store.close();
  });
});
it("SQLite's worker itself refuses rows out of sequence, from every program", () => {
  const engine = storeEngine(openDatabase(IN_MEMORY, 0), () => undefined);
  const [row] = rowsAfter(GENESIS, [recordText("p")]);
  if (row === undefined) throw new Error("no row");
  const append = (members: Partial<typeof row>): unknown =>
    engine.answer(
      { operation: "policyLog.append", parameters: [GENESIS, [{ ...row, ...members }]] },
      0,
    );
  for (const wrong of [
    { hash: "1".repeat(64) },
    { previous: "1".repeat(64) },
    { position: 2 },
    { record: recordText("q") },
  ]) {
    expect(append(wrong)).toMatchObject({ kind: "failed", permanent: true });
  }
  expect(append({})).toEqual({ kind: "done", value: true });
  expect(append({})).toEqual({ kind: "done", value: false });
});

import postgres from "postgres";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { bootstrapKey } from "../../../src/cli/serve/serve.ts";
import { GENESIS } from "../../../src/evidence/chain.ts";
import { KeyRotatedError, type KeyRecord } from "../../../src/keys/key-store.ts";
import { StoreUnavailableError } from "../../../src/canon/error.ts";
import { VERSIONS } from "../../../src/store/postgres/link.ts";
import { newestVersion } from "../../../src/store/schema-version.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/open.ts";
import { Pool } from "../../../src/store/postgres/pool.ts";
import { parsePostgresUrl } from "../../../src/store/postgres/settings.ts";
import { describeStore } from "../conformance.ts";
import { sharedPolicyLogLaws } from "../policy-log-laws.ts";
import { readVerifiedPolicyLog, recordText, rowsAfter } from "../policy-log-rows.ts";
import { decisionRecord, keyRecord, outcomeRecord, recordDecision } from "../records.ts";
import { readVerifiedLog, requestIds } from "../verified-log.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

/** Nothing here is about time: a loaded machine may take its own. */
const PATIENT = {
  bounds: { statementTimeout: 20_000, connectTimeout: 20_000 },
  evidence: { maxWait: 30_000 },
};
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const TWO_ROWS = rowsAfter(GENESIS, [recordText("p"), recordText("q")]);
const [FOLLOWING = { position: 0, previous: "", hash: "", record: "" }] = rowsAfter(
  TWO_ROWS[1] ?? GENESIS,
  ["{}"],
);

const numbers = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

describe.skipIf(NO_POSTGRES !== null)(`a real PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  const open = async (url: string): Promise<PostgresStore> => {
    const store = await openPostgresStore({ url, ...PATIENT });
    onTestFinished(() => store.close());
    return store;
  };
  /** Statements as an operator would give them, on a connection of their own. */
  const operator = (url: string): postgres.Sql => {
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    onTestFinished(() => sql.end({ timeout: 0 }));
    return sql;
  };
  const refusal = async (url: string, create = true): Promise<string> => {
    const error: unknown = await openPostgresStore({ url, create, ...PATIENT }).then(
      (store) => store.close(),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(StoreUnavailableError);
    return String(error);
  };

  const empty: string[] = [];
  /**
   * A store over an empty database, which another store gets after it: making a database costs more
   * than most tests.
   */
  const openNew = async (): Promise<PostgresStore> => {
    const url = empty.pop() ?? (await server.database());
    const store = await openPostgresStore({ url, ...PATIENT });
    let isClosed = false;
    const close = async (): Promise<void> => {
      await store.close();
      if (isClosed) return;
      isClosed = true;
      const sql = postgres(url, { max: 1, onnotice: () => undefined });
      await sql`DROP SCHEMA signalbox CASCADE`;
      await sql.end();
      empty.push(url);
    };
    return { ...store, close };
  };
  describeStore("PostgreSQL", openNew);

  sharedPolicyLogLaws(async (count) => {
    const url = await server.database();
    return Promise.all(numbers(count).map(() => open(url)));
  });

  it("prunes more than one step, each up to an anchor", async () => {
    const store = await openNew();
    onTestFinished(() => store.close());
    const ids = numbers(6_100).map((index) => `r${index}`);
    await Promise.all(
      ids.map((id) => recordDecision(store.evidence, decisionRecord(id, { at: 1 }))),
    );
    for (const id of ids) store.evidence.settle({ ...outcomeRecord(id), at: 2 });
    await store.evidence.flush();
    await store.evidence.head();
    await recordDecision(store.evidence, decisionRecord("kept", { at: 10 }));
    const pruned = await store.evidence.prune(5, 20);
    expect(pruned).toMatchObject({ anchor: { position: 12_200, at: 20 }, rows: 12_200 });
    expect(await readVerifiedLog(store.evidence, pruned.anchor ?? undefined)).toHaveLength(1);
  });

  describe("the schema", () => {
    it("is made once when several replicas start at the same first moment", async () => {
      const url = await server.database();
      const stores = await Promise.all(numbers(6).map(() => open(url)));
      await Promise.all(stores.map((store, index) => store.keys.create(keyRecord(`k${index}`))));
      expect(await stores[0]?.keys.list()).toHaveLength(6);
      const versions = await operator(
        url,
      )`SELECT version FROM signalbox.migrations ORDER BY version`;
      expect(versions.map((row) => Number(row.version))).toEqual([VERSIONS.baseline.version]);
    });

    it("of a newer version is refused and not changed", async () => {
      const url = await server.database();
      await (await open(url)).close();
      const newest = newestVersion(VERSIONS);
      await operator(
        url,
      )`INSERT INTO signalbox.migrations (version, name) VALUES (${newest + 1}, 'future')`;
      expect(await refusal(url)).toContain(
        `schema version ${newest + 1}, and this program supports versions up to ${newest}; run the newer program`,
      );
    });

    it("of another program is refused and not changed", async () => {
      const url = await server.database();
      const sql = operator(url);
      await sql`CREATE SCHEMA signalbox`;
      await sql`CREATE TABLE signalbox.keys (theirs text)`;
      expect(await refusal(url)).toContain("holds tables of another program");
      expect(await sql`SELECT theirs FROM signalbox.keys`).toEqual([]);
    });

    it("is not made by a command that only reads", async () => {
      const url = await server.database();
      expect(await refusal(url, false)).toContain("has no tables of Signalbox yet");
      expect((await operator(url)`SELECT to_regnamespace('signalbox') AS schema`)[0]).toEqual({
        schema: null,
      });
    });

    it("can be used by a user with the grants of docs/storage.md", async () => {
      const url = await server.database();
      await (await open(url)).close();
      const sql = operator(url);
      const role = `runtime_${process.pid}`;
      const page = readFileSync(new URL("../../../docs/storage.md", import.meta.url), "utf8");
      const grants = /```sql\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
      await sql.unsafe(`CREATE ROLE ${role} LOGIN; ${grants.replaceAll("signalbox_server", role)}`);
      const other = new URL(url);
      other.username = role;
      const store = await open(other.href);
      await store.keys.create(keyRecord("a"));
      await store.keys.rotate(
        "a",
        keyRecord("b", { rotatedFrom: "a", createdAt: 1_100_000 }),
        1_200_000,
      );
      await store.keys.touch([{ id: "b", at: 1 }]);
      await store.keys.revoke("b", 2);
      await store.keys.watch(() => undefined);
      expect(await store.policyLog.append(GENESIS, rowsAfter(GENESIS, [recordText("p")]))).toBe(
        true,
      );
      const content = { policy: "p", digest: "A", description: "{}", module: Uint8Array.of(1) };
      await store.policyLog.keep(content);
      expect(await store.policyLog.content("A")).toEqual(content);
      expect(await store.policyLog.read({ after: 0, limit: 1 })).toHaveLength(1);
      await recordDecision(store.evidence, decisionRecord("r1"));
      store.evidence.settle(outcomeRecord("r1"));
      await store.evidence.flush();
      await store.tend();
      await store.evidence.anchor(1);
      expect(await store.summary.workspaces()).toEqual(["acme-prod"]);
      const slots = [{ subject: "workspace:a", ceiling: 2, inUse: 1, want: 1 }];
      await store.limits.lease({ holder: "a", now: 1, until: 2, counters: [], slots });
      expect(await store.limits.prune(700_000, 10)).toBe(1);
      await store.issuers.publish({ kid: "k", publicKey: "p", expiresAt: 1 });
      expect(await store.issuers.prune(2)).toBe(1);
      expect(await store.evidence.read({ after: 0, limit: 1 })).toHaveLength(1);
      expect(await readVerifiedLog(store.evidence)).toHaveLength(2);
    });

    it("refuses statements that break its rules", async () => {
      const url = await server.database();
      const store = await open(url);
      await store.keys.create(keyRecord("active"));
      await store.keys.create(keyRecord("revoked"));
      await store.keys.revoke("revoked", 1);
      await recordDecision(store.evidence, decisionRecord("r1"));
      await store.evidence.anchor(1);
      store.evidence.settle(outcomeRecord("r1"));
      await store.evidence.flush();
      await store.evidence.head();
      const sql = operator(url);
      // A process without a row: its batches never become a part of the log.
      await sql`INSERT INTO signalbox.evidence_written VALUES (DEFAULT, 9, 1, '{}', '')`;
      for (const [statement, complaint] of [
        // First, because the store counts rows in the background.
        ["DELETE FROM signalbox.evidence_batches WHERE last = 1", "counted before it is deleted"],
        ["UPDATE signalbox.evidence_written SET records = ''", "only ever added"],
        ["TRUNCATE signalbox.evidence_written", "only ever added"],
        ["DELETE FROM signalbox.evidence_written", "goes into the log before"],
        [
          "UPDATE signalbox.keys SET status = 'active', revoked_at = NULL WHERE id = 'revoked'",
          "never comes back",
        ],
        [
          "UPDATE signalbox.keys SET expires_at = expires_at + 1 WHERE id = 'active'",
          "only moves nearer",
        ],
        ["UPDATE signalbox.keys SET workspace = 'beta' WHERE id = 'active'", "of a key change"],
        ["UPDATE signalbox.keys SET exchange = '{}' WHERE id = 'active'", "of a key change"],
        ["UPDATE signalbox.keys SET scopes = '[]' WHERE id = 'revoked'", "never change"],
        ["DELETE FROM signalbox.keys", "revoke instead"],
        ["TRUNCATE signalbox.keys", "revoke instead"],
        ["UPDATE signalbox.evidence_batches SET records = ''", "only ever added"],
        ["TRUNCATE signalbox.evidence_batches", "only ever added"],
        ["DELETE FROM signalbox.evidence_batches", "up to an anchor only"],
        ["DELETE FROM signalbox.evidence_batches WHERE last = 2", "up to an anchor only"],
        ["DELETE FROM signalbox.evidence_anchors", "anchors are kept"],
        ["UPDATE signalbox.evidence_anchors SET hash = ''", "anchors are kept"],
        ["UPDATE signalbox.evidence_head SET position = 1", "only moves on"],
        ["DELETE FROM signalbox.evidence_head", "is kept"],
        ["DELETE FROM signalbox.roll_up_cursor", "is kept"],
        ["UPDATE signalbox.roll_up_cursor SET position = -1", "only moves on"],
        ["UPDATE signalbox.issuers SET public_key = 'another'", "never change"],
      ] as const) {
        await expect(sql.unsafe(statement), statement).rejects.toThrow(complaint);
      }
    });

    it("refuses statements that break the rules of the policy log", async () => {
      const url = await server.database();
      const store = await open(url);
      await store.policyLog.append(GENESIS, TWO_ROWS);
      const content = { policy: "p", digest: "d", description: "{}", module: Uint8Array.of(1) };
      await store.policyLog.keep(content);
      const sql = operator(url);
      const { previous, hash } = FOLLOWING;
      const append = "INSERT INTO signalbox.policy_log VALUES";
      const forged = JSON.stringify([{ position: 3, previous, hash: "0", record: "{}" }]);
      for (const [statement, complaint] of [
        ["UPDATE signalbox.policy_log SET record = '{}'", "only ever added"],
        ["DELETE FROM signalbox.policy_log WHERE position = 2", "only ever added"],
        ["TRUNCATE signalbox.policy_log", "only ever added"],
        [`${append} (4, '${previous}', '${hash}', '{}')`, "at its end"],
        [`${append} (2, '${previous}', '${hash}', '{}')`, "at its end"],
        [`${append} (3, '${GENESIS.hash}', '${hash}', '{}')`, "at its end"],
        [`${append} (3, '${previous}', '${GENESIS.hash}', '{}')`, "that follows"],
        [`${append} (3, '${previous}', '${hash}', '{ }')`, "that follows"],
        [`SELECT signalbox.append_policy_log(2, '${previous}', '${forged}')`, "that follows"],
        ["UPDATE signalbox.policy_contents SET module = ''", "kept as they are"],
        ["DELETE FROM signalbox.policy_contents", "kept as they are"],
        ["TRUNCATE signalbox.policy_contents", "kept as they are"],
      ] as const) {
        await expect(sql.unsafe(statement), statement).rejects.toThrow(complaint);
      }
      expect(await readVerifiedPolicyLog(store.policyLog)).toEqual(TWO_ROWS);
      expect(await store.policyLog.content("d")).toEqual(content);
    });
  });

  describe("a log that differs from this process's own writes, as after a failover to a replica that lags", () => {
    const TABLES = ["batches", "head", "written", "requests", "processes"];
    /** Writes decisions, each a batch of its own. */
    async function decide(store: PostgresStore, ids: readonly string[]): Promise<void> {
      for (const id of ids) {
        await recordDecision(store.evidence, decisionRecord(id));
        await store.evidence.head();
      }
    }
    /**
     * Everything after the decisions `ids` goes, as if it had never arrived; gives what brings it
     * back.
     */
    async function fallBack(
      url: string,
      store: PostgresStore,
      ids: readonly string[],
    ): Promise<() => Promise<void>> {
      const sql = operator(url);
      const copy = async (schema: string): Promise<void> => {
        await sql.unsafe(`CREATE SCHEMA ${schema}`);
        for (const table of TABLES) {
          await sql.unsafe(
            `CREATE TABLE ${schema}.${table} AS SELECT * FROM signalbox.evidence_${table}`,
          );
        }
      };
      const restore = (schema: string) =>
        sql.begin(async (transaction) => {
          await transaction`SET LOCAL session_replication_role = replica`;
          for (const table of TABLES) {
            await transaction.unsafe(`DELETE FROM signalbox.evidence_${table}`);
            await transaction.unsafe(
              `INSERT INTO signalbox.evidence_${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${schema}.${table}`,
            );
          }
        });
      await decide(store, ids);
      await copy("earlier");
      await decide(store, ["lost"]);
      await copy("later");
      await restore("earlier");
      return () => restore("later").then(() => undefined);
    }
    const rowsOf = async (url: string) =>
      Number(
        (
          await operator(url)`SELECT sum(last - first + 1) AS rows FROM signalbox.evidence_batches`
        )[0]?.rows,
      );

    it("gets no rows while it ends too early, and continues once it is whole", async () => {
      const url = await server.database();
      const store = await open(url);
      const bringBack = await fallBack(url, store, ["r1", "r2"]);
      await expect(recordDecision(store.evidence, decisionRecord("r4"))).rejects.toMatchObject({
        reason: "failed",
      });
      expect(store.evidence.health()).toMatchObject({
        state: "unavailable",
        fault: { cause: "log_behind", file: null },
      });
      expect(await rowsOf(url)).toBe(2);
      await bringBack();
      await expect.poll(() => store.evidence.health().fault, { timeout: 10_000 }).toBeUndefined();
      await recordDecision(store.evidence, decisionRecord("r5"));
      await store.evidence.flush();
      expect((await readVerifiedLog(store.evidence)).map(({ position }) => position)).toEqual([
        1, 2, 3, 4, 5,
      ]);
    });

    it("is noticed without a request, and where others have gone on from its earlier end", async () => {
      const url = await server.database();
      const store = await openPostgresStore({ url, ...PATIENT });
      // What it could not write stays unwritten.
      onTestFinished(() => store.close().catch(() => undefined));
      await fallBack(url, store, ["r1", "r2"]);
      await expect
        .poll(() => store.evidence.health().fault, { timeout: 10_000 })
        .toMatchObject({ cause: "log_behind" });
      const other = await open(url);
      await decide(other, ["o3", "o4"]);
      await expect
        .poll(() => store.evidence.health().fault, { timeout: 10_000 })
        .toMatchObject({ cause: "log_differs" });
      await expect(recordDecision(store.evidence, decisionRecord("r4"))).rejects.toMatchObject({
        reason: "failed",
      });
      expect(await rowsOf(url)).toBe(4);
    });

    it("is not reported after a prune, nor after rows of another replica", async () => {
      const url = await server.database();
      const store = await open(url);
      await recordDecision(store.evidence, decisionRecord("r1"));
      store.evidence.settle(outcomeRecord("r1"));
      await store.evidence.flush();
      expect(await store.evidence.prune(Date.now() + 1, Date.now())).toMatchObject({ rows: 2 });
      const other = await open(url);
      await recordDecision(other.evidence, decisionRecord("o1"));
      await expect.poll(() => store.evidence.health().head?.position, { timeout: 10_000 }).toBe(3);
      await recordDecision(store.evidence, decisionRecord("r2"));
      await other.evidence.head();
      await expect
        .poll(() => store.evidence.health(), { timeout: 10_000 })
        .toMatchObject({ state: "ok", head: { position: 4 } });
    });
  });

  it("connects with jit and enable_sort off", async () => {
    const bounds = { connections: 1, statementTimeout: 20_000 };
    const pool = new Pool(parsePostgresUrl(await server.database()), bounds);
    onTestFinished(() => pool.destroy());
    const settings =
      "SELECT current_setting('jit') AS jit, current_setting('enable_sort') AS enable_sort";
    expect(await pool.query(settings, [], 20_000)).toEqual([{ jit: "off", enable_sort: "off" }]);
  });

  describe("two replicas", () => {
    const pair = async (): Promise<[PostgresStore, PostgresStore, string]> => {
      const url = await server.database();
      return [await open(url), await open(url), url];
    };

    it("get each other's key changes within a second, with the notifications and without", async () => {
      const [watching, changing, url] = await pair();
      const sql = operator(url);
      const seen: (readonly KeyRecord[])[] = [];
      await watching.keys.watch((records) => seen.push(records));
      const within = async (change: () => Promise<unknown>): Promise<number> => {
        const calls = seen.length;
        await change();
        const changedAt = performance.now();
        while (seen.length === calls && performance.now() - changedAt < 2_000) await delay(2);
        expect(seen).toHaveLength(calls + 1);
        return performance.now() - changedAt;
      };
      const listeners = () => sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'`;
      await expect
        .poll(
          async () =>
            (
              await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`
            ).length,
        )
        .toBe(1);
      expect(await within(() => changing.keys.create(keyRecord("a")))).toBeLessThan(1_000);
      expect(await listeners()).toHaveLength(1);
      expect(await within(() => changing.keys.revoke("a", 9))).toBeLessThan(1_000);
      expect(seen.at(-1)).toMatchObject([{ id: "a", status: "revoked", revokedAt: 9 }]);
      // By hand, too: the numbers are the table's own doing.
      await changing.keys.create(keyRecord("b"));
      await expect.poll(() => seen.flat().some(({ id }) => id === "b")).toBe(true);
      expect(
        await within(
          () => sql`UPDATE signalbox.keys SET status = 'revoked', revoked_at = 3 WHERE id = 'b'`,
        ),
      ).toBeLessThan(1_000);
      // The listener comes back by itself.
      await expect
        .poll(
          async () =>
            (
              await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`
            ).length,
          {
            timeout: 3_000,
          },
        )
        .toBe(1);
    });

    it("are announced by a notification: much sooner than looking every half second would", async () => {
      const [watching, changing, url] = await pair();
      let heard = 0;
      await watching.keys.watch((records) => (heard += records.length));
      const listening = (): Promise<readonly unknown[]> =>
        operator(
          url,
        )`SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`;
      await expect.poll(async () => (await listening()).length).toBe(1);
      const startedAt = performance.now();
      for (let change = 1; change <= 8; change += 1) {
        await changing.keys.create(keyRecord(`k${change}`));
        await expect.poll(() => heard, { interval: 5, timeout: 10_000 }).toBe(change);
      }
      // Each change is made just after the last was heard; without notifications each would take
      // half a second.
      expect(performance.now() - startedAt).toBeLessThan(2_500);
    });

    it("get their own changes once", async () => {
      const [store] = await pair();
      const calls: (readonly string[])[] = [];
      await store.keys.watch((records) => calls.push(records.map(({ id }) => id)));
      await store.keys.create(keyRecord("a"));
      await store.keys.revoke("a", 1);
      await delay(1_200);
      expect(calls).toEqual([[], ["a"], ["a"]]);
    });

    it("add to the policy log one after the other: a read after waiting returns the newest row", async () => {
      const [store, , url] = await pair();
      await store.policyLog.append(GENESIS, TWO_ROWS);
      const head = await store.policyLog.head();
      let late: readonly Promise<boolean>[] = [];
      await operator(url).begin(async (sql) => {
        await sql`SELECT signalbox.append_policy_log(2, ${head.hash}, ${JSON.stringify([FOLLOWING])}::text::json)`;
        late = [head, FOLLOWING].map((expected) =>
          store.policyLog.append(expected, rowsAfter(expected, [recordText("late")])),
        );
        await delay(300);
      });
      expect(await Promise.all(late)).toEqual([false, true]);
      expect(await readVerifiedPolicyLog(store.policyLog)).toHaveLength(4);
    });

    it("report a position that was inserted by hand as a conflict", async () => {
      const [store, , url] = await pair();
      await store.policyLog.append(GENESIS, TWO_ROWS);
      const head = await store.policyLog.head();
      let appended: Promise<boolean> = Promise.resolve(true);
      await operator(url).begin(async (sql) => {
        const { position, previous, hash, record } = FOLLOWING;
        // Without the function there is no lock: the primary key is what is left.
        await sql`INSERT INTO signalbox.policy_log VALUES (${position}, ${previous}, ${hash}, ${record})`;
        appended = store.policyLog.append(head, rowsAfter(head, [recordText("late")]));
        await delay(300);
      });
      expect(await appended).toBe(false);
      expect(await readVerifiedPolicyLog(store.policyLog)).toHaveLength(3);
    });

    it("rotate one key at once: one of them does, and the others are refused", async () => {
      const [left, right] = await pair();
      await left.keys.create(keyRecord("a"));
      const rotations = numbers(8).map((index) =>
        (index % 2 === 0 ? left : right).keys.rotate(
          "a",
          keyRecord(`b${index}`, { createdAt: 1_100_000 }),
          1_900_000 - index,
        ),
      );
      const settled = await Promise.allSettled(rotations);
      const winner = settled.findIndex(({ status }) => status === "fulfilled");
      const refused = settled.filter((rotation) => rotation.status === "rejected");
      expect(refused.filter(({ reason }) => reason instanceof KeyRotatedError)).toHaveLength(7);
      expect(await right.keys.get("a")).toMatchObject({
        expiresAt: 1_900_000 - winner,
        replacedBy: `b${winner}`,
      });
      expect(await left.keys.list()).toHaveLength(2);
    });

    it("write one chain without a gap, each record once", async () => {
      const [left, right] = await pair();
      await Promise.all(
        numbers(600).map(async (index) => {
          const { evidence } = index % 2 === 0 ? left : right;
          await recordDecision(evidence, decisionRecord(`r${index}`));
          evidence.settle(outcomeRecord(`r${index}`));
          if (index % 7 === 0) await evidence.flush();
        }),
      );
      await Promise.all([left.evidence.flush(), right.evidence.flush()]);
      const rows = await readVerifiedLog(left.evidence);
      expect(rows).toHaveLength(1_200);
      expect(new Set(requestIds(rows, "decision")).size).toBe(600);
      expect(new Set(requestIds(rows, "outcome")).size).toBe(600);
      expect(left.evidence.health()).toMatchObject({ state: "ok", lost: 0, refused: 0 });
      const heads = [
        left.evidence.health().head?.position ?? 0,
        right.evidence.health().head?.position ?? 0,
      ];
      expect(Math.max(...heads)).toBe(1_200);
    });

    it("lease the same limits in any order: no request waits in a circle, and no ceiling is passed", async () => {
      const [left, right] = await pair();
      const subjects = numbers(12).map((index) => `key:${index}`);
      const shared = { measure: "tokens", window: "day", start: 0, ceiling: 500 } as const;
      const answers = await Promise.all(
        numbers(240).map((round) => {
          const order = round % 2 === 0 ? subjects : subjects.toReversed();
          const counters = order.map((subject) => ({
            ...shared,
            subject,
            giveBack: 0,
            overdraft: 0,
            need: 1,
            want: 1 + (round % 17),
          }));
          const slots = order.map((subject) => ({
            subject,
            ceiling: 9,
            inUse: 0,
            want: 1 + (round % 5),
          }));
          // Apart: within one lease, who waits for a counter's row has waited for the slots too.
          const lease = { holder: `holder${round % 11}`, now: 1_000, until: 30_000 };
          const { limits } = round % 4 < 2 ? left : right;
          return round % 3 === 0
            ? limits.lease({ ...lease, counters, slots: [] })
            : limits.lease({ ...lease, counters: [], slots });
        }),
      );
      const granted = answers.flatMap(({ counters }) => counters.map((leased) => leased.granted));
      const { counters, slots } = await left.limits.read(1_000);
      expect(counters.map(({ used }) => used)).toEqual(subjects.map(() => 500));
      expect(granted.reduce((sum, amount) => sum + amount, 0)).toBe(12 * 500);
      const taken = answers.flatMap((answer) =>
        answer.slots.map(({ held, others }) => held + others),
      );
      expect(Math.max(...taken)).toBeLessThanOrEqual(9);
      expect(Math.max(...slots.map(({ held }) => held))).toBeLessThanOrEqual(9);
      // Leases run in any order, and a later one of the same holder may want fewer: how many are
      // held in the end is not known. What is left can be had.
      const last = subjects.map((subject) => ({ subject, ceiling: 9, inUse: 0, want: 9 }));
      const rest = await left.limits.lease({
        holder: "last",
        now: 1_000,
        until: 30_000,
        counters: [],
        slots: last,
      });
      expect(rest.slots.map(({ held, others }) => held + others)).toEqual(subjects.map(() => 9));
    });

    it("lease slots one after the other: the sum of other leases is read after they are granted", async () => {
      const [store, , url] = await pair();
      const slot = { subject: "key:a", ceiling: 3, inUse: 0, want: 2 };
      const lease = { now: 1_000, until: 30_000, counters: [], slots: [slot] };
      await store.limits.lease({ ...lease, holder: "earlier", slots: [{ ...slot, want: 0 }] });
      let leased: Promise<unknown> = Promise.resolve();
      await operator(url).begin(async (sql) => {
        await sql`SELECT signalbox.lease_limits('other', 1000, 30000, '[]', '[{"s":"key:a","c":3,"i":0,"w":2}]')`;
        leased = store.limits.lease({ ...lease, holder: "this" });
        await delay(300);
      });
      expect(await leased).toMatchObject({ slots: [{ held: 1, others: 2 }] });
    });

    it("create one first key from the environment when they start at the same moment", async () => {
      const [left, right] = await pair();
      const given = await bootstrapKey(
        await open(await server.database()),
        "acme",
        undefined,
        null,
      );
      if (given === null) throw new Error("no key");
      await Promise.all(
        [left, right, left, right, left, right].map((store) =>
          bootstrapKey(store, "acme", given, null),
        ),
      );
      expect(await left.keys.list()).toMatchObject([
        { workspace: "acme", scopes: ["operations:manage"] },
      ]);
    });

    it("prune concurrently to different ends: each row is removed once, and the rest verifies", async () => {
      const [left, right] = await pair();
      for (const index of numbers(400)) {
        const at = 1_000 + index;
        void recordDecision(left.evidence, decisionRecord(`r${index}`, { at }));
        left.evidence.settle({ ...outcomeRecord(`r${index}`), at });
        if (index % 20 !== 0) continue;
        await left.evidence.flush();
        await left.evidence.head();
      }
      await left.evidence.flush();
      const pruned = await Promise.all(
        numbers(8).map((index) =>
          (index % 2 === 0 ? left : right).evidence.prune(1_100 + 30 * index, 5_000),
        ),
      );
      const anchors = await left.evidence.anchors();
      const removed = pruned.reduce((sum, { rows }) => sum + rows, 0);
      expect(removed).toBe(anchors.at(-1)?.position);
      expect(await readVerifiedLog(left.evidence, anchors.at(-1))).toHaveLength(800 - removed);
      expect(removed).toBeGreaterThan(500);
    });

    it("refuse a request id that the other one has", async () => {
      const [left, right] = await pair();
      await recordDecision(left.evidence, decisionRecord("r1"));
      await expect(recordDecision(right.evidence, decisionRecord("r1"))).rejects.toThrow(
        "recorded already",
      );
      right.evidence.settle(outcomeRecord("r1"));
      await right.evidence.flush();
      left.evidence.settle(outcomeRecord("r1", "failed"));
      await left.evidence.flush();
      expect(left.evidence.health().lost).toBe(1);
      expect(await readVerifiedLog(left.evidence)).toHaveLength(2);
    });

    it("distinguish a running decision from one of a dead process, and end it in the log", async () => {
      const [gone, left, url] = await pair();
      const right = await open(url);
      await recordDecision(gone.evidence, decisionRecord("r1"));
      await Promise.all([
        recordDecision(left.evidence, decisionRecord("l1")),
        recordDecision(right.evidence, decisionRecord("r2")),
      ]);
      await left.tend();
      expect(
        (await left.evidence.read({ after: 0, limit: 9 })).map(({ outcome }) => outcome),
      ).toEqual([null, null, null]);
      await gone.close();
      const [first] = await left.evidence.read({ after: 0, limit: 9 });
      expect(first?.outcome).toMatchObject({
        requestId: "r1",
        terminal: "unknown",
        status: 0,
        attempts: [],
      });
      expect(await readVerifiedLog(left.evidence)).toHaveLength(3);
      await Promise.all([left.tend(), right.tend(), left.tend()]);
      const rows = await readVerifiedLog(left.evidence);
      expect(requestIds(rows, "outcome")).toEqual(["r1"]);
      expect((await left.evidence.read({ after: 0, limit: 9 }))[0]?.outcome).toEqual(
        first?.outcome,
      );
      expect(left.evidence.health().lost + right.evidence.health().lost).toBe(0);
    });

    it("end the requests of a process with an expired lease, and its late outcome is lost", async () => {
      const [paused, living, url] = await pair();
      await recordDecision(paused.evidence, decisionRecord("r1"));
      await recordDecision(living.evidence, decisionRecord("r2"));
      await operator(
        url,
      )`UPDATE signalbox.evidence_processes SET seen_at = seen_at - 30000 WHERE id = 1`;
      await living.tend();
      paused.evidence.settle(outcomeRecord("r1"));
      await paused.evidence.flush();
      const entries = await living.evidence.read({ after: 0, limit: 9, requestId: "r1" });
      expect(entries[0]?.outcome?.terminal).toBe("unknown");
      expect(paused.evidence.health().lost).toBe(1);
      expect(await readVerifiedLog(living.evidence)).toHaveLength(3);
    });
  });
});

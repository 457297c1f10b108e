import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { evidence } from "../../../src/cli/evidence/evidence.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/open.ts";
import { runCommand } from "../../keys/command.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../records.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { readVerifiedLog, requestIds } from "../verified-log.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe.skipIf(NO_POSTGRES !== null)(`written batches in PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  const open = async (url: string): Promise<PostgresStore> => {
    const bounds = { statementTimeout: 20_000, connectTimeout: 20_000 };
    const store = await openPostgresStore({ url, bounds, evidence: { maxWait: 30_000 } });
    onTestFinished(() => store.close().catch(() => undefined));
    return store;
  };
  const operator = (url: string): postgres.Sql => {
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    onTestFinished(() => sql.end({ timeout: 0 }));
    return sql;
  };
  /** Nothing is sealed while `action` runs; what it does to the tables passes all triggers. */
  const withoutSealing = async (
    url: string,
    action: (sql: postgres.TransactionSql) => Promise<unknown>,
  ): Promise<void> => {
    await operator(url).begin(async (sql) => {
      await sql`SELECT FROM signalbox.evidence_head FOR UPDATE`;
      await sql`SET LOCAL session_replication_role = replica`;
      await action(sql);
    });
  };
  const verify = (url: string) =>
    runCommand(evidence, ["verify"], {
      cwd: temporaryFolder(),
      environment: { SIGNALBOX_DATABASE_URL: url },
    });

  it("are a part of the log within seconds without a reader", async () => {
    const url = await server.database();
    const store = await open(url);
    await recordDecision(store.evidence, decisionRecord("r1"));
    const [sql, positions] = [operator(url), "SELECT position::int FROM signalbox.evidence_head"];
    await expect.poll(() => sql.unsafe(positions), { timeout: 20_000 }).toEqual([{ position: 1 }]);
    expect(await sql`SELECT FROM signalbox.evidence_written`).toEqual([]);
  });

  it("are sealed once when every replica writes, seals and reads at the same time", async () => {
    const url = await server.database();
    const stores = await Promise.all([0, 1, 2, 3].map(() => open(url)));
    await Promise.all(
      stores.map(async (store, replica) => {
        for (let number = 0; number < 25; number += 1) {
          const id = `${replica}-${number}`;
          await recordDecision(store.evidence, decisionRecord(id));
          // Another replica ends it, as after the death of this one: its number may be smaller than
          // that of the decision.
          const other = stores[(replica + 1) % stores.length];
          other?.evidence.settle(outcomeRecord(id));
          const [found] = await store.evidence.read({ after: 0, limit: 1, requestId: id });
          expect(found?.decision.requestId).toBe(id);
        }
      }),
    );
    for (const store of stores) await store.evidence.flush();
    const rows = await readVerifiedLog(firstOf(stores).evidence);
    expect(new Set(requestIds(rows, "decision")).size).toBe(100);
    expect(requestIds(rows, "outcome").toSorted()).toEqual(requestIds(rows, "decision").toSorted());
    expect(await verify(url)).toMatchObject({ code: 0 });
  });

  it("stay unsealed where their sealing was interrupted, and the next run seals them", async () => {
    const url = await server.database();
    const store = await open(url);
    await recordDecision(store.evidence, decisionRecord("r1"));
    const sql = operator(url);
    const dying = await sql.reserve();
    await dying.unsafe("BEGIN; SELECT FROM signalbox.evidence_head FOR UPDATE");
    const head = store.evidence.head();
    await operator(url)`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE '%evidence_head FOR UPDATE' AND pid <> pg_backend_pid()`;
    expect(await head).toMatchObject({ position: 1 });
    expect(requestIds(await readVerifiedLog(store.evidence), "decision")).toEqual(["r1"]);
  });

  it("are named by verify, by process and number, where some were deleted before", async () => {
    const url = await server.database();
    const store = await open(url);
    await withoutSealing(url, async (sql) => {
      for (const id of ["r1", "r2", "r3", "r4"])
        await recordDecision(store.evidence, decisionRecord(id));
      await sql`DELETE FROM signalbox.evidence_written WHERE number IN (2, 3)`;
    });
    expect(await verify(url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "lacks batches of records that were written: 2 to 3 of process 1 (missing)",
      ),
    });
    expect(requestIds(await readVerifiedLog(store.evidence), "decision")).toEqual(["r1", "r4"]);
  });

  it("are reported as missing too where the newest of a process are gone, once it has reported them", async () => {
    const url = await server.database();
    const [store, other] = [await open(url), await open(url)];
    await withoutSealing(url, async (sql) => {
      for (const id of ["r1", "r2", "r3"]) await recordDecision(store.evidence, decisionRecord(id));
      await sql`DELETE FROM signalbox.evidence_written WHERE number > 1`;
    });
    expect(await other.evidence.missing()).toEqual([]);
    await expect(recordDecision(store.evidence, decisionRecord("r4"))).rejects.toMatchObject({
      reason: "failed",
    });
    expect(store.evidence.health().fault).toEqual({ cause: "log_behind", file: null });
    await store.tend();
    expect(await other.evidence.missing()).toEqual([{ process: 1, first: 2, last: 3 }]);
  });

  it("of a process are not confused with another's of the same number, as after a failover to a lagging standby", async () => {
    const url = await server.database();
    const store = await open(url);
    await recordDecision(store.evidence, decisionRecord("r1"));
    await operator(url)`UPDATE signalbox.evidence_processes SET token = 'another'`;
    await expect(recordDecision(store.evidence, decisionRecord("r2"))).rejects.toMatchObject({
      reason: "failed",
    });
    expect(store.evidence.health().fault).toEqual({ cause: "log_behind", file: null });
  });

  it("keep request ids for a minute after the end of the request, so that a repetition is refused", async () => {
    const url = await server.database();
    const [store, other] = [await open(url), await open(url)];
    await recordDecision(store.evidence, decisionRecord("r1"));
    store.evidence.settle(outcomeRecord("r1"));
    await store.evidence.flush();
    await store.tend();
    await expect(recordDecision(other.evidence, decisionRecord("r1"))).rejects.toThrow(
      "recorded already",
    );
    const sql = operator(url);
    await sql`UPDATE signalbox.evidence_requests SET ended_at = ended_at - 61000`;
    await store.tend();
    expect(await sql`SELECT FROM signalbox.evidence_requests`).toEqual([]);
  });
});

const firstOf = (stores: readonly PostgresStore[]): PostgresStore => {
  const [first] = stores;
  if (first === undefined) throw new Error("no store");
  return first;
};

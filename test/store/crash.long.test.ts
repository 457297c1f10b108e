import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import postgres from "postgres";

import { summarise } from "../../src/governance/summarise.ts";
import type { Store } from "../../src/store/port.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { groupingOf } from "../governance/agreement.ts";
import { COMPILED } from "../support/node-cache.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./postgres/server.ts";
import { storedRows } from "./stored-rows.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { readVerifiedLog, requestIds } from "./verified-log.ts";

const WRITER = fileURLToPath(new URL("./crash-writer.ts", import.meta.url));
const ROUNDS = 30;

/**
 * Starts a writer, kills it without warning at a random moment, and gives the request ids it had
 * acknowledged.
 */
async function killedWriter(database: string, round: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [WRITER, database, `${round}`], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...COMPILED },
  });
  const printed: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => printed.push(text));
  const exited = once(child, "close");
  await Promise.race([once(child.stdout, "data"), exited]);
  await delay(Math.random() * 60);
  child.kill("SIGKILL");
  await exited;
  // The last piece is a line that was cut off, or empty.
  return printed.join("").split("\n").slice(0, -1);
}

async function killedWriters(database: string): Promise<readonly string[]> {
  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    acknowledged.push(...(await killedWriter(database, round)));
  expect(acknowledged.length).toBeGreaterThan(ROUNDS * 8);
  return acknowledged;
}

/**
 * What the killed processes had counted and not written is counted again, and nothing twice; what
 * they left running ends as `unknown`. Call it once their leases have run out.
 */
async function expectOneCount(
  store: Store,
  { decided, ended }: { readonly decided: number; readonly ended: number },
): Promise<void> {
  const totals = async (): Promise<object> => {
    const window = { workspace: "acme-prod", from: 0, until: 1_000_000 };
    const { requests, running } = (
      await summarise((facet) => store.summary.read({ ...window, facet }), groupingOf([]))
    ).totals;
    return { requests, running };
  };
  expect(await totals()).toEqual({ requests: decided, running: decided - ended });
  const newest = await store.evidence.read({ after: 0, limit: 2_000 });
  expect(newest.every(({ outcome }) => outcome !== null)).toBe(true);
  expect(newest.filter(({ outcome }) => outcome?.terminal === "unknown").length).toBeGreaterThan(0);
  // Ends the requests of dead processes in the log.
  await store.evidence.prune(0, Date.now());
  expect(await totals()).toEqual({ requests: decided, running: 0 });
}

it(
  `SQLite keeps every acknowledged decision over ${ROUNDS} kills`,
  { timeout: 120_000 },
  async () => {
    const path = join(temporaryFolder(), "signalbox.db");
    const acknowledged = await killedWriters(path);

    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    const kept = new Set(
      [...storedRows(database)]
        .filter(({ kind }) => kind === "decision")
        .map(({ requestId }) => requestId),
    );
    expect(acknowledged.filter((requestId) => !kept.has(requestId))).toEqual([]);
    const ended = [...storedRows(database)].filter(({ kind }) => kind === "outcome").length;
    // As if a lease's time had passed: the processes are dead, but none could say so.
    database.exec("UPDATE processes SET seen_at = seen_at - 60000");
    database.close();

    const store = await openSqliteStore({ path });
    await expectOneCount(store, { decided: kept.size, ended });
    await store.close();
  },
);

describe.skipIf(NO_POSTGRES !== null)(`a real PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  it(`keeps every acknowledged decision over ${ROUNDS} kills`, { timeout: 240_000 }, async () => {
    const url = await server.database();
    await (await openPostgresStore({ url })).close();
    const acknowledged = await killedWriters(url);

    const sql = postgres(url, { max: 1 });
    // The server ends the statements of a killed process by itself, after a moment.
    await expect
      .poll(() => sql`SELECT FROM pg_stat_activity WHERE application_name = 'signalbox'`, {
        timeout: 20_000,
      })
      .toEqual([]);
    await sql`UPDATE signalbox.evidence_processes SET seen_at = seen_at - 60000`;
    await sql.end();
    const store = await openPostgresStore({ url });
    const rows = await readVerifiedLog(store.evidence);
    const decided = requestIds(rows, "decision");
    const kept = new Set(decided);
    expect(decided).toHaveLength(kept.size);
    expect(acknowledged.filter((requestId) => !kept.has(requestId))).toEqual([]);
    const ended = requestIds(rows, "outcome").length;
    await expectOneCount(store, { decided: kept.size, ended });
    expect(requestIds(await readVerifiedLog(store.evidence), "outcome")).toHaveLength(kept.size);
    await store.close();
  });
});

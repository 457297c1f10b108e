import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { summarise, type Summary } from "../../../src/governance/summarise.ts";
import type { Store } from "../../../src/store/port.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/open.ts";
import { groupingOf } from "../../governance/agreement.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../records.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const numbers = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

async function counted({ summary }: Store): Promise<Summary["totals"]> {
  const query = { workspace: "acme-prod", from: 0, until: 1_000_000 };
  return (await summarise((facet) => summary.read({ facet, ...query }), groupingOf([]))).totals;
}

describe.skipIf(NO_POSTGRES !== null)(`counts over PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  const open = async (url: string): Promise<PostgresStore> => {
    const bounds = { statementTimeout: 20_000, connectTimeout: 20_000, probeInterval: 50 };
    const store = await openPostgresStore({ url, bounds, evidence: { maxWait: 30_000 } });
    onTestFinished(() => store.close().catch(() => undefined));
    return store;
  };
  const write = async ({ evidence }: Store, ids: readonly string[]): Promise<void> => {
    await Promise.all(ids.map((id) => recordDecision(evidence, decisionRecord(id))));
    for (const id of ids) evidence.settle(outcomeRecord(id));
    await evidence.flush();
  };

  it("have each record once, though any answer is lost", async () => {
    const url = await server.database();
    const proxy = await startFaultProxy(url);
    onTestFinished(() => proxy.close());
    const [store, example] = [await open(proxy.url), await open(url)];
    let written = 0;
    for (const after of numbers(6)) {
      const ids = numbers(3).map((index) => `r${after}-${index}`);
      proxy.set("answer_lost", after);
      await write(store, ids);
      written += ids.length;
      // Refused where it is this one's answer that is lost; then requested again.
      const requested = await counted(store).catch(() => null);
      if (requested !== null) expect(requested.requests).toBe(written);
      expect(await counted(example)).toMatchObject({ requests: written, running: 0 });
    }
    expect(proxy.lostAnswers()).toBeGreaterThan(3);
    expect(await counted(example)).toMatchObject({ ended: { terminals: { completed: written } } });
  });

  it("have each record once, though any process counts and reads meanwhile", async () => {
    const url = await server.database();
    const stores = [await open(url), await open(url), await open(url)];
    const writing = stores.map((store, writer) =>
      (async () => {
        for (const round of numbers(10)) {
          await write(
            store,
            numbers(40).map((index) => `w${writer}-${round}-${index}`),
          );
        }
      })(),
    );
    const seen: number[] = [];
    const ended = new AbortController();
    const reading = stores.map(async (store) => {
      while (!ended.signal.aborted) seen.push((await counted(store)).requests);
    });
    await Promise.all(writing);
    ended.abort();
    await Promise.all(reading);
    expect(Math.max(...seen)).toBeLessThanOrEqual(1_200);
    for (const store of stores)
      expect(await counted(store)).toMatchObject({ requests: 1_200, running: 0 });
  });

  it("are read nevertheless where rows that were not counted are gone against all rules", async () => {
    const url = await server.database();
    const store = await open(url);
    await write(store, ["r1"]);
    expect((await counted(store)).requests).toBe(1);
    const sql = postgres(url, { max: 1 });
    onTestFinished(() => sql.end({ timeout: 0 }));
    await write(store, ["r2"]);
    await sql`ALTER TABLE signalbox.evidence_batches DISABLE TRIGGER USER`;
    await sql`DELETE FROM signalbox.evidence_batches WHERE last > 2`;
    expect((await counted(store)).requests).toBeGreaterThan(0);
  });

  it("are brought up to date in the background by one replica, and by another when that one is gone", async () => {
    const url = await server.database();
    const [first, second] = [await open(url), await open(url)];
    const sql = postgres(url, { max: 1 });
    onTestFinished(() => sql.end({ timeout: 0 }));
    const cursor = async (): Promise<unknown> =>
      (await sql`SELECT position::int, folder FROM signalbox.roll_up_cursor`)[0];
    await write(first, ["a1", "a2"]);
    await expect.poll(cursor, { timeout: 15_000, interval: 100 }).toMatchObject({ position: 4 });
    const before = await cursor();
    await first.close();
    await write(second, ["b1"]);
    await expect.poll(cursor, { timeout: 20_000, interval: 100 }).toMatchObject({ position: 6 });
    expect(await cursor()).not.toEqual({ ...Object(before), position: 6 });
    expect((await counted(second)).requests).toBe(3);
  });
});

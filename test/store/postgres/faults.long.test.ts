import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { GENESIS } from "../../../src/evidence/chain.ts";
import type { KeyRecord } from "../../../src/keys/key-store.ts";
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../../src/store/postgres/open.ts";
import { decisionRecord, keyRecord, outcomeRecord, recordDecision } from "../records.ts";
import { appendOne, readVerifiedPolicyLog, recordText, rowsAfter } from "../policy-log-rows.ts";
import { readVerifiedLog, requestIds } from "../verified-log.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

/**
 * Bounds short enough for a test; a loaded machine must still keep within them when nothing is
 * wrong.
 */
const BOUNDS = { statementTimeout: 2_000, connectTimeout: 1_500, probeInterval: 200 };

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe.skipIf(NO_POSTGRES !== null || process.env.SIGNALBOX_TEST_POSTGRES_URL !== undefined)(
  `PostgreSQL in trouble ${NO_POSTGRES ?? ""}`,
  () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startTestServer();
    }, 60_000);
    afterAll(() => server.close());

    const open = async (
      url: string,
      options: Partial<PostgresStoreOptions> = {},
    ): Promise<PostgresStore> => {
      const store = await openPostgresStore({ url, bounds: BOUNDS, ...options });
      onTestFinished(() => store.close().catch(() => undefined));
      return store;
    };
    /** A store behind a network that can fail, and one beside it that sees what is really there. */
    const behindProxy = async (
      options = {},
    ): Promise<[PostgresStore, PostgresStore, FaultProxy]> => {
      const url = await server.database();
      const proxy = await startFaultProxy(url);
      onTestFinished(() => proxy.close());
      return [await open(proxy.url, options), await open(url), proxy];
    };
    const works = (call: Promise<unknown>): Promise<boolean> =>
      call.then(
        () => true,
        () => false,
      );
    const untilUsable = async (store: PostgresStore): Promise<void> => {
      await expect.poll(() => works(store.keys.list()), { timeout: 20_000 }).toBe(true);
    };

    it("a batch with a lost answer is written once, and acknowledged", async () => {
      const [store, example, proxy] = await behindProxy({ evidence: { maxWait: 15_000 } });
      await recordDecision(store.evidence, decisionRecord("before"));
      proxy.set("answer_lost");
      store.evidence.settle(outcomeRecord("before"));
      await recordDecision(store.evidence, decisionRecord("during"));
      expect(proxy.lostAnswers()).toBe(1);
      await recordDecision(store.evidence, decisionRecord("after"));
      const rows = await readVerifiedLog(example.evidence);
      expect(requestIds(rows, "decision")).toEqual(["before", "during", "after"]);
      expect(requestIds(rows, "outcome")).toEqual(["before"]);
      expect(store.evidence.health()).toMatchObject({ state: "ok", refused: 0, lost: 0 });
    });

    it("a repeated request id is refused even when the first answer was lost", async () => {
      const [store, example, proxy] = await behindProxy({ evidence: { maxWait: 15_000 } });
      await recordDecision(store.evidence, decisionRecord("r1"));
      proxy.set("answer_lost");
      await expect(
        recordDecision(store.evidence, decisionRecord("r1", { retryCount: 1 })),
      ).rejects.toThrow("recorded already");
      expect(await readVerifiedLog(example.evidence)).toHaveLength(1);
    });

    it("a silent network refuses in bounded time, then at once, and recovers without a restart", async () => {
      const [store, example, proxy] = await behindProxy();
      await recordDecision(store.evidence, decisionRecord("before"));
      proxy.set("stalled");
      const startedAt = performance.now();
      await expect(recordDecision(store.evidence, decisionRecord("during"))).rejects.toMatchObject({
        name: "EvidenceUnavailableError",
      });
      expect(performance.now() - startedAt).toBeLessThan(4_000);
      expect(store.evidence.health().state).toBe("unavailable");
      store.evidence.settle(outcomeRecord("before"));
      // Once the statement's own time is over, calls do not even try.
      await expect(store.keys.list()).rejects.toMatchObject({ name: "StoreUnavailableError" });
      const times: number[] = [];
      for (let call = 0; call < 5; call += 1) {
        const calledAt = performance.now();
        await expect(store.keys.list()).rejects.toThrow("tries again every second");
        await expect(
          recordDecision(store.evidence, decisionRecord(`refused${call}`)),
        ).rejects.toMatchObject({
          name: "EvidenceUnavailableError",
        });
        times.push(performance.now() - calledAt);
      }
      expect(times.toSorted((a, b) => a - b)[2]).toBeLessThan(1_000);
      proxy.set("none");
      await untilUsable(store);
      await expect.poll(() => store.evidence.health().state).toBe("ok");
      await recordDecision(store.evidence, decisionRecord("after"));
      await store.evidence.flush();
      const rows = await readVerifiedLog(example.evidence);
      // What was taken is written late; which of the later ones were depends on when the batch
      // before was given up.
      const kept = requestIds(rows, "decision").filter((id) => !id.startsWith("refused"));
      expect(kept).toEqual(["before", "during", "after"]);
      expect(requestIds(rows, "outcome")).toEqual(["before"]);
      expect(store.evidence.health()).toMatchObject({ state: "ok", lost: 0, waiting: 0 });
    });

    it("a cut network is noticed at once, and watchers get missed changes afterwards", async () => {
      const [store, example, proxy] = await behindProxy();
      const seen: KeyRecord[] = [];
      await store.keys.watch((records) => seen.push(...records));
      proxy.set("cut");
      await expect.poll(() => works(store.keys.list())).toBe(false);
      await example.keys.create(keyRecord("a"));
      const startedAt = performance.now();
      await expect(recordDecision(store.evidence, decisionRecord("during"))).rejects.toMatchObject({
        reason: "failed",
      });
      expect(performance.now() - startedAt).toBeLessThan(3_000);
      expect(seen).toEqual([]);
      proxy.set("none");
      await expect.poll(() => seen.map(({ id }) => id), { timeout: 10_000 }).toEqual(["a"]);
    });

    it("an append of policies with a lost answer is reported as uncertain, and is written once", async () => {
      const [store, example, proxy] = await behindProxy();
      const first = rowsAfter(await store.policyLog.head(), [recordText("p")]);
      proxy.set("answer_lost");
      const append = store.policyLog.append(GENESIS, first);
      await expect(append).rejects.toMatchObject({
        name: "StoreUnavailableError",
        applied: "unknown",
        permanent: false,
      });
      expect(proxy.lostAnswers()).toBe(1);
      await untilUsable(store);
      // A reader sees that it is there; trying again does no harm.
      expect(await store.policyLog.append(GENESIS, first)).toBe(false);
      expect(await readVerifiedPolicyLog(example.policyLog)).toEqual(first);
    });

    it("a listener of the policy log gets the rows of an outage after it", async () => {
      const [store, example, proxy] = await behindProxy();
      let heard = 0;
      const end = await store.policyLog.watch(() => (heard += 1));
      proxy.set("cut");
      await expect.poll(() => works(store.policyLog.head())).toBe(false);
      await expect(store.policyLog.watch(() => undefined)).rejects.toMatchObject({
        name: "StoreUnavailableError",
      });
      await appendOne(example.policyLog, recordText("p"));
      await delay(900);
      expect(heard).toBe(0);
      proxy.set("none");
      await expect.poll(() => heard, { timeout: 10_000 }).toBe(1);
      end();
    });

    it("a replica that stops while it moves batches into the log keeps no other from writing", async () => {
      const url = await server.database();
      const store = await open(url);
      await recordDecision(store.evidence, decisionRecord("before"));
      const sql = postgres(url, { max: 1, connection: { idle_in_transaction_session_timeout: 0 } });
      onTestFinished(() => sql.end({ timeout: 0 }));
      const held = await sql.reserve();
      await held.unsafe("BEGIN; SELECT * FROM signalbox.evidence_head FOR UPDATE");
      for (let number = 1; number <= 20; number += 1)
        await recordDecision(store.evidence, decisionRecord(`during${number}`));
      // Who reads waits for it, in bounded time.
      await expect(store.evidence.head()).rejects.toMatchObject({ name: "StoreUnavailableError" });
      await held.unsafe("ROLLBACK");
      held.release();
      await untilUsable(store);
      expect(requestIds(await readVerifiedLog(store.evidence), "decision")).toHaveLength(21);
    });

    it("connections that die under load lose no acknowledged record and write none twice", async () => {
      const url = await server.database();
      const stores = [await open(url), await open(url)];
      const sql = postgres(url, { max: 1, onnotice: () => undefined });
      onTestFinished(() => sql.end({ timeout: 0 }));
      const acknowledged: string[] = [];
      const end = performance.now() + 3_000;
      const lane = async (store: PostgresStore, name: string): Promise<void> => {
        for (let number = 0; performance.now() < end; number += 1) {
          const id = `${name}-${number}`;
          try {
            await recordDecision(store.evidence, decisionRecord(id));
            acknowledged.push(id);
            store.evidence.settle(outcomeRecord(id));
          } catch (error) {
            expect(error).toMatchObject({ name: "EvidenceUnavailableError" });
            await delay(5);
          }
        }
      };
      const killing = (async () => {
        while (performance.now() < end) {
          await delay(40);
          await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'signalbox'`;
        }
      })();
      await Promise.all([
        killing,
        ...stores.flatMap((store, replica) =>
          [0, 1, 2, 3].map((number) => lane(store, `${replica}-${number}`)),
        ),
      ]);
      const example = await open(url);
      for (const store of stores) {
        await untilUsable(store);
        await expect.poll(() => works(store.evidence.flush())).toBe(true);
      }
      const rows = await readVerifiedLog(example.evidence);
      const decided = requestIds(rows, "decision");
      expect(acknowledged.length).toBeGreaterThan(10);
      expect(new Set(decided).size).toBe(decided.length);
      expect(acknowledged.filter((id) => !new Set(decided).has(id))).toEqual([]);
      const ended = requestIds(rows, "outcome");
      expect(ended.toSorted()).toEqual(acknowledged.toSorted());
      expect(stores.map((store) => store.evidence.health().lost)).toEqual([0, 0]);
    });

    it("a server that is stopped and started again is used again without a restart of the store", async () => {
      const url = await server.database();
      const store = await open(url);
      const seen: KeyRecord[] = [];
      await store.keys.watch((records) => seen.push(...records));
      await recordDecision(store.evidence, decisionRecord("before"));
      await server.control?.stop();
      const startedAt = performance.now();
      await expect(recordDecision(store.evidence, decisionRecord("during"))).rejects.toMatchObject({
        name: "EvidenceUnavailableError",
      });
      await expect(store.keys.list()).rejects.toMatchObject({ name: "StoreUnavailableError" });
      expect(performance.now() - startedAt).toBeLessThan(6_000);
      expect(store.evidence.health().state).toBe("unavailable");
      store.evidence.settle(outcomeRecord("before"));
      await server.control?.start();
      await untilUsable(store);
      await recordDecision(store.evidence, decisionRecord("after"));
      await store.evidence.flush();
      const rows = await readVerifiedLog(store.evidence);
      expect(requestIds(rows, "decision")).toEqual(["before", "during", "after"]);
      expect(requestIds(rows, "outcome")).toEqual(["before"]);
      await (await open(url)).keys.create(keyRecord("a"));
      await expect.poll(() => seen.map(({ id }) => id), { timeout: 20_000 }).toEqual(["a"]);
    });

    it("closing while the server is away ends in bounded time", async () => {
      const [store, , proxy] = await behindProxy();
      await recordDecision(store.evidence, decisionRecord("before"));
      store.evidence.settle(outcomeRecord("before"));
      proxy.set("stalled");
      const startedAt = performance.now();
      await expect(store.close()).rejects.toMatchObject({ name: "EvidenceUnavailableError" });
      expect(performance.now() - startedAt).toBeLessThan(6_000);
    });
  },
);

import { renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";

import { GENESIS } from "../../src/evidence/chain.ts";
import type { DecisionRecord } from "../../src/evidence/record.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import {
  DEFAULT_EVIDENCE_LIMITS,
  evidenceQueue,
  type Append,
  type Appended,
} from "../../src/store/evidence-queue.ts";
import { storeEngine } from "../../src/store/sqlite/store-engine.ts";
import {
  answerJson,
  errorOf,
  hello,
  post,
  sse,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import type { RunningServer } from "../../src/server/running-server.ts";
import { startTestServer } from "../support/server.ts";
import { storedRows } from "../store/stored-rows.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

const streamed = { ...hello, stream: true };

/** A router whose evidence is a real queue over `append`. */
async function routerOver(append: Append, limits: Partial<typeof DEFAULT_EVIDENCE_LIMITS> = {}) {
  const upstream = await startUpstream((response, { body }) => {
    if (!body.includes('"stream":true')) answerJson(response);
    else {
      startSse(response);
      response.end(`${sse({ choices: [] })}data: [DONE]\n\n`);
    }
  });
  const queue = evidenceQueue(append, { ...DEFAULT_EVIDENCE_LIMITS, ...limits }, GENESIS);
  const router = await startRouter({
    table: tableOver([upstream]),
    runtime: {
      evidence: queue,
      evidenceStatus: () => queue.health(),
      degraded: () => (queue.health().state === "ok" ? [] : ["evidence"]),
    },
  });
  return { upstream, queue, router };
}

async function statusOf(router: {
  readonly url: string;
}): Promise<{ degraded: string[]; evidence: object }> {
  return (await (await fetch(`${router.url}/status`)).json()) as {
    degraded: string[];
    evidence: object;
  };
}

async function expectRefusal(response: Response): Promise<void> {
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await errorOf(response)).toMatchObject({ code: "evidence_unavailable" });
}

describe("a store that does not answer", () => {
  const never = (): Promise<never> => new Promise(() => {});

  it.each([hello, streamed, { ...hello, model: "unknown" }])(
    "is waited for no longer than a request lasts",
    async (body) => {
      const { router } = await routerOver(never, { maxWait: 60_000 });
      const startedAt = performance.now();
      const response = await post(router, body, { "x-request-timeout-ms": "150" });
      expect(response.status).toBe(504);
      expect(await errorOf(response)).toMatchObject({ code: "upstream_timeout_total" });
      expect(performance.now() - startedAt).toBeGreaterThan(140);
      expect(performance.now() - startedAt).toBeLessThan(30_000);
    },
  );

  it("is waited for no longer than the queue's bound; then requests are refused at once and no provider is called", async () => {
    const { router, upstream, queue } = await routerOver(never, { maxWait: 4_000 });
    const [first, second] = await Promise.all([post(router, hello), post(router, streamed)]);
    await expectRefusal(first);
    await expectRefusal(second);
    expect(upstream.calls.length).toBe(2);
    const startedAt = performance.now();
    await expectRefusal(await post(router, hello));
    expect(performance.now() - startedAt).toBeLessThan(3_500);
    expect(upstream.calls.length).toBe(2);
    expect(await statusOf(router)).toMatchObject({
      degraded: ["evidence"],
      evidence: { state: "unavailable" },
    });
    expect(queue.health()).toMatchObject({ waiting: 2, refused: 3, lost: 0, head: GENESIS });
  });
});

describe("a store that fails slowly", () => {
  it("costs one provider's call, and then none until it works again", async () => {
    const store = { fails: true };
    const { router, upstream } = await routerOver(async (records) => {
      await delay(150);
      if (store.fails) throw new Error("failed");
      return { duplicates: [], lost: 0, head: { position: records.length, hash: "a".repeat(64) } };
    });
    await expectRefusal(await post(router, hello));
    for (const body of [hello, streamed]) await expectRefusal(await post(router, body));
    expect(upstream.calls).toHaveLength(1);
    store.fails = false;
    expect((await post(router, hello)).status).toBe(200);
    expect(upstream.calls).toHaveLength(2);
  });
});

describe("a disk that is full", () => {
  it("refuses requests that cannot be recorded, keeps the records, and serves again when there is room", async () => {
    const database = openDatabase(join(temporaryFolder(), "full.db"), 50);
    const engine = storeEngine(database, () => {});
    const failures = new Set<string>();
    const append: Append = (records) => {
      const reply = engine.answer(
        { operation: "evidence.append", parameters: [records] },
        Date.now(),
      );
      if (reply.kind === "done") return Promise.resolve(reply.value as Appended);
      failures.add(reply.kind === "failed" ? reply.description : reply.kind);
      return Promise.reject(new Error("failed"));
    };
    const { router, queue, upstream } = await routerOver(append);
    expect((await post(router, hello)).status).toBe(200);

    database.exec("PRAGMA max_page_count = 1");
    let answered = 1;
    for (let response = await post(router, hello); ; response = await post(router, hello)) {
      if (response.status !== 200) {
        await expectRefusal(response);
        break;
      }
      answered += 1;
      expect(answered).toBeLessThan(200);
    }
    expect([...failures]).toEqual(["the disk is full; make room (SQLite result code 13)"]);
    const calls = upstream.calls.length;
    await expectRefusal(await post(router, streamed));
    expect(upstream.calls.length).toBe(calls);
    expect(await statusOf(router)).toMatchObject({
      degraded: ["evidence"],
      evidence: { state: "unavailable" },
    });

    database.exec("PRAGMA max_page_count = 100000");
    expect((await post(router, hello)).status).toBe(200);
    await queue.flush();
    expect(await statusOf(router)).toMatchObject({ degraded: [], evidence: { state: "ok" } });
    const kept = Object.groupBy(storedRows(database), ({ kind }) => kind);
    expect([kept.decision?.length, kept.outcome?.length]).toEqual([answered + 3, answered + 3]);
    queue.close();
    database.close();
  });
});

const withoutLimits = (routes: string): string =>
  routes.replace(/^ {4}limits: \{ requests_per_minute: 600.*\n/m, "");

function askChat(server: RunningServer, text: string): Promise<Response> {
  const model = server.built.snapshot.decider.table.workspaces.demo?.approve.routes[0];
  return fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${text}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
  });
}

describe("a whole server with a database that another process locks", () => {
  const held: DatabaseSync[] = [];
  afterAll(() => held.forEach((database) => database.close()));

  it("refuses with the reason, and serves again afterwards; every answer has its decision", async () => {
    // With limits the same store would refuse before there is a decision to record.
    const whole = await startTestServer(withoutLimits);
    const { server, folder } = whole;
    expect(
      server.built.snapshot.decider.table.workspaces.demo?.limits.requestsPerMinute,
    ).toBeNull();
    const text = await whole.key("demo", ["inference"]);
    const ask = () => askChat(server, text);
    const served = [await ask()];
    expect(served[0]?.status).toBe(200);
    await server.store.evidence.flush();
    const other = new DatabaseSync(join(folder, "signalbox.db"), { timeout: 20_000 });
    held.push(other);
    other.exec("BEGIN IMMEDIATE");
    const startedAt = performance.now();
    await expectRefusal(await ask());
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(await statusOf(server)).toMatchObject({
      degraded: ["evidence"],
      evidence: { state: "unavailable" },
    });
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(503);
    other.exec("ROLLBACK");
    served.push(await ask());
    await server.store.evidence.flush();
    const status = await statusOf(server);
    expect(status).toMatchObject({
      degraded: [],
      evidence: { state: "ok" },
    });
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    const decided = (await server.store.evidence.read({ after: 0, limit: 100 })).map(
      ({ decision }): DecisionRecord["requestId"] => decision.requestId,
    );
    expect(served.map((response) => response.status)).toEqual([200, 200]);
    for (const response of served) expect(decided).toContain(response.headers.get("x-request-id"));
  });
});

describe("a whole server without its write-ahead log", () => {
  it("refuses, is not ready and names the file, until the file is back", async () => {
    const whole = await startTestServer(withoutLimits);
    const { server, folder } = whole;
    const text = await whole.key("demo", ["inference"]);
    const ask = () => askChat(server, text);
    expect((await ask()).status).toBe(200);
    await server.store.evidence.flush();
    const wal = join(folder, "signalbox.db-wal");
    renameSync(wal, `${wal}.away`);
    await expect
      .poll(async () => (await statusOf(server)).evidence, { timeout: 10_000 })
      .toEqual({ state: "unavailable", cause: "file_removed", file: "signalbox.db-wal" });
    expect((await statusOf(server)).degraded).toContain("evidence");
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(503);
    await expectRefusal(await ask());
    renameSync(`${wal}.away`, wal);
    await expect
      .poll(async () => (await statusOf(server)).evidence, { timeout: 10_000 })
      .toEqual({ state: "ok" });
    expect((await ask()).status).toBe(200);
  });
});

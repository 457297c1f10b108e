import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { evidence } from "../../src/cli/evidence/evidence.ts";
import { openStore } from "../../src/server/parts.ts";
import { runCommand } from "../keys/command.ts";
import { ask, chat, Clients } from "../replicas/clients.ts";
import { fixture as fixtureOf } from "../replicas/fixture.ts";
import { startProvider } from "../replicas/provider.ts";
import { addKey, writeFixture } from "./running-server.ts";
import { SpawnedServer } from "./spawned-server.ts";

interface Status {
  readonly build_id: string;
  readonly degraded: readonly string[];
  readonly table_sha256: string;
  readonly workers: {
    readonly worker: number;
    readonly configured: number;
    readonly ready: number;
  };
}

/** Of whichever worker takes a new connection. */
async function status(server: SpawnedServer): Promise<Status> {
  const answer = await request(`${server.url}/status`, { reset: true });
  return (await answer.body.json()) as Status;
}

/** Of enough new connections to have met all workers: connections go to workers in turn. */
function statuses(server: SpawnedServer): Promise<readonly Status[]> {
  return Promise.all(Array.from({ length: 6 }, () => status(server)));
}

async function metric(server: SpawnedServer, sample: string): Promise<number> {
  const answer = await request(`${server.adminUrl}/metrics`);
  const line = (await answer.body.text()).split("\n").find((one) => one.startsWith(`${sample} `));
  return line === undefined ? Number.NaN : Number(line.slice(sample.length));
}

const READY = 'signalbox_workers_ready{worker="0"}';
const RESTARTS = 'signalbox_worker_restarts_total{worker="0"}';

describe.skipIf(process.platform !== "linux")(
  "two workers (needs /proc of Linux to find them)",
  () => {
    it(
      "share the requests; a killed one loses only its own, and is restarted",
      { timeout: 240_000 },
      async () => {
        const provider = await startProvider();
        const fixture = writeFixture(provider.url);
        const store = await openStore(fixture.database);
        const key = await addKey(store);
        const other = await addKey(store);
        const server = await SpawnedServer.start(fixture, [
          "--workers",
          "2",
          "--no-watch",
          "--drain-delay",
          "1",
          "--drain",
          "20",
        ]);

        // Both serve, one says who it is, and the page has both.
        let met: readonly Status[] = [];
        await expect
          .poll(async () => {
            met = await statuses(server);
            return new Set(met.map(({ workers }) => workers.worker));
          })
          .toEqual(new Set([1, 2]));
        expect(new Set(met.map(({ build_id }) => build_id)).size).toBe(1);
        expect(met[0]?.build_id).toMatch(/\+[0-9a-f]{12}$/);
        expect(met[0]?.workers).toMatchObject({ configured: 2, ready: 2 });
        expect((await request(`${server.adminUrl}/readyz`)).statusCode).toBe(200);
        expect((await request(`${server.url}/readyz`, { reset: true })).statusCode).toBe(404);
        expect(server.said.match(/listening on/g)).toHaveLength(1);

        // One dies under load.
        const clients = new Clients();
        clients.add(4, 5, () => ask(server.url, key.text, chat("large")));
        clients.add(4, 5, () => ask(server.url, key.text, chat("large", true)));
        await delay(1_000);
        const [victim = 0] = server.workers;
        process.kill(victim, "SIGKILL");
        const killedAt = Date.now();
        await expect.poll(() => metric(server, READY), { timeout: 60_000 }).toBe(1);
        expect((await request(`${server.adminUrl}/readyz`)).statusCode).toBe(200);
        await expect.poll(() => metric(server, READY), { timeout: 60_000 }).toBe(2);
        expect(await metric(server, RESTARTS)).toBe(1);
        await delay(500);
        await clients.stop();
        const lost = clients.seen.filter(({ status: code, whole }) => code !== 200 || !whole);
        expect(lost.length).toBeLessThanOrEqual(8);
        // Only what was under way in that moment.
        for (const { status: code, from } of lost)
          expect([[0, 200].includes(code), from <= killedAt + 5_000]).toEqual([true, true]);
        expect(
          clients.seen.filter(({ from, status: code }) => from > killedAt && code === 200).length,
        ).toBeGreaterThan(10);
        const read = () => store.evidence.read({ after: 0, limit: 10_000 });
        // Of the dead one's at once, not when its lease is over.
        const open = async (): Promise<number> =>
          (await read()).filter(({ outcome }) => outcome === null).length;
        await expect.poll(open).toBe(0);
        const ended = await read();
        expect(
          ended.filter(({ outcome }) => outcome?.terminal === "unknown").length,
        ).toBeLessThanOrEqual(8);
        const recorded = new Set(ended.map(({ decision }) => decision.requestId as string));
        for (const { requestId } of clients.seen)
          if (requestId !== null) expect(recorded.has(requestId)).toBe(true);

        // A reload reaches both; one with errors neither, and who starts anew has what the others
        // have.
        const [before] = await statuses(server);
        const changed = JSON.parse(JSON.stringify(fixtureOf(provider.url))) as {
          routes: Record<string, object>;
        };
        changed.routes.large = { ...changed.routes.large, title: "changed" };
        writeFileSync(fixture.config, JSON.stringify(changed));
        server.child.kill("SIGHUP");
        await server.says("reloaded, table");
        const tables = new Set((await statuses(server)).map(({ table_sha256 }) => table_sha256));
        expect(tables.size).toBe(1);
        expect(tables).not.toContain(before?.table_sha256);
        writeFileSync(fixture.config, "{}");
        server.child.kill("SIGHUP");
        await server.says("reload failed");
        const degraded = async () => (await statuses(server)).map((one) => one.degraded);
        await expect.poll(degraded).toEqual(Array.from({ length: 6 }, () => ["reload_failed"]));
        process.kill(server.workers[0] ?? 0, "SIGKILL");
        await expect.poll(() => metric(server, RESTARTS), { timeout: 60_000 }).toBe(2);
        await expect.poll(() => metric(server, READY), { timeout: 60_000 }).toBe(2);
        expect(new Set((await statuses(server)).map(({ table_sha256 }) => table_sha256))).toEqual(
          tables,
        );

        // One that lives and does nothing is found, killed, and another replaces it.
        // A connection that was given to it is served by another.
        process.kill(server.workers[0] ?? 0, "SIGSTOP");
        const given = statuses(server);
        await server.says("has not answered for 15 s; the server kills it");
        await expect.poll(() => metric(server, RESTARTS), { timeout: 60_000 }).toBe(3);
        expect(new Set((await given).map(({ table_sha256 }) => table_sha256))).toEqual(tables);
        await expect.poll(() => metric(server, READY), { timeout: 60_000 }).toBe(2);
        expect(server.said).toContain("ended (SIGKILL); it is started again");

        // So does a revocation, by another process.
        const askOften = async (text: string): Promise<readonly number[]> =>
          await Promise.all(
            Array.from({ length: 6 }, async () => {
              const headers = { authorization: `Bearer ${text}` };
              const answer = await request(`${server.url}/v1/models`, { headers, reset: true });
              await answer.body.dump();
              return answer.statusCode;
            }),
          );
        expect(new Set(await askOften(other.text))).toEqual(new Set([200]));
        await store.keys.revoke(other.id, Date.now());
        await expect
          .poll(async () => [...new Set(await askOften(other.text))], { timeout: 10_000 })
          .toEqual([401]);
        expect(new Set(await askOften(key.text))).toEqual(new Set([200]));

        // All end together, and nothing is dropped.
        const last = new Clients();
        last.add(3, 5, () => ask(server.url, key.text, chat("large")));
        last.add(3, 5, () => ask(server.url, key.text, chat("large", true)));
        await delay(500);
        server.child.kill("SIGTERM");
        await server.says("stopping");
        expect((await request(`${server.adminUrl}/readyz`)).statusCode).toBe(503);
        await delay(300);
        await last.stop();
        expect(last.seen.filter(({ status: code, whole }) => code !== 200 || !whole)).toEqual([]);
        expect(await server.exited).toBe(0);
        expect(server.said).toMatch(/stopped\n$/);
        await store.close();
        expect(
          await runCommand(evidence, ["verify", "--database", fixture.database]),
        ).toMatchObject({
          code: 0,
          stderr: "",
        });
      },
    );

    it(
      "connections that no worker has taken are closed when the last worker is killed",
      { timeout: 120_000 },
      async () => {
        const provider = await startProvider();
        const server = await SpawnedServer.start(writeFixture(provider.url), ["--workers", "2"]);
        const { workers } = server;
        for (const pid of workers) process.kill(pid, "SIGSTOP");
        const waiting = Promise.allSettled([status(server), status(server)]);
        await delay(500);
        for (const pid of workers) process.kill(pid, "SIGKILL");
        expect((await waiting).map((each) => each.status)).toEqual(["rejected", "rejected"]);
        await expect.poll(() => metric(server, RESTARTS), { timeout: 60_000 }).toBe(2);
        await expect.poll(() => metric(server, READY), { timeout: 60_000 }).toBe(2);
        server.child.kill("SIGTERM");
        expect(await server.exited).toBe(0);
      },
    );
  },
);

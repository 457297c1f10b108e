import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { evidence } from "../../src/cli/evidence/evidence.ts";
import { openStore } from "../../src/server/parts.ts";
import { runCommand } from "../keys/command.ts";
import { chat } from "../replicas/clients.ts";
import { startProvider } from "../replicas/provider.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "../store/postgres/server.ts";
import { makeCertificate, NO_OPENSSL } from "./certificate.ts";
import { addKey, writeFixture } from "./running-server.ts";
import { SpawnedServer } from "./spawned-server.ts";

const MISSING =
  NO_POSTGRES ?? NO_OPENSSL ?? (process.platform === "linux" ? null : "(needs /proc of Linux)");

interface Seen {
  /** 0 where the connection was lost before the answer began. */
  readonly status: number;
  readonly requestId: string;
  readonly whole: boolean;
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
}

describe.skipIf(MISSING !== null)(
  `two workers over PostgreSQL, with TLS and a JSON log ${MISSING ?? ""}`,
  () => {
    let postgres: TestServer;
    beforeAll(async () => {
      postgres = await startTestServer();
    }, 60_000);
    afterAll(() => postgres.close());

    it(
      "lose only a killed one's requests, and keep one chain and one log",
      { timeout: 240_000 },
      async () => {
        const provider = await startProvider();
        const fixture = { ...writeFixture(provider.url), database: await postgres.database() };
        const store = await openStore(fixture.database);
        const key = await addKey(store);
        const { cert, key: certificateKey } = makeCertificate(fixture.folder, "workers");
        const tls = ["--tls-cert", cert, "--tls-key", certificateKey];
        const server = await SpawnedServer.start(fixture, [
          "--workers",
          "2",
          "--no-watch",
          "--drain",
          "20",
          "--log-format",
          "json",
          ...tls,
        ]);
        expect(server.url).toMatch(/^https:/);
        const agent = new Agent({
          connect: { ca: readFileSync(cert) },
          connections: 16,
          pipelining: 1,
        });
        onTestFinished(() => agent.destroy());

        const seen: Seen[] = [];
        const over = new AbortController();
        const client = async (stream: boolean): Promise<void> => {
          while (!over.signal.aborted) {
            let [status, requestId, whole] = [0, "", false];
            try {
              const answer = await request(`${server.url}/v1/chat/completions`, {
                method: "POST",
                dispatcher: agent,
                headers: {
                  authorization: `Bearer ${key.text}`,
                  "content-type": "application/json",
                },
                body: JSON.stringify(chat("large", stream)),
              });
              status = answer.statusCode;
              requestId = String(answer.headers["x-request-id"]);
              await answer.body.text();
              whole = true;
            } catch {
              await delay(20);
            }
            seen.push({ status, requestId, whole, endedAt: Date.now() });
            await delay(10);
          }
        };
        const clients = [false, false, false, true, true, true].map(client);
        await delay(1_500);
        const [victim = 0] = server.workers;
        const killedAt = Date.now();
        process.kill(victim, "SIGKILL");
        await server.says("it is started again");
        await expect
          .poll(() => server.workers.filter((pid) => pid !== victim).length, { timeout: 60_000 })
          .toBe(2);
        await delay(2_000);
        over.abort();
        await Promise.all(clients);
        const broken = seen.filter(({ status, whole }) => status !== 200 || !whole);
        // What was under way, and connections that were dealt to it in that moment.
        expect(broken.length).toBeLessThanOrEqual(12);
        expect(broken.filter(({ status }) => status !== 0 && status !== 200)).toEqual([]);
        expect(seen.length - broken.length).toBeGreaterThan(50);

        server.child.kill("SIGTERM");
        expect(await server.exited).toBe(0);
        const entries = await store.evidence.read({ after: 0, limit: 10_000 });
        const recorded = new Set(entries.map(({ decision }) => String(decision.requestId)));
        expect(
          seen.filter(({ requestId }) => requestId !== "" && !recorded.has(requestId)),
        ).toEqual([]);
        await store.close();
        expect(
          await runCommand(evidence, ["verify", "--database", fixture.database]),
        ).toMatchObject({ code: 0 });

        // Three processes wrote to one pipe: no line is torn, and each request that was answered
        // has its own. What the killed one had answered in its last moment it could not say any
        // more; the evidence, which was read above, has it.
        const logged = new Set<unknown>();
        for (const line of server.said.split("\n").filter((one) => one.startsWith("{"))) {
          const fields: Readonly<Record<string, unknown>> = JSON.parse(line);
          if (fields.event === "request") logged.add(fields.request_id);
        }
        const unsaid = seen.filter(({ requestId, whole }) => whole && !logged.has(requestId));
        expect(unsaid.filter(({ endedAt }) => Math.abs(endedAt - killedAt) > 1_000)).toEqual([]);
        expect(unsaid.length).toBeLessThanOrEqual(12);
      },
    );
  },
);

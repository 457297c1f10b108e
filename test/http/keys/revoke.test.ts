import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";

import { startServer } from "../../../src/server/start.ts";
import type { RunningServer } from "../../../src/server/running-server.ts";
import { parseKeyText } from "../../../src/keys/key-text.ts";
import { startTestServer } from "../../support/server.ts";
import { call } from "./support.ts";
import { TEST_CACHE } from "../../support/cache.ts";

const running = await startTestServer();
const { server, folder } = running;
const manager = await running.key("acme-prod", ["operations:manage"]);

const others: RunningServer[] = [];
afterAll(async () => {
  for (const other of others) await other.close();
});

/** One more server on the same database. */
async function another(): Promise<RunningServer> {
  const started = await startServer(
    {
      config: join(folder, "routes.yaml"),
      database: join(folder, "signalbox.db"),
      host: "127.0.0.1",
      port: 0,
      adminHost: "127.0.0.1",
      adminPort: 0,
      demo: false,
      drain: 1_000,
      watch: false,
      cache: TEST_CACHE,
    },
    {},
    "0.0.0-test",
  );
  if (!started.ok) throw new Error("the second server does not start");
  others.push(started.server);
  return started.server;
}

interface Seen {
  readonly startedAt: number;
  readonly status: number;
}

/** Calls with the key, many at a time, until stopped. */
function load(
  target: RunningServer,
  key: string,
): { readonly seen: Seen[]; stop(): Promise<void> } {
  const seen: Seen[] = [];
  const stopping = new AbortController();
  const worker = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const response = await fetch(`${target.url}/v1/models`, {
        headers: { authorization: `Bearer ${key}` },
      });
      await response.arrayBuffer();
      seen.push({ startedAt, status: response.status });
    }
  };
  const workers = Array.from({ length: 16 }, worker);
  return {
    seen,
    async stop() {
      stopping.abort();
      await Promise.all(workers);
    },
  };
}

const after = (seen: readonly Seen[], time: number): readonly number[] =>
  seen.filter(({ startedAt }) => startedAt > time).map(({ status }) => status);

describe("revocation under load", () => {
  it(
    "holds here for every request that starts after the answer, and elsewhere a second later",
    { timeout: 60_000 },
    async () => {
      const elsewhere = await another();
      const key = await running.key("acme-prod", ["catalogue:read"]);
      const [here, there] = [load(server, key), load(elsewhere, key)];
      await delay(300);
      const revoked = await call(
        server,
        manager,
        "POST",
        `/v1/keys/${parseKeyText(key)?.publicId}/revoke`,
      );
      const answeredAt = performance.now();
      expect(revoked.status).toBe(200);
      await delay(1_500);
      await Promise.all([here.stop(), there.stop()]);
      for (const { seen } of [here, there]) {
        expect(seen.filter(({ status }) => status === 200).length).toBeGreaterThan(10);
        expect(seen.every(({ status }) => status === 200 || status === 401)).toBe(true);
      }
      expect(after(here.seen, answeredAt).length).toBeGreaterThan(10);
      expect(new Set(after(here.seen, answeredAt))).toEqual(new Set([401]));
      expect(after(there.seen, answeredAt + 1_000).length).toBeGreaterThan(10);
      expect(new Set(after(there.seen, answeredAt + 1_000))).toEqual(new Set([401]));
    },
  );
});

describe("a revoked key", () => {
  it(
    "stays revoked when the server starts again, and for a server that never knew it",
    { timeout: 60_000 },
    async () => {
      const key = await running.key("acme-prod", ["catalogue:read"]);
      const first = await another();
      expect((await call(first, key, "GET", "/v1/models")).status).toBe(200);
      await call(first, manager, "POST", `/v1/keys/${parseKeyText(key)?.publicId}/revoke`);
      await first.close();
      const second = await another();
      for (let count = 0; count < 3; count += 1) {
        expect((await call(second, key, "GET", "/v1/models")).json.error.code).toBe(
          "invalid_api_key",
        );
      }
    },
  );

  it("stays revoked after a second revocation and a rotation", async () => {
    const key = await running.key("acme-prod", ["catalogue:read"]);
    const id = parseKeyText(key)?.publicId ?? "";
    await call(server, manager, "POST", `/v1/keys/${id}/revoke`);
    const rotated = await call(server, manager, "POST", `/v1/keys/${id}/rotate`, {});
    expect(rotated.json.error.code).toBe("key_not_active");
    expect(await server.keys.lookUp(key)).toBe(false);
    expect((await call(server, key, "GET", "/v1/models")).status).toBe(401);
  });
});

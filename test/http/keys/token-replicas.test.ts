import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { startServer } from "../../../src/server/start.ts";
import type { RunningServer } from "../../../src/server/running-server.ts";
import { startTestServer } from "../../support/server.ts";
import { call } from "./support.ts";
import { TEST_CACHE } from "../../support/cache.ts";

const running = await startTestServer();
const { server, folder } = running;
const manager = await running.key("demo", ["operations:manage"]);

const others: RunningServer[] = [];
afterAll(async () => {
  for (const other of others) await other.close();
});

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

const makeKey = async (): Promise<{ key: string; id: string }> =>
  (
    await call(server, manager, "POST", "/v1/keys", {
      scopes: ["inference", "catalogue:read"],
      owner: "test",
      expires_in: 3_600,
      exchange: { maximum_lifetime: 600 },
    })
  ).json;

const tokenFrom = async (at: RunningServer, key: string): Promise<string> =>
  (
    await call(at, key, "POST", "/v1/credentials/exchange", {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      scope: "catalogue:read",
    })
  ).json.access_token;

const use = async (at: RunningServer, token: string): Promise<number> =>
  (await call(at, token, "GET", "/v1/models")).status;

let elsewhere: RunningServer;
beforeAll(async () => {
  elsewhere = await another();
});

describe("a token on several servers of one database", () => {
  it("is accepted elsewhere at once, though its key and its issuer are both new", async () => {
    const { key } = await makeKey();
    const token = await tokenFrom(server, key);
    expect(await use(elsewhere, token)).toBe(200);
    expect(await use(server, await tokenFrom(elsewhere, key))).toBe(200);
  });

  it("outlives the process that signed it and its private key", async () => {
    const short = await another();
    const { key } = await makeKey();
    const token = await tokenFrom(short, key);
    await short.close();
    expect(await use(elsewhere, token)).toBe(200);
    expect(await use(await another(), token)).toBe(200);
    const kids = (await server.store.issuers.list(Date.now())).map(({ kid }) => kid);
    expect(new Set(kids).size).toBe(kids.length);
    expect(kids.length).toBeGreaterThanOrEqual(3);
  });

  it("ends with its key: here with the answer, elsewhere within a second", async () => {
    const { key, id } = await makeKey();
    const token = await tokenFrom(elsewhere, key);
    expect([await use(server, token), await use(elsewhere, token)]).toEqual([200, 200]);
    await call(server, manager, "POST", `/v1/keys/${id}/revoke`);
    expect(await use(server, token)).toBe(401);
    await expect.poll(() => use(elsewhere, token), { timeout: 1_000, interval: 20 }).toBe(401);
    expect(await use(await another(), token)).toBe(401);
  });

  it("a process has one issuer, for any number of concurrent token requests", async () => {
    const fresh = await another();
    const before = (await server.store.issuers.list(Date.now())).length;
    const { key } = await makeKey();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => tokenFrom(fresh, key)));
    expect(new Set(tokens).size).toBe(8);
    expect((await server.store.issuers.list(Date.now())).length).toBe(before + 1);
  });
});

describe("a key that is changed by its name, on several servers of one database", () => {
  it("has its new grants here with the answer, elsewhere within a second", async () => {
    const plain = { owner: "test", expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const put = (scopes: readonly string[]) =>
      call(server, manager, "PUT", "/v1/workspaces/demo/keys/replicated", { ...plain, scopes });
    const { key } = (await put(["inference", "catalogue:read"])).json;
    expect([await use(server, key), await use(elsewhere, key)]).toEqual([200, 200]);
    await put(["inference"]);
    expect(await use(server, key)).toBe(403);
    await expect.poll(() => use(elsewhere, key), { timeout: 1_000, interval: 20 }).toBe(403);
    await put(["inference", "catalogue:read"]);
    expect(await use(server, key)).toBe(200);
    await expect.poll(() => use(elsewhere, key), { timeout: 1_000, interval: 20 }).toBe(200);
  });

  it("limits a token of it to the key's present grants", async () => {
    const plain = { owner: "test", expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const body = {
      ...plain,
      exchange: { maximum_lifetime: 600 },
      scopes: ["inference", "catalogue:read"],
    };
    const path = "/v1/workspaces/demo/keys/exchanged";
    const token = await tokenFrom(
      server,
      (await call(server, manager, "PUT", path, body)).json.key,
    );
    expect(await use(server, token)).toBe(200);
    await call(server, manager, "PUT", path, { ...body, scopes: ["inference"] });
    expect(await use(server, token)).toBe(401);
  });
});

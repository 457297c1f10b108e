import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/server/parts.ts";
import { createKey } from "../../src/keys/key-record.ts";
import type { RunningServer } from "../../src/server/running-server.ts";
import { delta, sse, startSse, startUpstream, until, type Upstream } from "../support/router.ts";
import { addKey, startRunning, writeFixture } from "./running-server.ts";

const messages = [{ role: "user", content: "hello" }];

/** Sends one piece and then nothing for as long as its client stays. */
function endless(): Promise<Upstream> {
  return startUpstream((response, { body }) => {
    if (!body.includes('"stream":true')) return;
    startSse(response);
    response.write(sse(delta("piece ")));
  });
}

/** Every generation surface: a stream of it, and how it says that its key was revoked. */
const STREAMS: readonly (readonly [path: string, body: object, said: RegExp])[] = [
  [
    "/v1/chat/completions",
    { messages },
    /data: \{"error":\{.*"type":"authentication_error".*"code":"key_revoked"/,
  ],
  [
    "/v1/completions",
    { prompt: "hello" },
    /data: \{"error":\{.*"type":"authentication_error".*"code":"key_revoked"/,
  ],
  [
    "/v1/responses",
    { input: "hello" },
    /event: response\.failed\n.*"status":"failed".*"code":"key_revoked"/,
  ],
  [
    "/api/v1/messages",
    { max_tokens: 20, messages },
    /event: error\ndata: \{"type":"error".*"authentication_error".*"error_code":"key_revoked"/,
  ],
];

async function streamed(
  server: RunningServer,
  key: string,
  path: string,
  body: object,
): Promise<Promise<string>[]> {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "large", stream: true, ...body }),
  });
  expect(response.status).toBe(200);
  // In a list: an async function would wait for the text itself.
  return [response.text()];
}

describe("a key that is revoked while its streams run", () => {
  it("ends them within a second on every surface and replica, and those of its exchanged tokens; no others", async () => {
    const upstream = await endless();
    const fixture = writeFixture(upstream.url);
    const servers = [
      await startRunning(fixture, { drain: 0 }),
      await startRunning(fixture, { drain: 0 }),
    ] as const;
    const [{ store }] = servers;
    const { record, text } = createKey(
      {
        workspace: "large",
        scopes: ["inference"],
        owner: "test",
        environment: "production",
        expiresAt: Date.now() + 600_000,
        createdBy: "test",
        exchange: { maximumLifetime: 600, operations: null, routes: null, origins: null },
      },
      Date.now,
      randomBytes,
    );
    await store.keys.create(record);
    const other = await addKey(store);
    const exchanged = await fetch(`${servers[0].url}/v1/credentials/exchange`, {
      method: "POST",
      headers: { authorization: `Bearer ${text}`, "content-type": "application/json" },
      body: JSON.stringify({ grant_type: "urn:ietf:params:oauth:grant-type:token-exchange" }),
    });
    const { access_token: token }: { access_token: string } = JSON.parse(await exchanged.text());
    const ended: (readonly [Promise<string>, RegExp])[] = [];
    for (const server of servers) {
      for (const [path, body, said] of STREAMS) {
        for (const credential of [text, token]) {
          const [stream] = await streamed(server, credential, path, body);
          if (stream !== undefined) ended.push([stream, said]);
        }
      }
    }
    const [untouched] = await streamed(servers[0], other.text, "/v1/chat/completions", {
      messages,
    });
    await store.keys.revoke(record.id, Date.now());
    // The provider never ends them. How soon a replica hears of a revocation:
    // test/http/keys/revoke.test.ts.
    for (const [stream, said] of ended) expect(await stream).toMatch(said);
    await until(() => upstream.calls.filter(({ lostAt }) => lostAt === null).length === 1);
    for (const server of servers) await server.close();
    expect(await untouched).toContain("server_stopping");
    const reader = await openStore(fixture.database);
    onTestFinished(() => reader.close());
    const entries = await reader.evidence.read({ after: 0, limit: 100 });
    const ofKey = entries.filter(
      ({ decision }) => decision.keyId === record.id && decision.operation !== "control",
    );
    expect(ofKey).toHaveLength(16);
    for (const { outcome } of ofKey) {
      expect(outcome).toMatchObject({
        terminal: "failed",
        ended: "key_revoked",
        attempts: [{ failure: "key_revoked" }],
      });
    }
  });

  it("finishes them where the workspace has that setting", async () => {
    const finish = Promise.withResolvers<void>();
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      response.write(sse(delta("piece ")));
      await finish.promise;
      response.end(`${sse(delta("", "stop"))}data: [DONE]\n\n`);
    });
    const fixture = writeFixture(upstream.url, (value) => {
      const file: { workspaces: Record<string, object> } = JSON.parse(JSON.stringify(value));
      file.workspaces.large = { ...file.workspaces.large, on_revoke: "finish" };
      return file;
    });
    const server = await startRunning(fixture);
    const key = await addKey(server.store);
    const [stream] = await streamed(server, key.text, "/v1/chat/completions", { messages });
    await server.store.keys.revoke(key.id, Date.now());
    await until(() => server.keys.isRevoked(key.id));
    finish.resolve();
    expect(await stream).toMatch(/\[DONE\]\n\n$/);
  });
});

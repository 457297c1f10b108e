import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SCOPES, type Scope } from "../../src/canon/identity.ts";
import { startServer } from "../../src/server/start.ts";
import type { RunningServer } from "../../src/server/running-server.ts";
import { createKey } from "../../src/keys/key-record.ts";
import { call } from "./keys/support.ts";
import { cacheIn } from "../support/cache.ts";

/** Connections to the only provider, and reads of the variables that its credentials stand in. */
const touched = { sockets: 0, credentials: 0 };

const SECRETS: ReadonlySet<string> = new Set([
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
]);
const environment = new Proxy<Record<string, string | undefined>>(
  { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" },
  {
    get(target, name) {
      if (typeof name !== "string") return undefined;
      if (SECRETS.has(name)) touched.credentials += 1;
      return target[name];
    },
  },
);

const open = new Set<Socket>();
/** A provider that takes a call and never answers, so that what a call holds can be seen. */
const provider = createServer((socket) => {
  touched.sockets += 1;
  open.add(socket);
  socket.on("error", () => {});
});

const folder = mkdtempSync(join(tmpdir(), "signalbox-simulate-"));
let server: RunningServer;

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    provider.listen(0, "127.0.0.1", resolve);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  const { port } = provider.address() as AddressInfo;
  writeFileSync(join(folder, "routes.yaml"), routes(port));
  const started = await startServer(
    {
      config: join(folder, "routes.yaml"),
      database: join(folder, "signalbox.db"),
      host: "127.0.0.1",
      port: 0,
      adminHost: "127.0.0.1",
      adminPort: 0,
      demo: false,
      drain: 0,
      watch: false,
      cache: cacheIn(folder),
    },
    environment,
    "0.0.0-test",
  );
  if (!started.ok)
    throw new Error(`the test configuration has errors: ${JSON.stringify(started.diagnostics)}`);
  ({ server } = started);
});

afterAll(async () => {
  for (const socket of open) socket.destroy();
  await server.close();
  await new Promise((resolve) => {
    provider.close(resolve);
  });
  rmSync(folder, { recursive: true, force: true });
});

const routes = (port: number): string => `version: 1
regions: { eu: [eu-west] }
providers:
  signed:
    dialect: bedrock-converse
    base_url: http://127.0.0.1:${port}
    network: private
    region: eu-west
    auth: { aws_sigv4: { service: bedrock, region: eu-west-1, credentials: env } }
    retention: none
    trains_on_data: false
models:
  m: { operations: [generate], context_window: 100000, max_output_tokens: 1000, capabilities: [tools] }
endpoints:
  - { id: only, model: m, provider: signed, upstream_model: m, price: { input: 1, output: 1 } }
routes:
  r: { title: The only one, primary: only }
workspaces:
  w:
    tier: standard
    approve: { routes: [r], regions: [eu], providers: [signed], capabilities: [tools] }
    limits: { requests_per_minute: 3, tokens_per_minute: 100000, concurrency: 1, budget: { tokens: 100000, per: hour } }
`;

async function keyWith(scopes: readonly Scope[]): Promise<string> {
  const expiresAt = Date.now() + 60_000;
  const made = createKey(
    {
      workspace: "w",
      scopes,
      owner: "test",
      environment: "production",
      expiresAt,
      createdBy: "test",
    },
    Date.now,
    randomBytes,
  );
  await server.store.keys.create(made.record);
  return made.text;
}

const PATH = "/v1/route/simulate?operation=chat.completions";
const REQUEST = { model: "r", max_tokens: 10, messages: [{ role: "user", content: "hello" }] };
const BODIES: readonly object[] = [
  { model: "r" },
  {
    model: "r",
    needs: ["tools"],
    stream: true,
    context: "to_4k",
    max_output: "to_1k",
    time: { day: "weekend", hour: "night" },
  },
  { model: "r", request: REQUEST, promoted: true },
  { model: "unknown" },
];

describe("a simulation", () => {
  it("opens no connection, reads no credential, reserves nothing, and is recorded", async () => {
    const key = await keyWith(["route:simulate", "inference"]);
    expect(touched.sockets).toBe(0);
    touched.credentials = 0;
    const before = await server.store.limits.read(Date.now());
    // More than the limit of requests allows in a minute.
    for (let round = 0; round < 5; round += 1) {
      for (const body of BODIES) {
        const answer = await call(server, key, "POST", PATH, body);
        expect(answer.status).toBe(200);
        expect([...answer.headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
      }
    }
    expect(touched).toEqual({ sockets: 0, credentials: 0 });
    expect(await server.store.limits.read(Date.now())).toEqual(before);
    await server.store.evidence.flush();
    const entries = await server.store.evidence.read({ after: 0, limit: 100 });
    expect(
      entries.map(({ decision }) => [
        decision.operation,
        decision.outcome,
        decision.route,
        decision.plan,
      ]),
    ).toEqual(Array.from({ length: 5 * BODIES.length }, () => ["simulate", "answer", null, []]));

    // What a simulation leaves alone, a call takes: a connection, the credentials, a request of
    // three, the only slot.
    const gone = new AbortController();
    const ended = fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(REQUEST),
      signal: gone.signal,
    }).catch(() => null);
    await expect.poll(() => touched.sockets, { timeout: 20_000 }).toBe(1);
    expect(touched.credentials).toBeGreaterThan(0);
    const held = { ...touched };
    const second = await call(server, key, "POST", "/v1/chat/completions", REQUEST);
    expect(second.status).toBe(429);
    expect(second.headers.get("x-ratelimit-limit-requests")).toBe("3");
    // One call is under way: simulations before it and beside it count for nothing.
    expect(second.headers.get("x-ratelimit-remaining-requests")).toBe("2");
    for (const body of BODIES)
      expect((await call(server, key, "POST", PATH, body)).status).toBe(200);
    expect(touched).toEqual(held);
    gone.abort();
    await ended;
  });

  it.each(SCOPES)("with the scope %s alone is allowed only if that is its scope", async (scope) => {
    const { status, json } = await call(server, await keyWith([scope]), "POST", PATH, {
      model: "r",
    });
    expect(status).toBe(scope === "route:simulate" ? 200 : 403);
    if (status === 403) expect(json.error.code).toBe("insufficient_scope");
  });

  it("needs a key", async () => {
    expect((await call(server, "sbx_none", "POST", PATH, { model: "r" })).status).toBe(401);
  });

  it("does not entitle its key to the request", async () => {
    const { status } = await call(
      server,
      await keyWith(["route:simulate"]),
      "POST",
      "/v1/chat/completions",
      REQUEST,
    );
    expect(status).toBe(403);
  });
});

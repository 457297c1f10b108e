import { setTimeout as delay } from "node:timers/promises";
import OpenAI from "openai";
import { Agent, request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/server/parts.ts";
import type { EvidenceEntry } from "../../src/evidence/evidence-store.ts";
import { Clients, type Seen } from "../replicas/clients.ts";
import {
  ANSWER,
  answerJson,
  delta,
  sse,
  startSse,
  startUpstream,
  until,
  type Upstream,
} from "../support/router.ts";
import { addKey, startRunning, writeFixture } from "./running-server.ts";

const hello = [{ role: "user", content: "hello" }] as const;

/** Sends one piece and then nothing for as long as its client stays. */
function endless(): Promise<Upstream> {
  return startUpstream((response, { body }) => {
    if (!body.includes('"stream":true')) return;
    startSse(response);
    response.write(sse(delta("piece ")));
  });
}

async function recorded(database: string): Promise<readonly EvidenceEntry[]> {
  const store = await openStore(database);
  onTestFinished(() => store.close());
  return await store.evidence.read({ after: 0, limit: 10_000 });
}

describe("the end of a drain's time", () => {
  it.each([
    [
      "/v1/chat/completions",
      { model: "large", stream: true, messages: hello },
      /data: \{"error":.*"code":"server_stopping"/,
    ],
    [
      "/v1/responses",
      { model: "large", stream: true, input: "hello" },
      /event: response\.failed\n.*"status":"failed".*being stopped/,
    ],
    [
      "/api/v1/messages",
      { model: "large", stream: true, max_tokens: 20, messages: hello },
      /event: error\ndata: \{"type":"error".*being stopped/,
    ],
  ])(
    "%s: a stream gets an error in its caller's dialect and is no client's fault",
    async (path, body, said) => {
      const fixture = writeFixture((await endless()).url);
      const server = await startRunning(fixture, { drain: 200 });
      const { text: key } = await addKey(server.store);
      const response = await fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(200);
      const text = response.text();
      await server.close();
      // Whole: a connection that is cut would reject.
      expect(await text).toMatch(said);
      const [entry] = await recorded(fixture.database);
      expect(entry?.outcome).toMatchObject({
        status: 200,
        terminal: "failed",
        attempts: [{ failure: "server_stopping" }],
      });
    },
  );

  it("a request without an answer gets a 503 with retry-after, for chats and for bodies in transfer", async () => {
    const fixture = writeFixture((await endless()).url);
    const server = await startRunning(fixture, { drain: 200 });
    const { text: key } = await addKey(server.store);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const chat = fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify({ model: "large", messages: hello }),
    });
    const slow = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    });
    const body = fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: slow,
      duplex: "half",
    });
    await delay(100);
    await server.close();
    for (const answer of [await chat, await body]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.headers.get("connection")).toBe("close");
      expect(await answer.json()).toMatchObject({ error: { code: "server_stopping" } });
    }
    const entries = await recorded(fixture.database);
    expect(entries.map(({ outcome }) => [outcome?.status, outcome?.terminal])).toEqual([
      [503, "failed"],
      [503, "failed"],
    ]);
  });
});

describe("a stop while a stream is read for its usage", () => {
  it("charges the stream by the provider's count", async () => {
    const left = Promise.withResolvers<void>();
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      response.write(sse(delta("piece ")));
      await left.promise;
      const usage = { prompt_tokens: 7, completion_tokens: 500, total_tokens: 507 };
      response.end(sse(delta("", "stop")) + sse({ choices: [], usage }) + sse("[DONE]"));
    });
    const fixture = writeFixture(upstream.url);
    const server = await startRunning(fixture, { drain: 5_000 });
    const { text: key } = await addKey(server.store, "metered");
    const client = new AbortController();
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "metered", stream: true, messages: hello }),
      signal: client.signal,
    });
    await answer.body?.getReader().read();
    client.abort();
    await delay(100);
    const closing = server.close();
    left.resolve();
    await closing;
    const store = await openStore(fixture.database);
    onTestFinished(() => store.close());
    const [entry] = await store.evidence.read({ after: 0, limit: 10 });
    expect(entry?.outcome).toMatchObject({
      terminal: "client_closed",
      inputTokens: 7,
      outputTokens: 500,
    });
    expect(JSON.stringify(await store.limits.read(Date.now()))).toContain('"used":507');
  });
});

describe("a server that is stopped under load", () => {
  it(
    "drops no request: is not ready first, still serves, and then closes connections",
    { timeout: 60_000 },
    async () => {
      const upstream = await startUpstream(async (response, { body }) => {
        if (!body.includes('"stream":true')) return answerJson(response, ANSWER);
        startSse(response);
        for (let count = 0; count < 10; count += 1) {
          response.write(sse(delta("piece ")));
          await delay(10);
        }
        response.end(`${sse(delta("", "stop"))}data: [DONE]\n\n`);
      });
      const fixture = writeFixture(upstream.url);
      const server = await startRunning(fixture, { drainDelay: 800, drain: 5_000 });
      const { text: key } = await addKey(server.store);
      // Connections are kept for long, so it is the server's answer that ends them.
      const agent = new Agent({
        connections: 8,
        keepAliveTimeout: 60_000,
        keepAliveMaxTimeout: 60_000,
      });
      onTestFinished(() => agent.close());
      let stopped = false;
      const politely: (string | undefined)[] = [];
      const ask = async (stream: boolean): Promise<Seen> => {
        const from = Date.now();
        const body = JSON.stringify({ model: "large", stream, messages: hello });
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
        const answer = await request(`${server.url}/v1/chat/completions`, {
          method: "POST",
          headers,
          body,
          dispatcher: agent,
        });
        if (stopped) politely.push(String(answer.headers.connection));
        const text = await answer.body.text();
        return {
          status: answer.statusCode,
          requestId: String(answer.headers["x-request-id"]),
          text,
          whole: true,
          from,
          to: Date.now(),
        };
      };
      const clients = new Clients();
      clients.add(4, 5, () => ask(false));
      clients.add(4, 5, () => ask(true));
      await delay(300);
      const ready = await fetch(`${server.adminUrl}/readyz`);
      expect(ready.status).toBe(200);
      const closing = server.close();
      stopped = true;
      const notReady = await fetch(`${server.adminUrl}/readyz`);
      expect(notReady.status).toBe(503);
      const during = clients.seen.length;
      await delay(500);
      expect(clients.seen.length).toBeGreaterThan(during);
      await clients.stop();
      await closing;
      expect(clients.seen.filter(({ status }) => status !== 200)).toEqual([]);
      const streams = clients.seen.filter(({ text }) => text.startsWith("data:"));
      expect(streams.length).toBeGreaterThan(5);
      for (const { text } of streams) expect(text).toMatch(/\[DONE\]\n\n$/);
      expect(politely.slice(8)).not.toEqual([]);
      expect(new Set(politely.slice(8))).toEqual(new Set(["close"]));
      const entries = await recorded(fixture.database);
      expect(new Set(entries.map(({ outcome }) => outcome?.terminal))).toEqual(
        new Set(["completed"]),
      );
      expect(entries).toHaveLength(clients.seen.length);
      await expect(fetch(`${server.url}/status`)).rejects.toThrow("fetch failed");
    },
  );

  it("an official client that streams through it gets its whole answer", async () => {
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      for (let count = 0; count < 10; count += 1) {
        response.write(sse(delta("piece ")));
        await delay(30);
      }
      response.end(`${sse(delta("", "stop"))}data: [DONE]\n\n`);
    });
    const server = await startRunning(writeFixture(upstream.url), { drain: 5_000 });
    const { text: key } = await addKey(server.store);
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 });
    const stream = await client.chat.completions.create({
      model: "large",
      stream: true,
      messages: [...hello],
    });
    const pieces: string[] = [];
    let closing: Promise<void> | null = null;
    for await (const { choices } of stream) {
      pieces.push(choices[0]?.delta.content ?? "");
      closing ??= server.close();
    }
    expect(pieces.join("")).toBe("piece ".repeat(10));
    await until(() => closing !== null);
    await closing;
  });
});

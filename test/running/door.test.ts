import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { answerJson, delta, sse, startSse, startUpstream, until } from "../support/router.ts";
import { addKey, startRunning, writeFixture } from "./running-server.ts";

const chat = (stream = false): string =>
  JSON.stringify({ model: "large", stream, messages: [{ role: "user", content: "hello" }] });

function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe("the two listeners", () => {
  it("serve no path of each other", async () => {
    const server = await startRunning(writeFixture("http://127.0.0.1:9"));
    const urls = { public: server.url, admin: server.adminUrl };
    for (const { listener, method, path } of ENDPOINTS) {
      const elsewhere = listener === "public" ? urls.admin : urls.public;
      const answer = await fetch(`${elsewhere}${path.replaceAll(/\{\w+\}/g, "x")}`, { method });
      expect([path, answer.status]).toEqual([path, 404]);
      await answer.arrayBuffer();
    }
    expect(new Set(ENDPOINTS.map(({ listener }) => listener))).toEqual(
      new Set(["public", "admin"]),
    );
  });
});

describe("load beyond a bound", () => {
  it("requests of one workspace beyond its share are refused with a retry-after; one that ends frees its slot", async () => {
    const upstream = await startUpstream((response, { body }) => {
      if (!body.includes('"stream":true')) return answerJson(response);
      startSse(response);
      response.write(sse(delta("text")));
    });
    const server = await startRunning(writeFixture(upstream.url), { drain: 0 }, { inFlight: 4 });
    const { text: key } = await addKey(server.store);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const ask = (stream: boolean, signal?: AbortSignal): Promise<Response> =>
      fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers,
        body: chat(stream),
        signal: signal ?? null,
      });
    const abandoned = new AbortController();
    const streams = [await ask(true, abandoned.signal), await ask(true)];
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const refused = await ask(false);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("x-request-id")).toMatch(/^req_/);
    expect(await refused.json()).toMatchObject({
      error: { code: "fair_share_exceeded", type: "rate_limit_error" },
    });
    // What says how the server does is not inference.
    expect((await fetch(`${server.url}/status`)).status).toBe(200);
    abandoned.abort();
    await expect.poll(async () => (await ask(false)).status, { timeout: 20_000 }).toBe(200);
  });

  it("connections beyond the bound are closed on arrival", async () => {
    const server = await startRunning(writeFixture("http://127.0.0.1:9"), { maxConnections: 2 });
    const [first, second] = [open(server.url), open(server.url)];
    await Promise.all(
      [first, second].map((socket) => new Promise((resolve) => socket.once("connect", resolve))),
    );
    const third = open(server.url);
    await new Promise((resolve) => third.once("close", resolve));
    expect([first.destroyed, second.destroyed]).toEqual([false, false]);
  });

  it(
    "a connection without a request is kept for as long as --keep-alive has it",
    { timeout: 20_000 },
    async () => {
      const server = await startRunning(writeFixture("http://127.0.0.1:9"), { keepAlive: 50 });
      const socket = open(server.url);
      socket.resume().write("GET /status HTTP/1.1\r\nhost: x\r\n\r\n");
      // The default is 75 s, beyond this test's time.
      await new Promise((resolve) => socket.once("close", resolve));
      expect(socket.destroyed).toBe(true);
    },
  );

  it("a quick provider is stopped where a client does not read", { timeout: 60_000 }, async () => {
    const event = sse(delta("x".repeat(60_000)));
    const most = 1_500;
    let written = 0;
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      while (written < most && !response.destroyed) {
        written += 1;
        if (!response.write(event)) {
          await new Promise<void>((resolve) => {
            const go = (): void => {
              response.off("drain", go).off("close", go);
              resolve();
            };
            response.on("drain", go).on("close", go);
          });
        }
      }
    });
    const server = await startRunning(writeFixture(upstream.url), { drain: 0 });
    const { text: key } = await addKey(server.store);
    const socket = open(server.url);
    const body = chat(true);
    const head = `authorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n${body}`);
    socket.pause();
    await until(() => written > 0, 10_000);
    // It has come to a stop when nothing was written for a while.
    for (let seen = -1; seen !== written;) {
      seen = written;
      await delay(700);
    }
    // What is under way sits in the sockets' buffers: some MB, of the 90 that it would send.
    expect(written).toBeLessThan(most / 2);
    const stoppedAt = written;
    socket.resume();
    await until(() => written > stoppedAt, 10_000);
  });
});

describe("heads and bodies", () => {
  it("a URL, or headers, too long or too many are refused with our error", async () => {
    const server = await startRunning(writeFixture("http://127.0.0.1:9"));
    const long = await fetch(`${server.url}/status?${"x".repeat(9_000)}`);
    expect([long.status, await long.json()]).toMatchObject([
      414,
      { error: { code: "url_too_long" } },
    ]);
    const many = await fetch(`${server.url}/status`, {
      headers: Object.fromEntries(Array.from({ length: 220 }, (_, index) => [`x-${index}`, "1"])),
    });
    expect([many.status, await many.json()]).toMatchObject([
      431,
      { error: { code: "too_many_headers" } },
    ]);
    const socket = open(server.url);
    const heard: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => heard.push(chunk));
    socket.write(`GET /status HTTP/1.1\r\nhost: x\r\nx-large: ${"x".repeat(20_000)}\r\n\r\n`);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(Buffer.concat(heard).toString()).toMatch(/^HTTP\/1\.1 431 [\s\S]*headers_too_large/);
  });

  it("a length together with chunks is no request", async () => {
    const server = await startRunning(writeFixture("http://127.0.0.1:9"));
    const socket = open(server.url);
    const heard: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => heard.push(chunk));
    const lengths = "content-length: 5\r\ntransfer-encoding: chunked";
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${lengths}\r\n\r\n0\r\n\r\nGET /status HTTP/1.1\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once("close", resolve));
    expect(Buffer.concat(heard).toString()).toMatch(/^HTTP\/1\.1 400 [\s\S]*malformed_request/);
    expect(
      Buffer.concat(heard)
        .toString()
        .match(/HTTP\/1\.1/g),
    ).toHaveLength(1);
  });

  it("a body of the router's own endpoints is short", async () => {
    const server = await startRunning(writeFixture("http://127.0.0.1:9"));
    const { text: key } = await addKey(server.store, "large", ["operations:manage"]);
    const answer = await fetch(`${server.url}/v1/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ owner: "x".repeat(1_100_000) }),
    });
    expect([answer.status, await answer.json()]).toMatchObject([
      413,
      { error: { code: "request_too_large" } },
    ]);
  });

  it("a proxy's headers about the client are neither trusted nor forwarded nor recorded", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const server = await startRunning(writeFixture(upstream.url));
    const { text: key } = await addKey(server.store);
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-forwarded-for": "203.0.113.66",
        "x-forwarded-host": "canary.example",
        "x-forwarded-proto": "https",
        "x-real-ip": "203.0.113.66",
        forwarded: "for=203.0.113.66;host=canary.example",
      },
      body: chat(),
    });
    expect(answer.status).toBe(200);
    const said = JSON.stringify([[...answer.headers], await answer.text()]);
    const reported = JSON.stringify(upstream.calls);
    await server.store.evidence.flush();
    const kept = JSON.stringify(await server.store.evidence.read({ after: 0, limit: 10 }));
    for (const text of [said, reported, kept])
      expect(text).not.toMatch(/203\.0\.113\.66|canary\.example|forwarded/);
  });
});

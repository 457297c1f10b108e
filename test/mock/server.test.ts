import { request } from "node:http";
import { expect, test } from "vitest";
import { startMock } from "../../mock/server.ts";
import { HELLO, mockForTest, post, raw } from "./start.ts";

const hello = { model: "m", messages: HELLO };

test("the log of requests has no credential", async () => {
  const server = await mockForTest();
  const before = Date.now();
  for (const name of ["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"]) {
    await (
      await post(server, hello, {
        [name]: name === "authorization" ? "Bearer sk-secret" : "sk-secret",
        "x-other": "kept",
      })
    ).text();
  }
  await expect.poll(() => server.requests.at(-1)?.endedAt).not.toBeNull();
  const text = await (await fetch(`${server.url}/mock/requests`)).text();
  expect(text).not.toContain("sk-secret");
  const { counts, requests } = JSON.parse(text) as {
    counts: object;
    requests: typeof server.requests;
  };
  expect(counts).toEqual({ total: 5, closedEarly: 0, underWay: 0 });
  expect(requests).toEqual(server.requests);
  expect(requests[0]).toMatchObject({
    id: 1,
    method: "POST",
    path: "/v1/chat/completions",
    body: hello,
    closedEarly: false,
    headers: { "x-other": "kept" },
  });
  expect(requests[0]?.startedAt).toBeGreaterThanOrEqual(before);
  expect(new Set(requests.map((entry) => entry.credential))).toEqual(
    new Set([requests[0]?.credential]),
  );
  expect(requests[0]?.credential).toMatch(/^[0-9a-f]{16}$/);
});

test("the log distinguishes two credentials, and a missing one", async () => {
  const server = await mockForTest();
  for (const headers of [{ authorization: "Bearer a" }, { authorization: "Bearer b" }, {}])
    await (await post(server, hello, { ...headers })).text();
  const [first, second, third] = server.requests.map((entry) => entry.credential);
  expect(first).not.toBe(second);
  expect(third).toBeNull();
});

test("the log records a client that disconnects before the end, and the time", async () => {
  const server = await mockForTest();
  const abort = new AbortController();
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ ...hello, model: "m+stall", stream: true }),
    signal: abort.signal,
  });
  await response.body?.getReader().read();
  expect(server.requests[0]).toMatchObject({ endedAt: null, closedEarly: false });
  const leaving = Date.now();
  abort.abort();
  await expect.poll(() => server.requests[0]?.closedEarly).toBe(true);
  expect((server.requests[0]?.endedAt ?? 0) - leaving).toBeLessThan(500);
  const { counts } = (await (await fetch(`${server.url}/mock/requests`)).json()) as {
    counts: object;
  };
  expect(counts).toEqual({ total: 1, closedEarly: 1, underWay: 0 });
});

test.each(["close", "reset", "refused", "cut"])(
  "an end by %s is not the client's in the log",
  async (setting) => {
    const server = await mockForTest();
    await raw(server, `m+${setting}`, { stream: true });
    await expect.poll(() => server.requests[0]?.endedAt).not.toBeNull();
    expect(server.requests[0]?.closedEarly).toBe(false);
  },
);

test("the log keeps the newest thousand requests, and is emptied on request", async () => {
  const server = await mockForTest();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let count = 0; count < 130; count += 1)
        await (await fetch(`${server.url}/v1/models`)).text();
    }),
  );
  expect(server.requests).toHaveLength(1_000);
  expect(server.requests.at(-1)?.id).toBe(1_040);
  await fetch(`${server.url}/mock/requests`, { method: "DELETE" });
  expect(server.requests).toHaveLength(0);
});

test("the log keeps at most 32 MB of bodies", async () => {
  const server = await mockForTest();
  for (let count = 0; count < 4; count += 1)
    await (
      await post(server, {
        model: "m",
        messages: [{ role: "user", content: "x".repeat(10_000_000) }],
      })
    ).text();
  expect(server.requests.map((entry) => entry.id)).toEqual([2, 3, 4]);
});

test("a body that is too large gets a 413", async () => {
  const server = await mockForTest();
  const status = await new Promise((resolve, reject) => {
    const outgoing = request(
      `${server.url}/v1/chat/completions`,
      { method: "POST" },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    outgoing.on("error", reject);
    for (let count = 0; count < 65; count += 1) outgoing.write(Buffer.alloc(1_000_000, 32));
    outgoing.end();
  });
  expect(status).toBe(413);
});

test("printed lines have the answers and no content of requests", async () => {
  const lines: string[] = [];
  const server = await mockForTest((line) => lines.push(line));
  await (await post(server, { ...hello, model: "private-name" })).text();
  await (await fetch(`${server.url}/private-path?private=query`)).text();
  await raw(server, "m+refused");
  await expect.poll(() => lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^POST \/chat\/completions 200 \d+ ms$/);
  expect(lines[1]).toMatch(/^GET unknown path 404 \d+ ms$/);
  expect(lines[2]).toMatch(/^POST \/chat\/completions no answer \d+ ms, not completed$/);
});

test("the server stops although an answer stalls, and twice", async () => {
  const server = await startMock({ host: "127.0.0.1", port: 0 });
  const waiting = raw(server, "m+stall", { stream: true }, "", 5_000);
  await expect.poll(() => server.requests.length).toBe(1);
  await server.close();
  await server.close();
  expect((await waiting).end).not.toBe("open");
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
});

test("the server's start is rejected when it cannot listen", async () => {
  const server = await mockForTest();
  await expect(
    startMock({ host: "127.0.0.1", port: Number(new URL(server.url).port) }),
  ).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
});

test.each([
  ["of every model", "Hello [x-mock: 503]", 503],
  ["of this model", "Hello [x-mock m: status=429; retry-after=3]", 429],
  ["of another model", "Hello [x-mock gpt-5: 503]", 200],
  ["that is misspelt", "Hello [x-mock: cutt]", 400],
])("a setting %s in a message has status %3$s", async (_, content, status) => {
  const server = await mockForTest();
  const answer = await post(server, { model: "m", messages: [{ role: "user", content }] });
  expect(answer.status).toBe(status);
  await answer.text();
});

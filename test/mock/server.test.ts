import { expect, test } from "vitest";
import { RequestLog } from "../../mock/request-log.ts";
import { CHAT, HELLO, mockForFile, mockForTest, post, raw } from "./start.ts";

const hello = { model: "m", messages: HELLO };
const LOG = "/mock/requests";

const shared = await mockForFile();

test("the log has each credential as a hash alone", async () => {
  const server = await mockForTest();
  const before = Date.now();
  for (const headers of [
    { authorization: "Bearer sk-secret", "x-other": "kept" },
    { "x-api-key": "sk-secret" },
    { "api-key": "sk-secret" },
    { "x-goog-api-key": "sk-secret" },
    { cookie: "sk-secret" },
    { authorization: "Bearer sk-secret-2" },
    {},
  ])
    await (await post(server, CHAT, hello, headers)).text();
  await expect.poll(() => server.requests.at(-1)?.endedAt).not.toBeNull();
  const text = await (await fetch(server.url + LOG)).text();
  expect(text).not.toContain("sk-secret");
  const { counts, requests } = JSON.parse(text);
  expect(counts).toEqual({ total: 7, closedEarly: 0, underWay: 0 });
  expect(requests).toEqual(server.requests);
  expect(requests[0]).toMatchObject({
    id: 1,
    method: "POST",
    path: CHAT,
    body: hello,
    closedEarly: false,
    headers: { "x-other": "kept" },
  });
  expect(requests[0].startedAt).toBeGreaterThanOrEqual(before);
  const [first, ...others] = server.requests.map(({ credential }) => credential);
  expect(first).toMatch(/^[0-9a-f]{16}$/);
  expect(others).toEqual([first, first, first, first, expect.any(String), null]);
  expect(others[4]).not.toBe(first);
  expect((await fetch(server.url + LOG, { method: "DELETE" })).status).toBe(200);
  expect(server.requests).toHaveLength(0);
});

test("the log has the time at which a client disconnects before the end", async () => {
  const server = await mockForTest();
  for (const settings of ["stall", "chunk-delay=60s"])
    await raw(server, CHAT, { ...hello, model: `m+${settings}`, stream: true }, {}, 40);
  await expect.poll(() => server.requests.map((entry) => entry.closedEarly)).toEqual([true, true]);
  const leaving = server.requests.map(({ startedAt, endedAt }) => (endedAt ?? 0) - startedAt);
  for (const milliseconds of leaving) expect(milliseconds).toBeGreaterThanOrEqual(30);
  const counts = { total: 2, closedEarly: 2, underWay: 0 };
  expect(await (await fetch(server.url + LOG)).json()).toMatchObject({ counts });
});

test("an end that the settings request is not the client's in the log", async () => {
  const server = await mockForTest();
  for (const settings of ["close", "reset", "refused", "cut"])
    await raw(server, CHAT, { ...hello, model: `m+${settings}`, stream: true });
  await expect.poll(() => server.requests.at(-1)?.endedAt).not.toBeNull();
  expect(server.requests.map(({ closedEarly }) => closedEarly)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test("the log keeps the newest thousand requests", () => {
  const log = new RequestLog();
  for (let count = 0; count < 1_040; count += 1) log.begin("GET", "/", {}, 0);
  expect([log.entries.length, log.entries.at(-1)?.id]).toEqual([1_000, 1_040]);
});

test("the log keeps at most 32 MB of bodies", async () => {
  const server = await mockForTest();
  for (const bytes of [1, 15_000_000, 17_000_000])
    await (await post(server, CHAT, { model: "x".repeat(bytes) })).text();
  expect(server.requests.map(({ id }) => id)).toEqual([3]);
});

test("a body that is too large gets a 413", async () => {
  const body = Buffer.alloc(64_000_001, 32);
  expect((await fetch(shared.url + CHAT, { method: "POST", body })).status).toBe(413);
});

test("printed lines have the answers and no content of requests", async () => {
  const lines: string[] = [];
  const server = await mockForTest((line) => lines.push(line));
  await (await post(server, CHAT, { ...hello, model: "private-name" })).text();
  await (await fetch(`${server.url}/private-path?private=query`)).text();
  await raw(server, CHAT, { ...hello, model: "m+refused" });
  await expect.poll(() => lines).toHaveLength(3);
  expect(lines.map((line) => line.replace(/\d+ ms/, "N ms"))).toEqual([
    "POST /chat/completions 200 N ms",
    "GET unknown path 404 N ms",
    "POST /chat/completions no answer N ms, not completed",
  ]);
});

test("the server stops although an answer stalls, and twice", async () => {
  const server = await mockForTest();
  const waiting = raw(server, CHAT, { ...hello, model: "m+stall", stream: true }, {}, 5_000);
  await expect.poll(() => server.requests.length).toBe(1);
  await server.close();
  await server.close();
  expect((await waiting).end).not.toBe("open");
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
});

test("the same requests to two servers get the same bytes", async () => {
  const body = { ...hello, stream: true, tools: [{ type: "function", function: { name: "f" } }] };
  const servers = [await mockForTest(), await mockForTest()];
  const [one, two] = await Promise.all(
    servers.map(async (server) => (await post(server, CHAT, body)).text()),
  );
  expect(one).toBe(two);
});

test.each([
  ["of every model", "Hello [x-mock: 503]", 503],
  ["of this model", "Hello [x-mock m: status=429; retry-after=3]", 429],
  ["of another model", "Hello [x-mock gpt-5: 503]", 200],
  ["that is misspelt", "Hello [x-mock: cutt]", 400],
])("a setting %s in a message has status %3$s", async (_, content, status) => {
  const answer = await post(shared, CHAT, { model: "m", messages: [{ role: "user", content }] });
  expect(answer.status).toBe(status);
});

test("404 and 405 name the right path or method", async () => {
  const send = async (path: string, method: string) => {
    const response = await fetch(shared.url + path, { method });
    return [response.status, response.headers.get("allow"), await response.text()];
  };
  const served = expect.stringContaining("POST …/chat/completions");
  expect(await send("/v1/nowhere", "GET")).toEqual([404, null, served]);
  expect(await send(CHAT, "GET")).toEqual([405, "POST", expect.any(String)]);
  expect(await send(LOG, "PUT")).toEqual([405, "GET, DELETE", expect.any(String)]);
});

test("models are listed", async () => {
  const response = await fetch(`${shared.url}/v1/models`);
  expect(await response.json()).toMatchObject({
    data: [{ id: "mock-small" }, { id: "mock-large" }],
  });
});

import { expect, test } from "vitest";
import { RequestLog } from "../../mock/request-log.ts";
import { mock } from "../../src/cli/mock.ts";
import { runCommand } from "../keys/command.ts";
import { CHAT, HELLO, mockForFile, mockForTest, post, raw } from "./start.ts";

const hello = { model: "m", messages: HELLO };
const LOG = "/mock/requests";

const shared = await mockForFile();

test("the log has each credential as a hash alone", async () => {
  const server = await mockForTest();
  const before = Date.now();
  const bearer = { authorization: "Bearer sk-secret", "x-other": "kept" };
  const names = ["x-api-key", "api-key", "x-goog-api-key", "cookie"];
  const same = [bearer, ...names.map((name) => ({ [name]: "sk-secret" }))];
  for (const headers of [...same, { authorization: "Bearer sk-secret-2" }, {}])
    await (await post(server, CHAT, hello, headers)).text();
  await expect.poll(() => server.requests.at(-1)?.endedAt).not.toBeNull();
  const text = await (await fetch(server.url + LOG)).text();
  expect(text).not.toContain("sk-secret");
  const { counts, requests } = JSON.parse(text);
  expect(counts).toEqual({ total: 7, closedEarly: 0, underWay: 0 });
  expect(requests).toEqual(server.requests);
  const seen = { id: 1, method: "POST", path: CHAT, body: hello, closedEarly: false };
  expect(requests[0]).toMatchObject({ ...seen, headers: { "x-other": "kept" } });
  expect(requests[0].startedAt).toBeGreaterThanOrEqual(before);
  const [first, ...others] = server.requests.map(({ credential }) => credential);
  expect(first).toMatch(/^[0-9a-f]{16}$/);
  const other = expect.not.stringContaining(String(first));
  expect(others).toEqual([first, first, first, first, other, null]);
  expect((await fetch(server.url + LOG, { method: "DELETE" })).status).toBe(200);
  expect(server.requests).toHaveLength(0);
});

test("the log marks answers that the client left, with the time, and no others", async () => {
  const server = await mockForTest();
  for (const settings of ["stall", "chunk-delay=60s", "close", "reset", "refused", "cut"])
    await raw(server, CHAT, { ...hello, stream: true }, { "x-mock": settings });
  const isLeft = [true, true, false, false, false, false];
  await expect.poll(() => server.requests.map((entry) => entry.closedEarly)).toEqual(isLeft);
  for (const { startedAt, endedAt } of server.requests.slice(0, 2))
    expect((endedAt ?? 0) - startedAt).toBeGreaterThanOrEqual(100);
  const counts = { total: 6, closedEarly: 2, underWay: 0 };
  expect(await (await fetch(server.url + LOG)).json()).toMatchObject({ counts });
});

test("the log keeps the newest thousand requests, and at most 32 MB of bodies", async () => {
  const log = new RequestLog();
  for (let count = 0; count < 1_040; count += 1) log.begin("GET", "/", {}, 0);
  expect([log.entries.length, log.entries.at(-1)?.id]).toEqual([1_000, 1_040]);
  const server = await mockForTest();
  for (const bytes of [1, 16_000_000, 17_000_000])
    await (await post(server, CHAT, Buffer.alloc(bytes))).text();
  expect(server.requests.map(({ id }) => id)).toEqual([3]);
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
  const bytes = async () => (await post(await mockForTest(), CHAT, body)).text();
  expect(await bytes()).toBe(await bytes());
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

test("models are listed; a wrong path, method or size is refused", async () => {
  const send = async (path: string, method: string) => {
    const response = await fetch(shared.url + path, { method });
    return [response.status, response.headers.get("allow"), await response.text()];
  };
  const models = expect.stringMatching(/"id":"mock-small".*"id":"mock-large"/);
  expect(await send("/v1/models", "GET")).toEqual([200, null, models]);
  const served = expect.stringContaining("POST …/chat/completions");
  expect(await send("/v1/nowhere", "GET")).toEqual([404, null, served]);
  expect(await send(CHAT, "GET")).toEqual([405, "POST", expect.any(String)]);
  expect(await send(LOG, "PUT")).toEqual([405, "GET, DELETE", expect.any(String)]);
  expect((await post(shared, CHAT, Buffer.alloc(64_000_001))).status).toBe(413);
});

test("the command serves until it is stopped, and prints answers without content", async () => {
  const stop = new AbortController();
  let printed = "";
  const io = { stdout: (text: string) => (printed += text), signal: stop.signal };
  const ended = runCommand(mock, ["--port", "0"], io);
  await expect.poll(() => printed).toContain("lists the faults\n");
  const url = /http:\S+/.exec(printed)?.[0] ?? "";
  expect(printed).toContain(`POST   ${url}/v1/chat/completions\n`);
  printed = "";
  await (await post({ url }, CHAT, { ...hello, model: "private-name" })).text();
  await (await fetch(`${url}/private-path?private=query`)).text();
  await raw({ url }, CHAT, { ...hello, model: "m+refused" });
  await expect
    .poll(() => printed.replaceAll(/\d+ ms/g, "N ms").split("\n"))
    .toEqual([
      "POST /chat/completions 200 N ms",
      "GET unknown path 404 N ms",
      "POST /chat/completions no answer N ms, not completed",
      "",
    ]);
  stop.abort();
  expect(await ended).toEqual({ code: 0, stdout: "", stderr: "" });
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("the command names --port where it is in use, and its help lists the settings", async () => {
  const used = await runCommand(mock, ["--port", new URL(shared.url).port]);
  expect(used).toMatchObject({ code: 1, stderr: expect.stringContaining("--port") });
  const { stdout } = await runCommand(mock, ["--help"]);
  expect(stdout).toContain("chunk-delay=Nms");
});

import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { events, mockForTest, parts, raw } from "./start.ts";

const stream = { stream: true };

/** A stream of `chunks=4` has seven events: role, four pieces, finish, [DONE]. */
const MODEL = "m+chunks=4";
const ALL = 7;

const streamed: [
  string,
  { readonly events: number; readonly end: string; readonly complete: boolean },
][] = [
  ["", { events: ALL, end: "open", complete: true }],
  ["cut", { events: 2, end: "open", complete: true }],
  ["cut=before-headers", { events: -1, end: "closed", complete: false }],
  ["cut=after-headers", { events: 0, end: "open", complete: true }],
  ["cut=after-1", { events: 1, end: "open", complete: true }],
  ["cut=in-3", { events: 2.5, end: "open", complete: true }],
  ["cut=before-finish", { events: 5, end: "open", complete: true }],
  ["cut=before-done", { events: 6, end: "open", complete: true }],
  ["close", { events: 2, end: "closed", complete: false }],
  ["close=after-headers", { events: 0, end: "closed", complete: false }],
  ["close=in-3", { events: 2.5, end: "closed", complete: false }],
  ["close=before-headers", { events: -1, end: "closed", complete: false }],
  ["close=end", { events: ALL, end: "closed", complete: false }],
  ["reset", { events: 2, end: "reset", complete: false }],
  ["reset=before-headers", { events: -1, end: "reset", complete: false }],
  ["refused", { events: -1, end: "reset", complete: false }],
  ["reset=in-1", { events: 0.5, end: "reset", complete: false }],
  ["reset=end", { events: ALL, end: "reset", complete: false }],
  ["stall", { events: 2, end: "open", complete: false }],
  ["stall=before-headers", { events: -1, end: "open", complete: false }],
  ["stall=after-headers", { events: 0, end: "open", complete: false }],
  ["stall=in-2", { events: 1.5, end: "open", complete: false }],
  ["stall=before-finish", { events: 5, end: "open", complete: false }],
  ["stall=end", { events: ALL, end: "open", complete: false }],
  ["no-done", { events: ALL - 1, end: "open", complete: true }],
  ["no-finish", { events: ALL - 1, end: "open", complete: true }],
  ["no-finish; no-done", { events: ALL - 2, end: "open", complete: true }],
];

describe("a stream", () => {
  test.each(streamed)('breaks as "%s" says', async (setting, expected) => {
    const server = await mockForTest();
    const answer = await raw(server, MODEL, stream, `x-mock: ${setting}\r\n`);
    expect(answer.end).toBe(expected.end);
    if (expected.events === -1) {
      expect(answer.bytes).toHaveLength(0);
      return;
    }
    const { status, body, complete } = parts(answer);
    const text = body.toString();
    const whole = text.split("\n\n").length - 1;
    expect(status).toBe(200);
    expect(whole + (text.endsWith("\n\n") || text === "" ? 0 : 0.5)).toBe(expected.events);
    expect(complete).toBe(expected.complete);
  });

  test("carries an event that is not JSON, and goes on", async () => {
    const server = await mockForTest();
    const data = events(
      parts(await raw(server, MODEL, stream, "x-mock: malformed=after-3\r\n")).body,
    );
    expect(data).toHaveLength(ALL + 1);
    expect(data.map(isJson)).toEqual([true, true, true, false, true, true, true, false]);
  });

  test("carries an error, then ends", async () => {
    const server = await mockForTest();
    const data = events(
      parts(await raw(server, MODEL, stream, "x-mock: error-frame=before-finish\r\n")).body,
    );
    expect(data).toHaveLength(ALL);
    expect(JSON.parse(data[5] ?? "")).toMatchObject({ error: { type: "server_error" } });
    expect(data[6]).toBe("[DONE]");
    const bare = events(
      parts(await raw(server, MODEL, stream, "x-mock: error-frame; no-done\r\n")).body,
    );
    expect(bare.map((text) => Object.keys(JSON.parse(text) as object)[0])).toEqual([
      "id",
      "id",
      "error",
    ]);
  });

  test("has other line ends, no spaces and comments on request", async () => {
    const server = await mockForTest();
    const text = parts(
      await raw(server, "m+chunks=1", stream, "x-mock: crlf; no-space; keepalive\r\n"),
    ).body.toString();
    expect(text.replaceAll(/\{.*\}/g, "{}")).toBe(
      `${": keepalive\r\n\r\ndata:{}\r\n\r\n".repeat(3)}: keepalive\r\n\r\ndata:[DONE]\r\n\r\n`,
    );
  });

  test("is compressed, and each event can be read when it has arrived", async () => {
    const server = await mockForTest();
    const plain = parts(await raw(server, MODEL, stream))
      .body.toString()
      .replaceAll("mock-1", "mock-2");
    const { head, body } = parts(await raw(server, MODEL, stream, "x-mock: gzip\r\n"));
    expect(head).toContain("content-encoding: gzip");
    expect(gunzipSync(body).toString()).toBe(plain);
    const half = parts(await raw(server, MODEL, stream, "x-mock: gzip; stall=after-2\r\n"));
    expect(events(gunzipSync(half.body))).toHaveLength(2);
  });

  test("arrives in pieces of the size requested", async () => {
    const server = await mockForTest();
    const { body, chunks, complete } = parts(
      await raw(server, "m+chunks=1", stream, "x-mock: split=1\r\n"),
    );
    expect(complete).toBe(true);
    expect(chunks).toBe(body.length);
    expect(events(body)).toHaveLength(4);
  });

  test("sends each event in a piece of its own", async () => {
    const server = await mockForTest();
    expect(parts(await raw(server, MODEL, stream)).chunks).toBe(ALL);
  });

  test("a moment that never comes is refused: nothing would be tested", async () => {
    const server = await mockForTest();
    for (const setting of [
      "cut=after-8",
      "stall=in-8",
      "cut=before-done; no-done",
      "malformed=before-finish; no-finish",
    ]) {
      const { status, body } = parts(await raw(server, MODEL, stream, `x-mock: ${setting}\r\n`));
      expect(status).toBe(400);
      expect(body.toString()).toContain("never comes");
    }
  });
});

const unstreamed: [
  string,
  { readonly body: "whole" | "half" | "none"; readonly end: string; readonly complete: boolean },
][] = [
  ["", { body: "whole", end: "open", complete: true }],
  ["cut", { body: "half", end: "open", complete: true }],
  ["close", { body: "half", end: "closed", complete: false }],
  ["reset", { body: "half", end: "reset", complete: false }],
  ["stall", { body: "half", end: "open", complete: false }],
  ["close=after-headers", { body: "none", end: "closed", complete: false }],
  ["stall=after-headers", { body: "none", end: "open", complete: false }],
  ["stall=end", { body: "whole", end: "open", complete: false }],
  ["close=end", { body: "whole", end: "closed", complete: false }],
];

describe("an answer that is not streamed", () => {
  test.each(unstreamed)('breaks as "%s" says', async (setting, expected) => {
    const server = await mockForTest();
    const answer = await raw(server, MODEL, {}, `x-mock: ${setting}\r\n`);
    const { status, body, complete } = parts(answer);
    expect([status, answer.end, complete]).toEqual([200, expected.end, expected.complete]);
    expect(isJson(body.toString()) ? "whole" : body.length === 0 ? "none" : "half").toBe(
      expected.body,
    );
  });

  test("is not JSON, or an error with status 200", async () => {
    const server = await mockForTest();
    const malformed = parts(await raw(server, MODEL, {}, "x-mock: malformed\r\n"));
    expect([malformed.status, malformed.complete, isJson(malformed.body.toString())]).toEqual([
      200,
      true,
      false,
    ]);
    const failed = parts(await raw(server, MODEL, {}, "x-mock: error-frame\r\n"));
    expect([failed.status, Object.keys(JSON.parse(failed.body.toString()) as object)]).toEqual([
      200,
      ["error"],
    ]);
  });

  test("has no moment of a stream", async () => {
    const server = await mockForTest();
    expect(parts(await raw(server, MODEL, {}, "x-mock: cut=before-finish\r\n")).status).toBe(400);
  });

  test("is compressed and split", async () => {
    const server = await mockForTest();
    const { head, body, complete } = parts(
      await raw(server, "m+size=20kB", {}, "x-mock: gzip; split=10\r\n"),
    );
    expect(head).toContain("content-encoding: gzip");
    expect(complete).toBe(true);
    expect(isJson(gunzipSync(body).toString())).toBe(true);
  });

  test.each([302, 401, 408, 429, 500, 503, 529])("has the status %s", async (status) => {
    const server = await mockForTest();
    const answer = parts(await raw(server, `m+${status}`, stream));
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      error: { message: `Simulated answer with status ${status}.` },
    });
    expect(answer.head.includes("location: /mock/redirected")).toBe(status === 302);
  });

  test("an error answer breaks too", async () => {
    const server = await mockForTest();
    const answer = await raw(server, "m+500+close");
    expect([parts(answer).status, parts(answer).complete, answer.end]).toEqual([
      500,
      false,
      "closed",
    ]);
  });
});

describe("waiting", () => {
  test("before the headers, before the body, between events", async () => {
    const server = await mockForTest();
    const { arrivals } = await raw(
      server,
      "m+chunks=1",
      stream,
      "x-mock: delay=60ms; first-byte=60ms; chunk-delay=60ms\r\n",
      400,
    );
    // Headers, four events and the end of the body. Timers may fire a millisecond early, never
    // much.
    expect(arrivals.length).toBeGreaterThanOrEqual(5);
    for (const [index, arrival] of arrivals.slice(0, 5).entries())
      expect(arrival).toBeGreaterThanOrEqual((index + 1) * 60 - 5);
  });

  test("ends when the client goes", async () => {
    const server = await mockForTest();
    await raw(server, "m+chunks=3", stream, "x-mock: chunk-delay=60s\r\n", 60);
    await expect.poll(() => server.requests[0]).toMatchObject({ closedEarly: true });
  });
});

test("only as many times as requested, for each model by itself", async () => {
  const server = await mockForTest();
  const statuses = async (model: string): Promise<number> => parts(await raw(server, model)).status;
  expect([
    await statuses("a+503+times=2"),
    await statuses("a+503+times=2"),
    await statuses("a+503+times=2"),
  ]).toEqual([503, 503, 200]);
  expect(await statuses("b+503+times=2")).toBe(503);
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

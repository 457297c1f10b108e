import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import { whenFileEnds } from "../support/file-end.ts";
import { HELLO, eventsOf, mockForTest, parts, raw, rawTo, type RawAnswer } from "./start.ts";

/*
 * `answers.test.ts` has the faults as the router reads them; here are those that it does not see.
 */

/** A protocol whose streams are events, and an answer of two pieces. */
interface Protocol {
  readonly path: string;
  readonly body: object;
  readonly headers?: string;
  /** Names of the events; `null` for those without one. */
  readonly names: readonly (string | null)[];
  /** Names of the events of an error. */
  readonly error: readonly (string | null)[];
  /** Members of the body of an error, and of its error object. */
  readonly errorBody: readonly string[];
}

const OPENAI_ERROR = { error: [null, null], errorBody: ["error"] };

const RESPONSES: Protocol = {
  path: "/v1/responses",
  body: { input: "x" },
  names: [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ],
  error: ["error", "response.failed"],
  errorBody: ["error"],
};

const MESSAGES: Protocol = {
  path: "/v1/messages",
  body: { messages: HELLO, max_tokens: 100 },
  headers: "anthropic-version: 2023-06-01\r\n",
  names: [
    "message_start",
    "content_block_start",
    "ping",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ],
  error: ["error"],
  errorBody: ["type", "error", "request_id"],
};

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  chat: {
    path: "/v1/chat/completions",
    body: { messages: HELLO },
    names: [null, null, null, null, null],
    ...OPENAI_ERROR,
  },
  completions: {
    path: "/v1/completions",
    body: { prompt: "x" },
    names: [null, null, null, null],
    ...OPENAI_ERROR,
  },
  responses: RESPONSES,
  messages: MESSAGES,
  gemini: {
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
    names: [null, null, null],
    error: [null],
    errorBody: ["error"],
  },
  cohere: {
    path: "/v2/chat",
    body: { messages: HELLO },
    names: [
      "message-start",
      "content-start",
      "content-delta",
      "content-delta",
      "content-end",
      "message-end",
      null,
    ],
    error: ["message-end", null],
    errorBody: ["id", "message"],
  },
};

let server: MockServer;

beforeAll(async () => {
  server = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => server.close());
});

/** An answer of two pieces, over a bare socket. */
function ask(protocol: Protocol, settings: string, more: object = {}): Promise<RawAnswer> {
  const body = { model: "m", stream: true, ...protocol.body, ...more };
  const headers = `${protocol.headers ?? ""}x-mock: chunks=2; ${settings}\r\n`;
  return rawTo(server, protocol.path, body, headers);
}

const bodyOf = (answer: RawAnswer): string => parts(answer).body.toString();

async function eventsWith(protocol: Protocol, settings: string) {
  return eventsOf(bodyOf(await ask(protocol, settings)));
}

describe.each(Object.entries(PROTOCOLS))("a stream of %s", (_, protocol) => {
  const { names } = protocol;

  test("has its events, each in a separate piece, with the headers of a stream", async () => {
    const answer = await ask(protocol, "delay=0ms");
    const { status, head, chunks, complete } = parts(answer);
    expect([status, chunks, complete]).toEqual([200, names.length, true]);
    expect(head).toContain("content-type: text/event-stream; charset=utf-8");
    expect(eventsOf(bodyOf(answer)).map((event) => event.name)).toEqual(names);
  });

  test("ends before its last event, or with the events of an error", async () => {
    for (const settings of ["no-done", "cut=before-done"])
      expect(await eventsWith(protocol, settings)).toHaveLength(names.length - 1);
    const failed = await eventsWith(protocol, "error-frame=after-2");
    expect(failed.map(({ name }) => name)).toEqual([...names.slice(0, 2), ...protocol.error]);
  });

  test("is refused in the protocol's own form, with the status and the time to wait", async () => {
    for (const status of [302, 400, 401, 403, 404, 408, 413, 429, 500, 503, 504, 529]) {
      const refused = await ask(protocol, `status=${status}; retry-after=7`);
      const { head, status: received } = parts(refused);
      expect([received, head]).toEqual([status, expect.stringContaining("retry-after: 7")]);
      expect(Object.keys(JSON.parse(bodyOf(refused)))).toEqual(protocol.errorBody);
      expect(bodyOf(refused)).toContain(`Simulated answer with status ${status}.`);
    }
  });
});

describe("a connection", () => {
  const all = MESSAGES.names.length;

  test.each([
    ["cut=in-3", 2.5, "open", true],
    ["close", 2, "closed", false],
    ["reset=in-2", 1.5, "reset", false],
    ["reset=end", all, "reset", false],
    ["refused", 0, "reset", false],
    ["stall=before-finish", all - 2, "open", false],
    ["stall=end", all, "open", false],
  ] as const)('breaks as "%s" says', async (settings, expected, end, complete) => {
    const answer = await ask(MESSAGES, settings);
    const text = answer.bytes.length === 0 ? "\n\n" : bodyOf(answer);
    const events = text.split("\n\n").length - (text.endsWith("\n\n") ? 1 : 0.5);
    expect([answer.bytes.length === 0 ? 0 : events, answer.end]).toEqual([expected, end]);
    if (answer.bytes.length > 0) expect(parts(answer).complete).toBe(complete);
  });

  test("of an answer that is not streamed breaks in its middle", async () => {
    const whole = bodyOf(await ask(MESSAGES, "delay=0ms", { stream: false }));
    const cut = await ask(MESSAGES, "cut", { stream: false });
    expect([parts(cut).complete, bodyOf(cut).length]).toEqual([true, whole.length >> 1]);
    const closed = await ask(MESSAGES, "close", { stream: false });
    expect([parts(closed).complete, closed.end]).toEqual([false, "closed"]);
  });

  test("waits before the headers, before the body and between events", async () => {
    const waits = "delay=60ms; first-byte=60ms; chunk-delay=60ms";
    const { arrivals } = await raw(
      server,
      "m+chunks=1",
      { stream: true },
      `x-mock: ${waits}\r\n`,
      400,
    );
    // Headers, four events and the end of the body. Timers may fire a millisecond early, never
    // much.
    expect(arrivals.length).toBeGreaterThanOrEqual(5);
    for (const [index, arrival] of arrivals.slice(0, 5).entries())
      expect(arrival).toBeGreaterThanOrEqual((index + 1) * 60 - 5);
  });

  test("does not keep the server waiting when its client leaves", async () => {
    const own = await mockForTest();
    await raw(own, "m+chunks=3", { stream: true }, "x-mock: chunk-delay=60s\r\n", 60);
    await expect.poll(() => own.requests[0]).toMatchObject({ closedEarly: true });
  });
});

test("an event is broken or sent twice at the moment requested", async () => {
  const broken = await eventsWith(MESSAGES, "malformed=after-2");
  expect(broken).toHaveLength(MESSAGES.names.length + 1);
  expect(() => JSON.parse(broken[2]?.data ?? "{}")).toThrow(SyntaxError);
  const twice = await eventsWith(MESSAGES, "duplicate=after-2");
  expect(twice).toHaveLength(MESSAGES.names.length + 1);
  expect(twice[2]).toEqual(twice[1]);
  expect(bodyOf(await ask(MESSAGES, "duplicate=after-headers"))).toContain("never comes");
});

test("lines and comments have the style that is requested", async () => {
  const odd = bodyOf(await ask(MESSAGES, "crlf; no-space; keepalive"));
  expect(odd.split("\r\n\r\n").filter((event) => event === ": keepalive")).toHaveLength(
    MESSAGES.names.length,
  );
  expect(odd.replaceAll("\r\n", "")).not.toContain("\n");
  expect(odd).not.toMatch(/(event|data): /);
});

test("a body is compressed, split, and of another type on request", async () => {
  const { head, body, chunks } = parts(await ask(MESSAGES, "gzip; split; content-type=text/html"));
  expect(head).toContain("content-type: text/html\r\n");
  expect(head).toContain("content-encoding: gzip");
  expect(chunks).toBe(body.length);
  expect(eventsOf(gunzipSync(body)).map(({ name }) => name)).toEqual(MESSAGES.names);
});

test("size and chunks are met exactly", async () => {
  const events = await eventsWith(RESPONSES, "size=1kB");
  const deltas = events.filter(({ name }) => name === "response.output_text.delta");
  expect(deltas).toHaveLength(2);
  const { text } = JSON.parse(
    events.find(({ name }) => name === "response.output_text.done")?.data ?? "",
  );
  expect(text).toHaveLength(1_000);
});

test("faults happen as many times as requested, for each model", async () => {
  const status = async (model: string): Promise<number> => parts(await raw(server, model)).status;
  const model = "a+503+times=2";
  expect([await status(model), await status(model), await status(model)]).toEqual([503, 503, 200]);
  expect(await status("b+503+times=2")).toBe(503);
});

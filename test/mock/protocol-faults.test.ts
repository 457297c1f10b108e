import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { MockServer } from "../../mock/server.ts";
import { HELLO, mockForTest, namedEvents, parts, rawTo, type RawAnswer } from "./start.ts";

interface Dialect {
  readonly path: string;
  readonly body: object;
  readonly headers: string;
  /** Names of the events of an answer of two pieces. */
  readonly names: readonly (string | null)[];
  /** Events before the one that gives the finish reason, and before the last one. */
  readonly beforeFinish: number;
  readonly beforeDone: number;
  /** Names of the events of an error after four events, and without the last of them. */
  readonly error: readonly (string | null)[];
  readonly bareError: readonly (string | null)[];
  /** Members of the body of an error. */
  readonly errorBody: readonly string[];
}

const dialects: Readonly<Record<string, Dialect>> = {
  chat: {
    path: "/v1/chat/completions",
    body: { messages: HELLO },
    headers: "",
    names: [null, null, null, null, null],
    beforeFinish: 3,
    beforeDone: 4,
    error: [null, null],
    bareError: [null],
    errorBody: ["error"],
  },
  completions: {
    path: "/v1/completions",
    body: { prompt: "x" },
    headers: "",
    names: [null, null, null, null],
    beforeFinish: 2,
    beforeDone: 3,
    error: [null, null],
    bareError: [null],
    errorBody: ["error"],
  },
  responses: {
    path: "/v1/responses",
    body: { input: "x" },
    headers: "",
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
    beforeFinish: 9,
    beforeDone: 9,
    error: ["error", "response.failed"],
    bareError: ["error"],
    errorBody: ["error"],
  },
  messages: {
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
    beforeFinish: 6,
    beforeDone: 7,
    error: ["error"],
    bareError: ["error"],
    errorBody: ["type", "error", "request_id"],
  },
};

function ask(
  server: MockServer,
  dialect: Dialect,
  settings: string,
  more: object = { stream: true },
): Promise<RawAnswer> {
  const body = { model: "m+chunks=2", ...dialect.body, ...more };
  return rawTo(server, dialect.path, body, `${dialect.headers}x-mock: ${settings}\r\n`);
}

function bodyOf(answer: RawAnswer): string {
  return parts(answer).body.toString();
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe.each(Object.entries(dialects))("a stream of %s", (name, dialect) => {
  const all = dialect.names.length;

  test("has its events, each in a piece of its own, with the headers of a stream", async () => {
    const server = await mockForTest();
    const answer = await ask(server, dialect, "");
    const { status, head, chunks, complete } = parts(answer);
    expect([status, chunks, complete]).toEqual([200, all, true]);
    expect(head).toContain("content-type: text/event-stream; charset=utf-8");
    expect(namedEvents(bodyOf(answer)).map((event) => event.name)).toEqual(dialect.names);
    expect(bodyOf(answer).includes("[DONE]")).toBe(name === "chat" || name === "completions");
  });

  const breaks: [
    string,
    { readonly events: number; readonly end: string; readonly complete: boolean },
  ][] = [
    ["cut=after-3", { events: 3, end: "open", complete: true }],
    ["cut=in-3", { events: 2.5, end: "open", complete: true }],
    ["cut=before-finish", { events: dialect.beforeFinish, end: "open", complete: true }],
    ["cut=before-done", { events: dialect.beforeDone, end: "open", complete: true }],
    ["close", { events: 2, end: "closed", complete: false }],
    ["reset=in-2", { events: 1.5, end: "reset", complete: false }],
    ["reset=end", { events: all, end: "reset", complete: false }],
    ["stall=before-finish", { events: dialect.beforeFinish, end: "open", complete: false }],
    ["stall=end", { events: all, end: "open", complete: false }],
    ["no-done", { events: dialect.beforeDone, end: "open", complete: true }],
    ["no-finish", { events: all - 1, end: "open", complete: true }],
  ];
  test.each(breaks)('breaks as "%s" says', async (settings, expected) => {
    const server = await mockForTest();
    const answer = await ask(server, dialect, settings);
    const text = bodyOf(answer);
    const events = text.split("\n\n").length - 1 + (text.endsWith("\n\n") ? 0 : 0.5);
    expect([events, answer.end, parts(answer).complete]).toEqual([
      expected.events,
      expected.end,
      expected.complete,
    ]);
  });

  test("is refused before the headers, in the protocol's own form or not at all", async () => {
    const server = await mockForTest();
    const refused = await ask(server, dialect, "refused");
    expect([refused.bytes.length, refused.end]).toEqual([0, "reset"]);
    const limited = await ask(server, dialect, "429; retry-after=7");
    expect(parts(limited).status).toBe(429);
    expect(parts(limited).head).toContain("retry-after: 7");
    expect(Object.keys(JSON.parse(bodyOf(limited)) as object)).toEqual(dialect.errorBody);
  });

  test("carries an event that no parser takes, under a name that clients look at", async () => {
    const server = await mockForTest();
    const sent = namedEvents(bodyOf(await ask(server, dialect, "malformed=after-3")));
    expect(sent).toHaveLength(all + 1);
    expect(sent.slice(0, 3).map((event) => isJson(event.data))).toEqual(
      [true, true, true].slice(0, 3),
    );
    expect(isJson(sent[3]?.data ?? "")).toBe(false);
    expect(sent[3]?.name === null).toBe(dialect.names[0] === null);
  });

  test("repeats an event", async () => {
    const server = await mockForTest();
    const sent = namedEvents(bodyOf(await ask(server, dialect, "duplicate=after-3")));
    expect(sent).toHaveLength(all + 1);
    expect(sent[3]).toEqual(sent[2]);
    const nothing = await ask(server, dialect, "duplicate=after-headers");
    expect(parts(nothing).status).toBe(400);
    expect(bodyOf(nothing)).toContain("never comes");
  });

  test("fails in the protocol's own way", async () => {
    const server = await mockForTest();
    const sent = namedEvents(bodyOf(await ask(server, dialect, "error-frame=after-2")));
    expect(sent.map((event) => event.name)).toEqual([
      ...dialect.names.slice(0, 2),
      ...dialect.error,
    ]);
    expect(JSON.parse(sent[2]?.data ?? "")).toMatchObject({
      error: { message: expect.any(String) },
    });
    const bare = namedEvents(bodyOf(await ask(server, dialect, "error-frame=after-2; no-done")));
    expect(bare.map((event) => event.name)).toEqual([
      ...dialect.names.slice(0, 2),
      ...dialect.bareError,
    ]);
  });

  test("has lines and comments as requested", async () => {
    const server = await mockForTest();
    const plain = bodyOf(await ask(server, dialect, ""));
    const odd = bodyOf(await ask(server, dialect, "crlf; no-space; keepalive"));
    expect(odd.split("\r\n\r\n").filter((event) => event === ": keepalive")).toHaveLength(all);
    expect(odd.replaceAll("\r\n", "").includes("\n")).toBe(false);
    expect(odd).not.toMatch(/(event|data): /);
    const restored = odd
      .replaceAll(": keepalive\r\n\r\n", "")
      .replaceAll("\r\n", "\n")
      .replaceAll(/^(event|data):/gm, "$1: ");
    expect(normal(restored)).toBe(normal(plain));
  });

  test("is the same when it is compressed, or cut where parsers break", async () => {
    const server = await mockForTest();
    const settings = "crlf; unicode; keepalive";
    const more = { model: "m", stream: true };
    const plain = bodyOf(await ask(server, dialect, settings, more));
    expect(Buffer.byteLength(plain)).toBeGreaterThan(plain.length);
    const zipped = parts(await ask(server, dialect, `${settings}; gzip`, more));
    expect(zipped.head).toContain("content-encoding: gzip");
    expect(normal(gunzipSync(zipped.body).toString())).toBe(normal(plain));
    const awkward = parts(await ask(server, dialect, `${settings}; split`, more));
    expect(normal(awkward.body.toString())).toBe(normal(plain));
    const lineEnds = plain.split("\r\n").length - 1;
    const withinCharacters = Buffer.from(plain).filter((byte) => (byte & 0xc0) === 0x80).length;
    expect(withinCharacters).toBeGreaterThan(8);
    expect(awkward.chunks).toBeGreaterThan(2 * lineEnds + withinCharacters);
    const zippedAndSplit = parts(await ask(server, dialect, "gzip; split"));
    expect(zippedAndSplit.chunks).toBe(zippedAndSplit.body.length);
    expect(normal(gunzipSync(zippedAndSplit.body).toString())).toBe(
      normal(bodyOf(await ask(server, dialect, ""))),
    );
  });

  test("waits on request", async () => {
    const server = await mockForTest();
    const { arrivals } = await ask(server, dialect, "first-byte=50ms; chunk-delay=50ms");
    expect(arrivals.at(-1)).toBeGreaterThanOrEqual(all * 50 - 10);
  });
});

describe.each(Object.entries(dialects))("an answer of %s that is not streamed", (_, dialect) => {
  test("breaks in its middle, or is another one than it should be", async () => {
    const server = await mockForTest();
    const whole = bodyOf(await ask(server, dialect, "", {}));
    const cut = await ask(server, dialect, "cut", {});
    expect([parts(cut).complete, bodyOf(cut).length]).toEqual([true, whole.length >> 1]);
    const closed = await ask(server, dialect, "close", {});
    expect([parts(closed).complete, closed.end]).toEqual([false, "closed"]);
    expect(isJson(bodyOf(await ask(server, dialect, "malformed", {})))).toBe(false);
    const failed = await ask(server, dialect, "error-frame", {});
    expect(parts(failed).status).toBe(200);
    expect(Object.keys(JSON.parse(bodyOf(failed)) as object)).toEqual(dialect.errorBody);
    expect(parts(await ask(server, dialect, "duplicate", {})).status).toBe(400);
  });

  test("is compressed, split, and of another type on request", async () => {
    const server = await mockForTest();
    const plain = bodyOf(await ask(server, dialect, "", {}));
    const { head, body } = parts(
      await ask(server, dialect, "gzip; split=7; content-type=text/html", {}),
    );
    expect(head).toContain("content-type: text/html\r\n");
    expect(head).toContain("content-encoding: gzip");
    expect(normal(gunzipSync(body).toString())).toBe(normal(plain));
  });

  test.each([302, 400, 401, 403, 404, 408, 413, 429, 500, 503, 504, 529])(
    "has the status %s",
    async (status) => {
      const server = await mockForTest();
      const answer = await ask(server, dialect, `status=${status}`, {});
      expect(parts(answer).status).toBe(status);
      expect(JSON.parse(bodyOf(answer))).toMatchObject({
        error: {
          type: expect.stringMatching(/_(error|exceeded|large)$/),
          message: expect.stringContaining(String(status)),
        },
      });
    },
  );
});

test.each(Object.entries(dialects))(
  "%s: a stream of another type has a length no more than before",
  async (_, dialect) => {
    const server = await mockForTest();
    const { head, body } = parts(await ask(server, dialect, "content-type=application/json"));
    expect(head).toContain("content-type: application/json\r\n");
    expect(head).toContain("transfer-encoding: chunked");
    expect(namedEvents(body)).toHaveLength(dialect.names.length);
  },
);

describe("an ending that says that the answer failed", () => {
  const { responses, messages } = dialects;

  test("is `response.failed` alone, after what was finished", async () => {
    const server = await mockForTest();
    if (responses === undefined) throw new Error("the table has responses");
    const settings = "reasoning; failed=before-done";
    const sent = namedEvents(bodyOf(await ask(server, responses, settings)));
    expect(sent.at(-1)?.name).toBe("response.failed");
    const { response, sequence_number: number } = JSON.parse(sent.at(-1)?.data ?? "") as {
      response: { output: { type: string }[]; error: object; status: string };
      sequence_number: number;
    };
    expect(number).toBe(sent.length - 1);
    expect(response).toMatchObject({
      status: "failed",
      error: { code: "server_error" },
      usage: null,
    });
    expect(response.output.map((item) => item.type)).toEqual(["reasoning", "message"]);
    const early = namedEvents(bodyOf(await ask(server, responses, "failed=after-6")));
    expect(JSON.parse(early.at(-1)?.data ?? "")).toMatchObject({ response: { output: [] } });
  });

  test("is not possible before the answer, nor in a protocol without one", async () => {
    const server = await mockForTest();
    if (responses === undefined || messages === undefined) throw new Error("the table has both");
    expect(parts(await ask(server, responses, "failed=after-headers")).status).toBe(400);
    expect(parts(await ask(server, responses, "failed=end")).status).toBe(400);
    expect(parts(await ask(server, messages, "failed")).status).toBe(400);
    const error = namedEvents(bodyOf(await ask(server, responses, "error-frame=after-headers")));
    expect(error.map((event) => event.name)).toEqual(["error"]);
  });
});

test("types of Anthropic's errors", async () => {
  const server = await mockForTest();
  const { messages } = dialects;
  if (messages === undefined) throw new Error("the table has messages");
  const typeOf = async (status: number): Promise<unknown> => {
    const body = JSON.parse(bodyOf(await ask(server, messages, `status=${status}`, {}))) as {
      error: { type: string };
    };
    return body.error.type;
  };
  const statuses = [400, 401, 402, 403, 404, 413, 429, 500, 504, 529];
  expect(await Promise.all(statuses.map(typeOf))).toEqual([
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "timeout_error",
    "overloaded_error",
  ]);
});

test("405 in the shape of the path's protocol", async () => {
  const server = await mockForTest();
  const response = await fetch(`${server.url}/v1/messages`);
  expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  expect(await response.json()).toMatchObject({
    type: "error",
    error: { message: "This path takes POST." },
  });
});

/** Without the numbers that every request has for itself. */
function normal(text: string): string {
  return text.replaceAll(/mock([-_])\d+/g, "mock$1N");
}

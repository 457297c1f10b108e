import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { CHAT, HELLO, eventsOf, mockForFile, post, raw, type RawAnswer } from "./start.ts";

/*
 * `answers.test.ts` has the faults as the router reads them, `test/chaos/` what becomes of them;
 * here are those that neither sees.
 */

/** A protocol whose streams are events, and an answer of two pieces. */
interface Protocol {
  readonly path: string;
  readonly body: object;
  /** Names of the events. */
  readonly names: string;
  /** Names of the events of an error. */
  readonly error: string;
  /** Members of the body of an error. */
  readonly errorBody: string;
}

const VERSION = { "anthropic-version": "2023-06-01" };
const OPENAI = { error: "- -", errorBody: "error" };
const CONVERSATION = { messages: HELLO, max_tokens: 100 };
const MESSAGES: Protocol = {
  path: "/v1/messages",
  body: CONVERSATION,
  names:
    "message_start content_block_start ping content_block_delta content_block_delta content_block_stop message_delta message_stop",
  error: "error",
  errorBody: "type error request_id",
};
const EVENTS = MESSAGES.names.split(" ").length;

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  chat: { path: CHAT, body: CONVERSATION, names: "- - - - -", ...OPENAI },
  completions: { path: "/v1/completions", body: { prompt: "x" }, names: "- - - -", ...OPENAI },
  responses: {
    path: "/v1/responses",
    body: { input: "x" },
    names:
      "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta response.output_text.delta response.output_text.done response.content_part.done response.output_item.done response.completed",
    error: "error response.failed",
    errorBody: "error",
  },
  messages: MESSAGES,
  gemini: {
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "x" }] }] },
    names: "- - -",
    error: "-",
    errorBody: "error",
  },
  cohere: {
    path: "/v2/chat",
    body: CONVERSATION,
    names: "message-start content-start content-delta content-delta content-end message-end -",
    error: "message-end -",
    errorBody: "id message",
  },
};

const server = await mockForFile();

/** An answer of two pieces. */
function ask({ path, body }: Protocol, settings: string, stream = true): Promise<RawAnswer> {
  const headers = { ...VERSION, "x-mock": `chunks=2; ${settings}` };
  return raw(server, path, { model: "m", stream, ...body }, headers);
}

const namesOf = (body: Uint8Array): string =>
  eventsOf(body)
    .map(({ name }) => name)
    .join(" ");

describe.each(Object.entries(PROTOCOLS))("a stream of %s", (_, protocol) => {
  const { path, body, names } = protocol;

  test("has its events, each in a separate piece, or ends before the last one", async () => {
    const whole = await ask(protocol, "delay=0ms");
    expect(whole).toMatchObject({ status: 200, complete: true });
    expect(whole.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(namesOf(whole.body)).toBe(names);
    expect(whole.chunks).toBe(names.split(" ").length);
    for (const settings of ["no-done", "cut=before-done"])
      expect(namesOf((await ask(protocol, settings)).body)).toBe(names.replace(/ \S+$/, ""));
    const failed = await ask(protocol, "error-frame=after-2");
    expect(namesOf(failed.body)).toBe(`${/^\S+ \S+/.exec(names)?.[0]} ${protocol.error}`);
  });

  test("is refused in the protocol's own form, with the status and the time to wait", async () => {
    for (const status of [302, 400, 401, 403, 404, 408, 413, 429, 500, 503, 504, 529]) {
      const headers = { ...VERSION, "x-mock": `status=${status}; retry-after=7` };
      const refused = await post(server, path, { model: "m", ...body }, headers);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([status, "7"]);
      const text = await refused.text();
      expect(Object.keys(JSON.parse(text)).join(" ")).toBe(protocol.errorBody);
      expect(text).toContain(`Simulated answer with status ${status}.`);
    }
  });
});

describe("a connection", () => {
  test.each([
    ["cut=in-3", 2.5, "closed", true],
    ["close", 2, "closed", false],
    ["reset=in-2", 1.5, "reset", false],
    ["reset=end", EVENTS, "reset", false],
    ["refused", 0, "reset", false],
    ["stall=before-finish", EVENTS - 2, "open", false],
    ["stall=end", EVENTS, "open", false],
  ] as const)(
    'breaks as "%s" requests, after %d events',
    async (settings, events, end, complete) => {
      const answer = await ask(MESSAGES, settings);
      expect(answer).toMatchObject({ end, complete });
      const pieces = answer.body.toString().split("\n\n");
      expect(pieces.length - (pieces.at(-1) === "" ? 1 : 0.5)).toBe(events);
    },
  );

  test("of an answer that is not streamed breaks in its middle", async () => {
    const { length } = (await ask(MESSAGES, "delay=0ms", false)).body;
    const cut = await ask(MESSAGES, "cut", false);
    expect([cut.complete, cut.body.length]).toEqual([true, length >> 1]);
    expect(await ask(MESSAGES, "close", false)).toMatchObject({ complete: false, end: "closed" });
  });

  test("waits before the headers, before the body and between events", async () => {
    const started = performance.now();
    const arrivals: number[] = [];
    const waits = { "x-mock": "delay=40ms; first-byte=40ms; chunk-delay=40ms" };
    const body = { model: "m+chunks=1", messages: HELLO, stream: true };
    const response = await post(server, CHAT, body, waits);
    arrivals.push(performance.now() - started);
    for await (const _ of response.body ?? []) arrivals.push(performance.now() - started);
    // Headers and four events. Timers may fire a millisecond early, never much.
    expect(arrivals).toHaveLength(5);
    for (const [index, arrival] of arrivals.entries())
      expect(arrival).toBeGreaterThanOrEqual((index + 1) * 40 - 5);
  });
});

test("an event is broken or sent twice at the moment requested", async () => {
  const broken = eventsOf((await ask(MESSAGES, "malformed=after-2")).body);
  expect(broken).toHaveLength(EVENTS + 1);
  expect(() => JSON.parse(broken[2]?.data ?? "{}")).toThrow(SyntaxError);
  const twice = eventsOf((await ask(MESSAGES, "duplicate=after-2")).body);
  expect(twice).toHaveLength(EVENTS + 1);
  expect(twice[2]).toEqual(twice[1]);
  const never = await ask(MESSAGES, "duplicate=after-headers");
  expect(never.body.toString()).toContain("never comes");
});

test("lines and comments have the style that is requested", async () => {
  const odd = (await ask(MESSAGES, "crlf; no-space; keepalive")).body.toString();
  const comments = odd.split("\r\n\r\n").filter((event) => event === ": keepalive");
  expect(comments).toHaveLength(EVENTS);
  expect(odd.replaceAll("\r\n", "")).not.toContain("\n");
  expect(odd).not.toMatch(/(event|data): /);
});

test("a body is compressed, split, and of another type on request", async () => {
  const { headers, body, chunks } = await ask(MESSAGES, "gzip; split; content-type=text/html");
  expect(headers).toMatchObject({ "content-type": "text/html", "content-encoding": "gzip" });
  expect(chunks).toBe(body.length);
  expect(namesOf(gunzipSync(body))).toBe(MESSAGES.names);
});

test("a text has exactly the bytes and the pieces requested", async () => {
  const { body } = await ask(MESSAGES, "size=1kB");
  const texts = eventsOf(body).flatMap(({ data }) => JSON.parse(data).delta?.text ?? []);
  expect([texts.length, texts.join("").length]).toEqual([2, 1_000]);
});

test("faults happen as many times as requested, for each model", async () => {
  const statuses: number[] = [];
  for (const model of ["a+503+times=2", "a+503+times=2", "a+503+times=2", "b+503+times=2"])
    statuses.push((await post(server, CHAT, { model, messages: HELLO })).status);
  expect(statuses).toEqual([503, 503, 200, 503]);
});

import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { awkwardCuts, evenCuts } from "../../mock/split.ts";
import { codePoint } from "../support/code-point.ts";
import { BODY, CHAT, eventsOf, mockForFile, post, raw } from "./start.ts";

/*
 * `answers.test.ts` has the faults as the router reads them, `test/chaos/` what becomes of them;
 * here are those that neither sees.
 */

const server = await mockForFile();

const MESSAGES = "/v1/messages";
const NAMES =
  "message_start content_block_start ping content_block_delta content_block_delta content_block_stop message_delta message_stop";
const EVENTS = NAMES.split(" ").length;
const RESPONSE =
  "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta response.output_text.delta response.output_text.done response.content_part.done response.output_item.done response.completed";
const COHERE = "message-start content-start content-delta content-delta content-end message-end -";

/** Of each protocol the names of a stream's events and of an error's, and an error's members. */
const STREAMS: readonly (readonly [path: string, names: string, error: string, body: string])[] = [
  [CHAT, "- - - - -", "- -", "error"],
  ["/v1/completions", "- - - -", "- -", "error"],
  ["/v1/responses", RESPONSE, "error response.failed", "error"],
  [MESSAGES, NAMES, "error", "type error request_id"],
  ["/models/m:streamGenerateContent?alt=sse", "- - -", "-", "error"],
  ["/v2/chat", COHERE, "message-end -", "id message"],
];

/** An answer of two pieces. */
const ask = (settings: string, path = MESSAGES, stream = true) =>
  raw(server, path, { ...BODY, stream }, { "x-mock": `chunks=2; ${settings}` });

const namesOf = (body: Uint8Array): string =>
  eventsOf(body)
    .map(({ name }) => name ?? "-")
    .join(" ");

describe.each(STREAMS)("a stream of %s", (path, names, error, members) => {
  test("has its events, each in a separate piece, or ends before the last one", async () => {
    const whole = await ask("delay=0ms", path);
    expect(whole).toMatchObject({ status: 200, complete: true });
    expect(whole.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(namesOf(whole.body)).toBe(names);
    expect(whole.pieces).toHaveLength(names.split(" ").length);
    for (const settings of ["no-done", "cut=before-done"])
      expect(namesOf((await ask(settings, path)).body)).toBe(names.replace(/ \S+$/, ""));
    const failed = await ask("error-frame=after-2", path);
    expect(namesOf(failed.body)).toBe(`${/^\S+ \S+/.exec(names)?.[0]} ${error}`);
  });

  test("is refused in the protocol's own form, with the status and the time to wait", async () => {
    for (const status of [302, 400, 401, 403, 404, 408, 413, 429, 500, 503, 504, 529]) {
      const headers = { "x-mock": `status=${status}; retry-after=7` };
      const refused = await post(server, path, BODY, headers);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([status, "7"]);
      const text = await refused.text();
      expect(Object.keys(JSON.parse(text)).join(" ")).toBe(members);
      expect(text).toContain(`Simulated answer with status ${status}.`);
    }
  });
});

test.each([
  ["cut=in-3", 2.5, "FIN", true],
  ["close", 2, "FIN", false],
  ["reset=in-2", 1.5, "ECONNRESET", false],
  ["reset=end", EVENTS, "ECONNRESET", false],
  ["refused", 0, "ECONNRESET", false],
  ["stall=before-finish", EVENTS - 2, "open", false],
  ["stall=end", EVENTS, "open", false],
])('a connection breaks as "%s" requests', async (settings, events, end, complete) => {
  const answer = await ask(settings);
  expect(answer).toMatchObject({ end, complete });
  const pieces = answer.body.toString().split("\n\n");
  expect(pieces.length - (pieces.at(-1) === "" ? 1 : 0.5)).toBe(events);
});

test("an answer that is not streamed breaks in its middle", async () => {
  const { length } = (await ask("delay=0ms", MESSAGES, false)).body;
  const cut = await ask("cut", MESSAGES, false);
  expect([cut.complete, cut.body.length]).toEqual([true, length >> 1]);
  expect(await ask("close", MESSAGES, false)).toMatchObject({ complete: false, end: "FIN" });
});

test("a stream waits before the headers, before the body and between events", async () => {
  const started = performance.now();
  const waits = { "x-mock": "chunks=1; delay=40ms; first-byte=40ms; chunk-delay=40ms" };
  const response = await post(server, CHAT, { ...BODY, stream: true }, waits);
  const arrivals = [performance.now() - started];
  for await (const _ of response.body ?? []) arrivals.push(performance.now() - started);
  // Headers and four events. Timers may fire a millisecond early, never much.
  expect(arrivals).toHaveLength(5);
  for (const [index, arrival] of arrivals.entries())
    expect(arrival).toBeGreaterThanOrEqual((index + 1) * 40 - 5);
});

test("an event is broken or sent twice at the moment requested", async () => {
  const broken = eventsOf((await ask("malformed=after-2")).body);
  expect(broken).toHaveLength(EVENTS + 1);
  expect(() => JSON.parse(broken[2]?.data ?? "{}")).toThrow(SyntaxError);
  const twice = eventsOf((await ask("duplicate=after-2")).body);
  expect(twice).toHaveLength(EVENTS + 1);
  expect(twice[2]).toEqual(twice[1]);
  expect((await ask("duplicate=after-headers")).body.toString()).toContain("never comes");
});

test("lines and comments have the style that is requested", async () => {
  const odd = (await ask("crlf; no-space; keepalive")).body.toString();
  expect(odd.split("\r\n\r\n").filter((event) => event === ": keepalive")).toHaveLength(EVENTS);
  expect(odd.replaceAll("\r\n", "")).not.toContain("\n");
  expect(odd).not.toMatch(/(event|data): /);
});

test("a body is compressed, split, and of another type on request", async () => {
  const { headers, body, pieces } = await ask("gzip; split; content-type=text/html");
  expect(headers).toMatchObject({ "content-type": "text/html", "content-encoding": "gzip" });
  expect(pieces).toHaveLength(body.length);
  expect(namesOf(gunzipSync(body))).toBe(NAMES);
  expect((await ask("split=7")).pieces[0]).toHaveLength(7);
});

test("a text has exactly the bytes and the pieces requested", async () => {
  const { body } = await ask("size=1kB");
  const texts = eventsOf(body).flatMap(({ data }) => JSON.parse(data ?? "").delta?.text ?? []);
  expect([texts.length, texts.join("").length]).toEqual([2, 1_000]);
});

test("faults happen as many times as requested, for each model", async () => {
  const statuses: number[] = [];
  for (const model of ["a+503+times=2", "a+503+times=2", "a+503+times=2", "b+503+times=2"])
    statuses.push((await post(server, CHAT, { ...BODY, model })).status);
  expect(statuses).toEqual([503, 503, 200, 503]);
});

test("no byte is lost or reordered by any cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint }), fc.integer({ min: 1, max: 9 }), (text, size) => {
      const bytes = Buffer.from(text);
      const even = evenCuts(bytes, size);
      for (const pieces of [awkwardCuts(bytes), even]) {
        expect(Buffer.concat(pieces)).toEqual(bytes);
        expect(pieces.every((piece) => piece.length > 0)).toBe(true);
      }
      expect(even.slice(0, -1).every((piece) => piece.length === size)).toBe(true);
    }),
  );
});

test("awkward cuts are within characters, within CRLF and blank lines, within field names", () => {
  const pieces = awkwardCuts(Buffer.from('event: a\r\ndata: {"x":"é🚦:"}\r\n\r\n'));
  expect(pieces.map((piece) => piece.toString("latin1")).join("|")).toBe(
    'e|vent|:| a|\r|\n|d|ata|:| {"x":"Ã|©ð|\u009f|\u009a|¦:"}|\r|\n|\r|\n',
  );
});

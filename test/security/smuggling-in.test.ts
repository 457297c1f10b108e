import { beforeAll, describe, expect, it } from "vitest";
import { hello, startRouter, tableOver, type Router, ANSWER } from "../support/router.ts";
import { sendRaw, startRaw, statusesOf, type RawServer } from "./raw.ts";

/** What a caller can do with the bytes of HTTP itself, over raw sockets. */

const BODY = JSON.stringify(hello);
const post = (more: string, body = BODY, head = `content-length: ${body.length}\r\n`): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\n${head}${more}\r\n${body}`;
const kept = (target: string, more = ""): string =>
  `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\n${more}\r\n`;
/** One request and no more, so that the server does not wait for another. */
const get = (target: string, more = ""): string => kept(target, `connection: close\r\n${more}`);
const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
/**
 * Statuses of the answers to requests that keep their connection: one more request closes it, so
 * that nothing has to be waited for.
 */
async function statusesOfKept(bytes: string): Promise<readonly number[]> {
  const statuses = statusesOf(await sendRaw(router.url, bytes + get("/status")));
  expect(statuses.at(-1)).toBe(200);
  return statuses.slice(0, -1);
}
/** A request that must not be read as one. */
const SMUGGLED = kept("/v1/models/smuggled");

let upstream: RawServer;
let router: Router;
beforeAll(async () => {
  const answer = JSON.stringify(ANSWER);
  upstream = await startRaw((socket) => {
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`,
    );
  });
  router = await startRouter({ table: tableOver([{ url: upstream.url, calls: [] }]) });
});

describe("a request with two lengths", () => {
  const te = "transfer-encoding: chunked\r\n";
  it.each([
    [
      "a length and chunks",
      post(te, `${chunked(BODY)}${SMUGGLED}`, `content-length: ${BODY.length}\r\n`),
    ],
    ["chunks and a length", post("content-length: 4\r\n", `${chunked(BODY)}${SMUGGLED}`, te)],
    ["two lengths", post("content-length: 5\r\n")],
    ["two lengths that agree", post(`content-length: ${BODY.length}\r\n`)],
    ["a list of lengths", post("", BODY, `content-length: ${BODY.length}, ${BODY.length}\r\n`)],
    ["a length with a sign", post("", BODY, `content-length: +${BODY.length}\r\n`)],
    ["a negative length", post("", BODY, "content-length: -1\r\n")],
    ["a length in hexadecimal", post("", BODY, "content-length: 0x10\r\n")],
    ["a length of twenty nines", post("", BODY, `content-length: ${"9".repeat(20)}\r\n`)],
    [
      "chunks that are not the last coding",
      post("", chunked(BODY), "transfer-encoding: chunked, identity\r\n"),
    ],
    ["chunks twice", post(te, `${chunked(BODY)}${SMUGGLED}`, te)],
    ["an unknown coding", post("", BODY, "transfer-encoding: xchunked\r\n")],
    [
      "an unknown coding before chunks",
      post("", chunked(BODY), "transfer-encoding: gzip, chunked\r\n"),
    ],
    [
      "a coding without a name before chunks",
      post("", chunked(BODY), "transfer-encoding: ,chunked\r\n"),
    ],
    [
      "codings on two lines",
      post("", chunked(BODY), "transfer-encoding: deflate\r\ntransfer-encoding: chunked\r\n"),
    ],
    ["chunks before HTTP/1.1", post("", chunked(BODY), te).replace("HTTP/1.1", "HTTP/1.0")],
    ["a request line of HTTP/2", `${post("").replace("HTTP/1.1", "HTTP/2.0")}${SMUGGLED}`],
    ["a request line of HTTP/0.9", `${post("").replace("HTTP/1.1", "HTTP/0.9")}${SMUGGLED}`],
    ["two hosts", post("host: b\r\n")],
    ["a host with a user", post("").replace(/host: [^\r]*/i, "host: user@h")],
    ["a host that is a path", post("").replace(/host: [^\r]*/i, "host: a b/../@x")],
    ["a fragment", post("").replace(/^POST (\S+)/, "POST $1#/status")],
    [
      "a coding behind a strange space",
      post("", chunked(BODY), "transfer-encoding:\x0bchunked\r\n"),
    ],
    ["a space before the colon", post("", chunked(BODY), "transfer-encoding : chunked\r\n")],
    ["a folded line", post("", chunked(BODY), "transfer-encoding:\r\n chunked\r\n")],
    ["a chunk with a bad size", post("", `zz\r\n${BODY}\r\n0\r\n\r\n`, te)],
    [
      "a chunk whose size is followed by rubbish",
      post("", `${BODY.length.toString(16)} \rx\r\n${BODY}\r\n0\r\n\r\n`, te),
    ],
    ["a chunk that is longer than it says", post("", `4\r\n${BODY}\r\n0\r\n\r\n${SMUGGLED}`, te)],
    ["line feeds alone", post("").replaceAll("\r\n", "\n")],
  ])("%s: refused, and nothing after it is read as a request", async (_, bytes) => {
    const before = upstream.heads.length;
    const said = await sendRaw(router.url, bytes);
    expect(statusesOf(said)).toHaveLength(1);
    expect(statusesOf(said)[0]).toBeGreaterThanOrEqual(400);
    expect(statusesOf(said)[0]).toBeLessThan(500);
    expect(said).toMatch(/connection: close/i);
    expect(said).not.toContain("smuggled");
    expect(upstream.heads.length).toBe(before);
  });

  it("a body of GET is a body, not the next request", async () => {
    const head = kept("/status", `content-length: ${SMUGGLED.length}\r\n`);
    expect(await statusesOfKept(head + SMUGGLED)).toEqual([200]);
  });

  it("two requests after one another get two answers", async () => {
    expect(await statusesOfKept(kept("/status"))).toEqual([200]);
  });
});

describe("a header", () => {
  it.each([
    ["with NUL", post("x-a: b\0c\r\n")],
    ["with a carriage return", post("x-a: b\rx-evil: 1\r\n")],
    ["over two lines", post("x-a: b\r\n c\r\n")],
    ["without a name", post(": b\r\n")],
    ["with a space in its name", post("x a: b\r\n")],
    ["with NUL in its name", post("x\0a: b\r\n")],
  ])("%s is refused", async (_, bytes) => {
    const said = await sendRaw(router.url, bytes);
    expect(statusesOf(said)).toEqual([400]);
  });

  it.each([
    ["with a line feed, encoded", "x-client-request-id: a%0d%0aset-cookie:b=1\r\n"],
    ["with bytes beyond ASCII", "x-client-request-id: \u00e5\u0161\r\n"],
    ["far too long", `x-client-request-id: ${"a".repeat(4_000)}\r\n`],
  ])("that would be echoed, %s, adds no header to the answer", async (_, more) => {
    const said = await sendRaw(router.url, get("/status", more));
    expect(statusesOf(said)).toEqual([200]);
    expect(said).not.toMatch(/^set-cookie/im);
    const echoed = /^x-client-request-id: (.*)\r$/im.exec(said)?.[1] ?? "";
    expect(echoed).toMatch(/^[\x21-\x7e]{0,128}$/);
  });

  it("named in Connection does not vanish: no key is taken out that way", async () => {
    const named = kept("/v1/models", "connection: authorization, x-api-key\r\n");
    expect(await statusesOfKept(named)).toEqual([200]);
    const without = "GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: authorization\r\n\r\n";
    expect(await statusesOfKept(without)).toEqual([401]);
  });

  it("with a repeated key is read once, and the values are not joined", async () => {
    const twice = (first: string, second: string): string =>
      `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${first}\r\nauthorization: Bearer ${second}\r\n\r\n`;
    expect(await statusesOfKept(twice("bad", "good"))).toEqual([401]);
    // Node takes the first of two; a proxy in front must look at that one, or refuse both.
    expect(await statusesOfKept(twice("good", "bad"))).toEqual([200]);
  });

  it("of an upgrade has no effect", async () => {
    const more =
      "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n";
    const said = await sendRaw(router.url, kept("/status", more));
    expect(statusesOf(said)).toEqual([200]);
  });

  it("of a proxy does not choose the upstream", async () => {
    const before = upstream.heads.length;
    const more = [
      "x-forwarded-host",
      "x-forwarded-for",
      "forwarded",
      "x-original-url",
      "x-rewrite-url",
      "x-host",
    ]
      .map((name) => `${name}: 169.254.169.254\r\n`)
      .join("");
    expect(await statusesOfKept(post(more))).toEqual([200]);
    expect(upstream.heads).toHaveLength(before + 1);
    expect(upstream.heads.at(-1)).not.toContain("169.254");
  });
});

describe("a target", () => {
  it.each([
    ["//status", 404],
    ["/status/", 404],
    ["//evil.example/status", 404],
    ["/./status", 404],
    ["/v1/../status", 404],
    ["/%2e%2e/status", 404],
    ["/v1/%2e%2e/status", 404],
    ["/%73tatus", 404],
    ["/status%00", 404],
    ["/status%2f", 404],
    ["/STATUS", 404],
    ["/status;a=b", 404],
    ["/v1//models", 404],
    ["/v1/models/..%2f..%2fstatus", 404],
    ["/v1/models/%2e%2e", 404],
    ["/v1/models/..", 404],
    ["/v1/models/a/../../keys", 404],
    ["/v1/models/__proto__", 404],
    ["/v1/models/constructor", 404],
    ["/v1/models/%00", 404],
    ["/v1/models/a%0d%0aset-cookie:%20b=1", 404],
    ["/livez", 404],
    ["/metrics", 404],
    ["/%6divez", 404],
    ["http://evil.example/livez", 404],
    ["http://127.0.0.1/metrics", 404],
  ])("%s is answered with %i", async (target, status) => {
    const said = await sendRaw(router.url, get(target));
    expect(statusesOf(said)).toEqual([status]);
    expect(said).not.toMatch(/^(set-cookie|location)/im);
  });

  it.each(["http://evil.example/status", "http://evil.example:1/status", "HTTP://x/status"])(
    "in absolute form is one of our paths or refused: %s",
    async (target) => {
      const said = await sendRaw(router.url, get(target));
      expect([200, 400, 404]).toContain(statusesOf(said)[0]);
      expect(said).not.toContain("evil.example");
    },
  );

  it.each(["evil.example:443", "*", "", "/a b", "\\status", "/sta\0tus"])(
    "that is invalid is refused: %j",
    async (target) => {
      const said = await sendRaw(router.url, get(target));
      expect(statusesOf(said)).toHaveLength(1);
      expect([400, 404]).toContain(statusesOf(said)[0]);
    },
  );

  it.each(["CONNECT evil.example:443", "TRACE /status", "OPTIONS *", "PRI *"])(
    "%s reaches no handler",
    async (line) => {
      const before = upstream.connections();
      const said = await sendRaw(
        router.url,
        `${line} HTTP/1.1\r\nhost: x\r\nx-secret: echo\r\n\r\n`,
      ).catch(() => "");
      for (const status of statusesOf(said)) expect(status).toBeGreaterThanOrEqual(204);
      expect(said).not.toContain("echo");
      expect(upstream.connections()).toBe(before);
    },
  );
});

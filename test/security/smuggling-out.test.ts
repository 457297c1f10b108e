import { describe, expect, it } from "vitest";
import {
  ANSWER,
  delta,
  hello,
  sse,
  startRouter,
  startUpstream,
  tableOver,
  answerJson,
  type Router,
} from "../support/router.ts";
import { DOORS, STREAMED, WHOLE, knock, tableAt, type Door } from "./doors.ts";
import { sendRaw, startRaw, type RawServer } from "./raw.ts";

/**
 * What reaches a provider of what a caller says, and what reaches a caller of what a provider says,
 * in the lines of HTTP.
 */

/** A good answer for the door, with lines of the provider's own in its head. */
function good(door: Door, lines = ""): string {
  const isStream = STREAMED.includes(door);
  const body = isStream
    ? `${sse(delta("hi"))}${sse(delta("", "stop"))}data: [DONE]\n\n`
    : JSON.stringify(
        door.work === "embed"
          ? {
              object: "list",
              data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2, 0.3] }],
              model: "m",
            }
          : ANSWER,
      );
  const type = isStream ? "text/event-stream" : "application/json";
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${lines}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const TIMEOUTS = { connect: 1_000, firstByte: 1_000, idle: 1_000, firstToken: 1_000, total: 1_000 };

async function routed(
  door: Door,
  answer: (head: string) => string,
  timeouts = TIMEOUTS,
): Promise<{ readonly upstream: RawServer; readonly router: Router }> {
  const upstream = await startRaw(
    (socket, head) => void socket.write(Buffer.from(answer(head), "latin1")),
  );
  const router = await startRouter({ table: tableAt(upstream.url, door, { timeouts }) });
  return { upstream, router };
}

/** Lines of a head, without the first and without the ones whose values are known to differ. */
const namesIn = (head: string): readonly string[] =>
  head
    .split("\r\n")
    .slice(1)
    .filter((line) => line !== "")
    .map((line) => line.slice(0, line.indexOf(":")).toLowerCase());

describe("headers of a caller", () => {
  const OURS = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
  ];
  const hostile: Record<string, string> = {
    "x-evil": "1",
    cookie: "a=b",
    "proxy-authorization": "Basic x",
    "x-forwarded-host": "evil.example",
    "x-api-key": "good",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "evil-1, evil-2",
    "openai-organization": "theirs",
    "openai-project": "theirs",
    "x-goog-user-project": "theirs",
    "x-stainless-lang": "js",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    tracestate: "a=b",
    baggage: "a=b",
    "x-session-id": "s",
    "idempotency-key": "k",
    te: "trailers",
    "x-amz-security-token": "x",
  };

  it.each(DOORS.map((door) => [door.name, door] as const))(
    "a header is not forwarded to the provider: %s",
    async (_, door) => {
      const { router, upstream } = await routed(door, () => good(door));
      const response = await knock(router, door, hostile);
      await response.text();
      expect(response.status).toBe(200);
      const [head = ""] = upstream.heads;
      expect(namesIn(head).toSorted()).toEqual(OURS.filter((name) => namesIn(head).includes(name)));
      expect(head).toContain(`host: ${new URL(upstream.url).host}\r\n`);
      expect(head).not.toMatch(/evil|theirs|Bearer good/);
    },
  );

  it.each(DOORS.map((door) => [door.name, door] as const))(
    "a name does not change the address of the call: %s",
    async (_, door) => {
      const { router, upstream } = await routed(door, () => good(door));
      const expected =
        (await (await knock(router, door)).text(), upstream.heads[0]?.split("\r\n").slice(0, 2));
      for (const name of [
        "r/../../x",
        "r?x=1",
        "r#",
        "//evil.example/r",
        "http://evil.example",
        "r\r\nx: y",
        "r%2f..",
        "@evil",
      ]) {
        const response = await knock(router, { ...door, body: { ...door.body, model: name } });
        expect([400, 404]).toContain(response.status);
        const text = await response.text();
        expect(text).not.toContain("evil");
      }
      expect(upstream.heads).toHaveLength(1);
      for (const user of ["../..", "\r\nhost: evil.example", "x?y#z"]) {
        await (
          await knock(router, {
            ...door,
            body: { ...door.body, ...(door.work === "embed" ? { user } : {}) },
          })
        ).text();
      }
      for (const head of upstream.heads) expect(head.split("\r\n").slice(0, 2)).toEqual(expected);
    },
  );
});

describe("a URL in a request", () => {
  it("is never fetched: images, files and audio by address are the provider's business, or refused", async () => {
    const trap = await startRaw((socket) => void socket.end());
    const upstream = await startUpstream((response) => answerJson(response));
    const base = tableOver([upstream]);
    const open = Object.fromEntries(
      Object.entries(base.models).map(([id, row]) => [
        id,
        {
          ...row,
          capabilities: [...row.capabilities, "image_input", "file_input", "audio_input"] as const,
        },
      ]),
    );
    const router = await startRouter({ table: { ...base, models: open } });
    const url = `${trap.url}/image.png`;
    const parts = [
      { type: "image_url", image_url: { url } },
      { type: "file", file: { file_data: url } },
      { type: "input_audio", input_audio: { data: url, format: "wav" } },
      { type: "image", source: { type: "url", url } },
      { type: "document", source: { type: "url", url } },
      { type: "input_image", image_url: url },
      { type: "input_file", file_url: url },
    ];
    const paths = ["/v1/chat/completions", "/v1/responses", "/api/v1/messages"];
    for (const path of paths) {
      for (const part of parts) {
        const said = { role: "user", content: [part] };
        const body = {
          model: "r",
          max_tokens: 5,
          ...(path.endsWith("responses") ? { input: [said] } : { messages: [said] }),
        };
        const response = await fetch(`${router.url}${path}`, {
          method: "POST",
          headers: { authorization: "Bearer good", "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        expect(response.status).toBeLessThan(500);
        await response.text();
      }
    }
    expect(trap.connections()).toBe(0);
  });
});

describe("headers of a provider", () => {
  const HOSTILE = [
    "set-cookie: session=evil",
    "x-request-id: evil",
    "request-id: evil",
    "x-signalbox-decision: evil",
    "x-signalbox-route: evil",
    "x-signalbox-table: evil",
    "x-signalbox-attempts: 99",
    "x-should-retry: true",
    "server-timing: evil;dur=1",
    "server: evil",
    "location: http://evil.example/",
    "access-control-allow-origin: *",
    "access-control-allow-credentials: true",
    "strict-transport-security: max-age=0",
    "www-authenticate: Basic realm=evil",
    "proxy-authenticate: Basic realm=evil",
    "alt-svc: h3=evil.example",
    "link: <http://evil.example>; rel=preload",
    "content-disposition: attachment; filename=evil",
    "refresh: 0; url=http://evil.example",
    "clear-site-data: *",
    "x-ratelimit-limit-requests: 9",
    "connection: x-evil",
    "x-evil: 1",
    "trailer: x-evil",
    "content-language: evil",
    "vary: evil",
    "__proto__: evil",
    "constructor: evil",
  ];
  const lines = HOSTILE.map((line) => `${line}\r\n`).join("");
  const OURS = new Set(
    "cache-control connection content-length content-type date keep-alive request-id retry-after server-timing transfer-encoding vary x-request-id x-should-retry".split(
      " ",
    ),
  );
  const ours = (name: string): boolean => OURS.has(name) || name.startsWith("x-signalbox-");

  it.each(DOORS.map((door) => [door.name, door] as const))(
    "a header of an answer is not relayed: %s",
    async (_, door) => {
      const { router } = await routed(door, () => good(door, lines));
      const response = await knock(router, door);
      await response.text();
      expect(response.status).toBe(200);
      expect([...response.headers.keys()].filter((name) => !ours(name))).toEqual([]);
      expect(JSON.stringify([...response.headers])).not.toContain("evil");
    },
  );

  it.each(DOORS.map((door) => [door.name, door] as const))(
    "a header of an error is not relayed: %s",
    async (_, door) => {
      const body = '{"error":{"message":"evil","code":"evil"}}';
      const { router } = await routed(
        door,
        () =>
          `HTTP/1.1 429 evil\r\ncontent-type: text/html\r\nretry-after: 7\r\n${lines}content-length: ${body.length}\r\n\r\n${body}`,
      );
      const response = await knock(router, door);
      const text = await response.text();
      expect([...response.headers.keys()].filter((name) => !ours(name))).toEqual([]);
      expect(JSON.stringify([...response.headers]) + text).not.toContain("evil");
      expect(response.headers.get("content-type")).toBe("application/json");
    },
  );

  it("a waiting time is read as a number of seconds, for every value", async () => {
    const [door] = WHOLE;
    if (door === undefined) throw new Error("no door");
    for (const value of [
      "-1",
      "1e309",
      "NaN",
      "99999999999999999999",
      "0x10",
      "a",
      "Fri, 31 Dec 9999 23:59:59 GMT",
      "1;evil",
    ]) {
      const { router } = await routed(
        door,
        () => `HTTP/1.1 429 X\r\nretry-after: ${value}\r\ncontent-length: 0\r\n\r\n`,
      );
      const response = await knock(router, door);
      await response.text();
      expect(response.headers.get("retry-after") ?? "0").toMatch(/^\d{1,8}$/);
    }
  });
});

describe("the content-length of a provider", () => {
  it.each(WHOLE.map((door) => [door.name, door] as const))(
    "that contradicts another length or the body is an error for the caller: %s",
    async (_, door) => {
      const [start = "", body = ""] = good(door).split("\r\n\r\n");
      const plain = start.replace(/content-length: \d+/, "x: y");
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      for (const answer of [
        `${start}\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
        `${start}\r\ncontent-length: ${body.length + 1}\r\n\r\n${body}`,
        `${plain}\r\ncontent-length: ${body.length - 5}\r\n\r\n${body}`,
        `${plain}\r\ntransfer-encoding: chunked, identity\r\n\r\n${chunks}`,
        `${plain}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n${body}\r\n0\r\n\r\n`,
        `${plain}\r\nx-a: b\0c\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        `${plain}\r\nx-a: b\rx-evil: 1\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      ]) {
        const { router } = await routed(door, () => answer, { ...TIMEOUTS, idle: 200, total: 300 });
        const response = await knock(router, door);
        const text = await response.text();
        // Bytes that were promised and do not come are waited for.
        expect([502, 504]).toContain(response.status);
        expect(JSON.parse(text)).toHaveProperty("error");
      }
    },
  );

  it.each(DOORS.map((door) => [door.name, door] as const))(
    "an answer without a request reaches no caller: %s",
    async (_, door) => {
      // Behind the answer to the first caller lies another, for the next caller on the connection.
      const poison = good(door).replaceAll("hi", "PO").replace(/0\.1/, "9.9");
      let requested = 0;
      const { router } = await routed(door, () =>
        (requested += 1) === 1 ? good(door) + poison : good(door),
      );
      const texts: string[] = [];
      for (let count = 0; count < 4; count += 1)
        texts.push(await (await knock(router, door)).text());
      for (const text of texts) expect(text).not.toMatch(/PO|9\.9/);
    },
  );
});

it("each request gets one answer, also where a caller sends its next one early", async () => {
  const upstream = await startUpstream((response) => answerJson(response));
  const router = await startRouter({ table: tableOver([upstream]) });
  const body = JSON.stringify(hello);
  const one = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const last = one.replace("host: x", "host: x\r\nconnection: close");
  const said = await sendRaw(router.url, one + one + last);
  expect(said.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  expect(upstream.calls).toHaveLength(3);
});

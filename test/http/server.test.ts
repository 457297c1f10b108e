import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { RequestObserver } from "../../src/evidence/observer.ts";
import { observers } from "../../src/server/server-telemetry.ts";
import {
  ANSWER,
  answerJson,
  delta,
  hello,
  post,
  sse,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
  until,
  type Router,
} from "../support/router.ts";
import { whenFileEnds } from "../support/file-end.ts";

async function plainRouter(more: Partial<Parameters<typeof startRouter>[0]> = {}): Promise<Router> {
  const upstream = await startUpstream((response) => answerJson(response));
  return startRouter({ table: tableOver([upstream]), ...more });
}

function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  whenFileEnds(() => socket.destroy());
  return socket;
}

/** Everything the server says until it closes the connection. */
function heard(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.on("close", () => resolve(text));
  });
}

describe("answers to bytes that never become a request", () => {
  it.each(["/v1/models/%zz", "/api/v1/%zz", "/%c0%af"])(
    "a path with a broken escape: %s",
    async (path) => {
      const router = await plainRouter();
      const socket = open(router.url);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      const [head = "", body = ""] = (await heard(socket)).split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1\.1 400 /);
      expect(head).toMatch(/x-request-id: req_\d+/i);
      expect(head).toMatch(/content-type: application\/json/i);
      expect(JSON.parse(body)).toMatchObject({
        error: { message: expect.stringContaining("valid URL") },
      });
      expect(body).not.toMatch(/unhandled|HTTPError|%zz/);
    },
  );

  it.each([
    ["no HTTP", "nonsense my-secret-prompt\r\n\r\n", 400, "malformed_request"],
    ["a broken header", "GET / HTTP/1.1\r\nhost x\r\n\r\n", 400, "malformed_request"],
    [
      "headers too large",
      `GET / HTTP/1.1\r\nx-much: ${"x".repeat(70_000)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "two lengths",
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
      400,
      "malformed_request",
    ],
    ["no Host", "GET /status HTTP/1.1\r\nconnection: close\r\n\r\n", 400, "missing_host"],
    [
      "an unknown expectation",
      "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: a-miracle\r\n\r\n",
      417,
      "unsupported_expectation",
    ],
  ])(
    "%s is answered with an error, and the connection is closed",
    async (_, bytes, status, code) => {
      const router = await plainRouter();
      const socket = open(router.url);
      socket.write(bytes);
      const text = await heard(socket);
      const [head = "", body = ""] = text.split("\r\n\r\n");
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).toMatch(/x-request-id: req_\d+/i);
      expect(head).toMatch(/connection: close/i);
      expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBe(Buffer.byteLength(body));
      expect(JSON.parse(body)).toMatchObject({ error: { code } });
      expect(text).not.toContain("my-secret-prompt");
      expect(router.decisions).toEqual([]);
    },
  );

  it("are not sent into an answer that has begun", async () => {
    const upstream = await startUpstream((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    const socket = open(router.url);
    const text = heard(socket);
    const body = JSON.stringify({
      model: "r",
      messages: [{ role: "user", content: "x" }],
      stream: true,
    });
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => {
      socket.once("data", resolve);
    });
    socket.write("nonsense\r\n\r\n");
    expect((await text).match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

/** The body's time is longer than any pause of a busy machine. */
const LONG_BODIES = {
  bodyBytes: 1_000_000,
  answerBytes: 32_000_000,
  requestTime: 40_000,
  bodyTime: 40_000,
  writeTime: 500,
};

describe.concurrent("bodies that are not read", () => {
  const head = (length: string, token: string, type = "application/json"): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: ${type}\r\n${length}\r\n\r\n`;
  it.each([
    ["401, a long body", head("content-length: 900000", "bad"), 401],
    ["401, a body of unknown length", head("transfer-encoding: chunked", "bad"), 401],
    ["415, a long body", head("content-length: 900000", "good", "text/plain"), 415],
    [
      "404, a long body",
      head("content-length: 900000", "good").replace("/v1/chat/completions", "/v1/nothing"),
      404,
    ],
  ])(
    "%s: answered at once, and the connection closed though the body never arrives",
    async (_, bytes, status) => {
      const router = await plainRouter({ runtime: { limits: LONG_BODIES } });
      const socket = open(router.url);
      const began = performance.now();
      let answered = Number.POSITIVE_INFINITY;
      socket.once("data", () => (answered = performance.now() - began));
      socket.write(bytes);
      const text = await heard(socket);
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(text).toMatch(/connection: close/i);
      expect(answered).toBeLessThan(LONG_BODIES.bodyTime / 2);
      expect(performance.now() - began).toBeLessThan(LONG_BODIES.bodyTime / 2);
    },
  );

  it("a client that is still sending gets its answer, not a reset", async () => {
    const router = await plainRouter();
    const socket = open(router.url);
    let failure = "none";
    socket.on("error", () => (failure = "reset"));
    socket.write(head("content-length: 900000", "bad"));
    for (let count = 0; count < 10; count += 1) {
      socket.write("x".repeat(90_000));
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
    expect(await heard(socket)).toMatch(/^HTTP\/1\.1 401 /);
    expect(failure).toBe("none");
  });

  it("a short body keeps the connection", async () => {
    const router = await plainRouter();
    const socket = open(router.url);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    for (const count of [1, 2]) {
      socket.write(`${head("content-length: 2", "bad")}{}`);
      await until(() => (text.match(/HTTP\/1\.1 401/g) ?? []).length === count);
    }
    expect(text).not.toMatch(/connection: close/i);
  });
});

/** One that does not count them. */
const SILENT: RequestObserver = { began: () => {}, ended: () => {} };

describe("a request of no endpoint", () => {
  it("has no record, and is counted by its status; refused requests of an endpoint are not", async () => {
    const reported: number[] = [];
    const observer = {
      began: () => {},
      ended: () => {},
      unrouted: (status: number) => void reported.push(status),
    };
    const router = await plainRouter({
      runtime: { observer: observers([SILENT, null, observer]) },
    });
    for (const [method, path] of [
      ["GET", "/v1/nothing"],
      ["DELETE", "/v1/chat/completions"],
      ["GET", "/v1/models/%zz"],
    ] as const) {
      await (await fetch(`${router.url}${path}`, { method })).text();
    }
    expect((await fetch(`${router.url}/v1/models`)).status).toBe(401);
    expect(reported).toEqual([404, 404, 400]);
    expect(router.decisions).toHaveLength(1);
  });
});

/**
 * Requests the contract and reads nothing of it at first. @param pause milliseconds. @returns how
 * many bytes came until the connection was closed.
 */
async function readLate(url: string, pause: number): Promise<number> {
  const socket = open(url);
  let received = 0;
  socket.on("readable", () => {});
  socket.write("GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  await new Promise((resolve) => {
    setTimeout(resolve, pause);
  });
  socket.removeAllListeners("readable");
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
  });
  socket.on("data", (chunk: Buffer) => (received += chunk.length));
  socket.resume();
  await closed;
  return received;
}

describe("an answer that the client does not read", () => {
  it("is ended after the write time", async () => {
    const limits = {
      bodyBytes: 1_000_000,
      answerBytes: 32_000_000,
      requestTime: 10_000,
      bodyTime: 500,
      writeTime: 500,
    };
    const contract = { sha256: "c", text: JSON.stringify("x".repeat(30_000_000)) };
    const build = { id: "test", contract, startedAt: 0 };
    const router = await plainRouter({ runtime: { limits, build } });
    // A busy machine takes a while until the answer is written: who begins to read before the write
    // time gets all of it.
    const received = [await readLate(router.url, 1_500)];
    for (const pause of [4_000, 12_000]) {
      if (Number(received.at(-1)) >= 30_000_000) received.push(await readLate(router.url, pause));
    }
    expect(received.at(-1)).toBeGreaterThan(0);
    expect(received.at(-1)).toBeLessThan(30_000_000);
    const patient = await plainRouter({
      runtime: { limits: { ...limits, writeTime: 60_000 }, build },
    });
    const whole = await (await fetch(`${patient.url}/openapi.json`)).text();
    expect(whole).toHaveLength(30_000_002);
  });

  const text = "x".repeat(1_000_000);
  const big = {
    ...ANSWER,
    choices: Array.from({ length: 16 }, (_, index) => ({
      index,
      message: { role: "assistant", content: text },
      finish_reason: "stop",
    })),
  };
  const limits = {
    bodyBytes: 1_000_000,
    answerBytes: 32_000_000,
    requestTime: 10_000,
    bodyTime: 500,
    writeTime: 600,
  };
  const bodyOf = (stream: boolean): string => JSON.stringify({ ...hello, stream });

  it.each([
    ["whole", "the client resets", false],
    ["streamed", "the client resets", true],
    ["whole", "the write time has passed", false],
  ])("%s: are under way until %s, and not completed", async (_, end, stream) => {
    const upstream = await startUpstream((response) => {
      if (!stream) return answerJson(response, big);
      startSse(response);
      response.write(sse(delta("x".repeat(12_000_000))));
      response.end(`${sse(delta("", "stop"))}data: [DONE]\n\n`);
    });
    const router = await startRouter({ table: tableOver([upstream]), runtime: { limits } });
    const socket = open(router.url);
    socket.on("error", () => {});
    const body = bodyOf(stream);
    const startedAt = performance.now();
    socket.once("data", () => socket.pause());
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => router.decisions.length === 1 && socket.isPaused());
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([router.outcomes.length, router.snapshots.users]).toEqual([0, 1]);
    if (end === "the client resets") socket.resetAndDestroy();
    await router.settled(1);
    if (end !== "the client resets") expect(performance.now() - startedAt).toBeGreaterThan(590);
    expect(router.outcomes).toMatchObject([{ terminal: "client_closed", status: 200 }]);
    if (!stream) expect(router.outcomes).toMatchObject([{ inputTokens: 5, outputTokens: 6 }]);
    expect(router.snapshots.users).toBe(0);
  });

  it("are completed once a slow client has read them", async () => {
    const upstream = await startUpstream((response) => answerJson(response, big));
    const router = await startRouter({
      table: tableOver([upstream]),
      runtime: { limits: { ...limits, writeTime: 5_000 } },
    });
    const response = await post(router, hello);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(router.outcomes).toEqual([]);
    expect((await response.text()).length).toBeGreaterThan(16_000_000);
    await router.settled(1);
    expect(router.outcomes).toMatchObject([{ terminal: "completed", status: 200 }]);
  });
});

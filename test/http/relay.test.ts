import { describe, expect, it } from "vitest";
import {
  ANSWER,
  errorOf,
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
} from "../support/router.ts";
import type { Runtime } from "../../src/http/runtime.ts";
import { evidenceOf } from "../support/evidence-of.ts";

const streamed = { ...hello, stream: true };

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });

describe("a whole answer", () => {
  it("arrives byte for byte, with the router's headers only", async () => {
    const upstream = await startUpstream((response) => {
      response.setHeader("x-provider-internal", "secret");
      answerJson(response);
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    const response = await post(
      router,
      { ...hello, user: "somebody" },
      { "x-client-request-id": "mine-1" },
    );
    expect(await response.text()).toBe(JSON.stringify(ANSWER));
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-request-id": "req_1",
      "request-id": "req_1",
      "x-client-request-id": "mine-1",
      "x-signalbox-decision": "dec_1",
      "x-signalbox-route": "r; endpoint=a; provider=p-a; region=eu-west",
      "x-signalbox-table": "a".repeat(12),
      "x-signalbox-attempts": "1",
      "server-timing": expect.stringMatching(/^router;dur=[\d.]+$/),
    });
    expect(response.headers.has("x-provider-internal")).toBe(false);
    const [call] = upstream.calls;
    expect(call?.path).toBe("/v1/chat/completions");
    expect(call?.headers.authorization).toBe("Bearer secret-of-p-a");
    expect(JSON.parse(call?.body ?? "")).toEqual({ ...hello, model: "upstream-a", store: false });
    await router.settled(1);
    expect(router.decisions).toHaveLength(1);
    expect(router.outcomes[0]).toMatchObject({
      terminal: "completed",
      status: 200,
      finish: "stop",
      inputTokens: 5,
      outputTokens: 6,
      stripped: ["user"],
      attempts: [{ endpoint: "a", failure: null, status: 200 }],
    });
  });

  it("is requested without the client's headers", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([upstream]) });
    await post(router, hello, {
      cookie: "c=1",
      "openai-organization": "org",
      "x-forwarded-for": "10.0.0.1",
      "x-custom": "1",
    });
    const names = Object.keys(upstream.calls[0]?.headers ?? {}).toSorted();
    expect(names).toEqual([
      "accept-encoding",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
      "user-agent",
    ]);
  });

  it.each([
    [
      "forward",
      '"large":12345678901234567890,"huge":1e999,"odd":{"deep":[9007199254740993]},"exact":1e20',
    ],
    ["forward", '"__proto__":{"a":1}'],
  ] as const)(
    "with unknown members to %s, %s is sent unchanged",
    async (unknownFields, members) => {
      const upstream = await startUpstream((response) => answerJson(response));
      const base = tableOver([upstream]);
      const row = base.routes.r;
      if (row === undefined) throw new Error("no route");
      const router = await startRouter({
        table: { ...base, routes: { r: { ...row, unknownFields } } },
      });
      const body = `${JSON.stringify(hello).slice(0, -1)},${members}}`;
      expect((await post(router, body)).status).toBe(200);
      expect(upstream.calls[0]?.body).toContain(members.replace("1e20", "100000000000000000000"));
    },
  );

  it.each(["seed", "temperature", "stream_options"])(
    "a number beyond a double is refused by name in a known member: %s",
    async (name) => {
      const upstream = await startUpstream((response) => answerJson(response));
      const base = tableOver([upstream]);
      const row = base.routes.r;
      if (row === undefined) throw new Error("no route");
      const router = await startRouter({
        table: { ...base, routes: { r: { ...row, unknownFields: "forward" } } },
      });
      const response = await post(
        router,
        `${JSON.stringify(hello).slice(0, -1)},"${name}":12345678901234567890}`,
      );
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: "invalid_type", param: name });
      expect(upstream.calls).toHaveLength(0);
    },
  );

  it("is recorded as incomplete when the provider stopped short", async () => {
    const short = { ...ANSWER, choices: [{ ...ANSWER.choices[0], finish_reason: "length" }] };
    const upstream = await startUpstream((response) => answerJson(response, short));
    const router = await startRouter({ table: tableOver([upstream]) });
    await (await post(router, hello)).text();
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "incomplete", finish: "length" });
  });

  it("is relayed unchanged from a provider without finish reasons, and recorded as incomplete", async () => {
    const silent = {
      index: 0,
      delta: { content: "a" },
      message: { content: "a" },
      finish_reason: "",
    };
    const stream = sse({ choices: [silent] }) + sse("[DONE]");
    const upstream = await startUpstream((response, call) => {
      if (!JSON.parse(call.body).stream) return answerJson(response, { choices: [silent] });
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(stream);
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    expect(await (await post(router, hello)).json()).toEqual({ choices: [silent] });
    expect(await (await post(router, streamed)).text()).toBe(stream);
    await router.settled(2);
    for (const outcome of router.outcomes)
      expect(outcome).toMatchObject({ terminal: "incomplete", finish: "other" });
  });
});

describe("fallback before the first byte", () => {
  const answers = {
    "500": (response: Parameters<typeof answerJson>[0]) => answerJson(response, { error: {} }, 500),
    "429": (response: Parameters<typeof answerJson>[0]) => answerJson(response, { error: {} }, 429),
    "401 of our key": (response: Parameters<typeof answerJson>[0]) =>
      answerJson(response, { error: {} }, 401),
    "not JSON": (response: Parameters<typeof answerJson>[0]) => response.end("<html>"),
    "an error that says 200": (response: Parameters<typeof answerJson>[0]) =>
      answerJson(response, { error: { code: 1 } }),
    "a redirect": (response: Parameters<typeof answerJson>[0]) =>
      void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    "a reset": (response: Parameters<typeof answerJson>[0]) => void response.destroy(),
    "a cut body": (response: Parameters<typeof answerJson>[0]) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write("{");
      setTimeout(() => response.destroy(), 5);
    },
    "compressed bytes that were not requested": (response: Parameters<typeof answerJson>[0]) => {
      response.setHeader("content-encoding", "gzip");
      answerJson(response);
    },
  };

  it.each(Object.keys(answers))("after %s the next endpoint answers", async (name) => {
    const bad = await startUpstream(
      (response) => void answers[name as keyof typeof answers](response),
    );
    const good = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([bad, good]) });
    const response = await post(router, hello);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-signalbox-attempts")).toBe("2");
    expect(response.headers.get("x-signalbox-route")).toContain("endpoint=b");
    await response.text();
    await router.settled(1);
    expect(router.outcomes[0]?.attempts).toHaveLength(2);
    expect(router.outcomes[0]?.attempts[0]?.failure).not.toBeNull();
    expect([bad.calls.length, good.calls.length]).toEqual([1, 1]);
  });

  it("the next endpoint answers after a refused connection", async () => {
    const good = await startUpstream((response) => answerJson(response));
    const router = await startRouter({
      table: tableOver([{ url: "http://127.0.0.1:1", calls: [] }, good]),
    });
    const response = await post(router, hello);
    expect(response.status).toBe(200);
    await response.text();
    await router.settled(1);
    expect(router.outcomes[0]?.attempts[0]).toMatchObject({ failure: "connect", status: null });
  });

  it.each([
    ["silence before headers", (): void => {}, "timeout_first_byte"],
    [
      "silence after headers",
      (response: Parameters<typeof answerJson>[0]) => response.writeHead(200).flushHeaders(),
      "timeout_idle",
    ],
  ] as const)("the next endpoint answers after %s", async (_, answer, failure) => {
    const silent = await startUpstream((response) => answer(response));
    const good = await startUpstream((response, call) => {
      if (!call.body.includes('"stream":true')) return answerJson(response);
      startSse(response);
      response.end(sse(delta("hi", "stop")) + sse("[DONE]"));
    });
    const timeouts = { connect: 500, firstByte: 60, idle: 60, firstToken: 10_000, total: 5_000 };
    const router = await startRouter({ table: tableOver([silent, good], { timeouts }) });
    // A whole answer begins when it is finished: only a stream has a first byte to wait for.
    const response = await post(router, failure === "timeout_first_byte" ? streamed : hello);
    expect(response.status).toBe(200);
    await response.text();
    await router.settled(1);
    expect(router.outcomes[0]?.attempts[0]?.failure).toBe(failure);
    await until(() => silent.calls[0]?.lostAt !== null);
  });

  it("a stream that dies before its first event falls back too", async () => {
    const bad = await startUpstream((response) => {
      startSse(response);
      response.end(sse({ error: { message: "overloaded" } }));
    });
    const good = await startUpstream((response) => {
      startSse(response);
      response.end(sse(delta("x", "stop")) + sse("[DONE]"));
    });
    const router = await startRouter({ table: tableOver([bad, good]) });
    expect(await (await post(router, streamed)).text()).toBe(
      sse(delta("x", "stop")) + sse("[DONE]"),
    );
  });

  it.each([400, 413, 422])(
    "ends at the caller's own mistake (%i), and no other endpoint is called",
    async (status) => {
      const bad = await startUpstream((response) =>
        answerJson(
          response,
          { error: { message: "your secret text", code: "context_length_exceeded" } },
          status,
        ),
      );
      const good = await startUpstream((response) => answerJson(response));
      const router = await startRouter({ table: tableOver([bad, good]) });
      const response = await post(router, hello);
      const body = await response.text();
      expect(response.status).toBe(400);
      expect(JSON.parse(body).error.code).toBe("context_length_exceeded");
      expect(body).not.toContain("secret");
      expect(good.calls).toHaveLength(0);
    },
  );

  // Claude Code shortens its conversation at the first of these phrases, LiteLLM (aider) knows the
  // error by the second.
  it("a conversation that is too long is named with the phrases that clients look for", async () => {
    const upstream = await startUpstream((response) =>
      answerJson(
        response,
        { error: { message: "secret", code: "context_length_exceeded", param: "messages" } },
        400,
      ),
    );
    const router = await startRouter({ table: tableOver([upstream]) });
    const { message } = await errorOf(await post(router, hello));
    expect(message).toMatch(
      /status 400, code context_length_exceeded\), at messages: the prompt is too long/,
    );
    expect(message).toMatch(/this model's maximum context length is exceeded/);
  });

  it("an exhausted plan is a 502 with every attempt, none twice, and a retry-after", async () => {
    const upstreams = [
      await startUpstream((response) =>
        answerJson(response, { error: { message: "sk-live-key" } }, 500),
      ),
      await startUpstream((response) => {
        response.setHeader("retry-after", "7");
        answerJson(response, { error: { message: "sk-live-key" } }, 429);
      }),
    ];
    const router = await startRouter({ table: tableOver(upstreams) });
    const response = await post(router, hello);
    const body = await response.text();
    expect(response.status).toBe(502);
    expect(response.headers.get("x-should-retry")).toBeNull();
    expect(response.headers.get("retry-after")).toBe("7");
    expect(response.headers.get("x-signalbox-attempts")).toBe("2");
    expect(JSON.parse(body).error).toMatchObject({
      type: "upstream_error",
      code: "upstream_exhausted",
    });
    expect(body).toContain("a (server_error), b (rate_limited)");
    expect(body).not.toContain("sk-live");
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "failed", status: 502 });
  });

  it("x-max-attempts bounds the attempts", async () => {
    const bad = await startUpstream((response) => answerJson(response, {}, 500));
    const good = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([bad, good]) });
    expect((await post(router, hello, { "x-max-attempts": "1" })).status).toBe(502);
    expect(good.calls).toHaveLength(0);
  });

  it("the caller's deadline ends it with 504", async () => {
    const slow = await startUpstream(() => {});
    const good = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([slow, good]) });
    const response = await post(router, hello, { "x-request-timeout-ms": "80" });
    expect(response.status).toBe(504);
    expect((await errorOf(response)).code).toBe("upstream_timeout_total");
    expect(good.calls).toHaveLength(0);
  });

  it("a provider without credentials is passed over; when none has any, 503", async () => {
    const good = await startUpstream((response) => answerJson(response));
    const rows = tableOver([good, good]);
    const some = await startRouter({ table: rows, disabled: ["p-a"] });
    expect((await post(some, hello)).headers.get("x-signalbox-route")).toContain("endpoint=b");
    const none = await startRouter({ table: rows, disabled: ["p-a", "p-b"] });
    const response = await post(none, hello);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect((await errorOf(response)).code).toBe("no_healthy_endpoint");
  });

  it("requests above the provider's concurrency are refused with 503, and not queued", async () => {
    const slow = await startUpstream(async (response) => {
      await pause(100);
      answerJson(response);
    });
    const router = await startRouter({ table: tableOver([slow], { maxConcurrency: 2 }) });
    const responses = await Promise.all([1, 2, 3, 4].map(() => post(router, hello)));
    const statuses = responses.map(({ status }) => status);
    expect(statuses.toSorted((left, right) => left - right)).toEqual([200, 200, 503, 503]);
    for (const response of responses.filter(({ status }) => status === 503)) {
      expect(response.headers.get("retry-after")).toBe("1");
      expect(response.headers.get("x-should-retry")).toBeNull();
      expect(await errorOf(response)).toMatchObject({ type: "upstream_error", code: "saturated" });
    }
  });

  it("a provider at its limit does not use up an attempt, and does not limit another at the same origin", async () => {
    const shared = await startUpstream(async (response, call) => {
      if (call.body.includes("upstream-a")) await pause(100);
      answerJson(response);
    });
    const router = await startRouter({ table: tableOver([shared, shared], { maxConcurrency: 1 }) });
    const first = post(router, hello);
    await until(() => shared.calls.length === 1);
    const second = await post(router, hello, { "x-max-attempts": "1" });
    expect([second.status, second.headers.get("x-signalbox-route")]).toEqual([
      200,
      expect.stringContaining("endpoint=b"),
    ]);
    await second.text();
    expect((await first).status).toBe(200);
    await router.settled(2);
    expect(router.outcomes[0]?.attempts.map(({ failure }) => failure)).toEqual(["saturated", null]);
  });

  it("a provider that dawdles beyond its own total falls back", async () => {
    const dawdling = await startUpstream((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const timer = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(timer));
    });
    const good = await startUpstream((response) => answerJson(response));
    const timeouts = { connect: 500, firstByte: 500, idle: 500, firstToken: 10_000, total: 80 };
    const router = await startRouter({ table: tableOver([dawdling, good], { timeouts }) });
    expect((await post(router, hello)).status).toBe(200);
    await router.settled(1);
    expect(router.outcomes[0]?.attempts.map(({ failure }) => failure)).toEqual([
      "timeout_attempt",
      null,
    ]);
    await until(() => dawdling.calls[0]?.lostAt !== null);
    const alone = await startRouter({ table: tableOver([dawdling], { timeouts }) });
    const response = await post(alone, hello);
    expect([response.status, await errorOf(response)]).toMatchObject([
      504,
      { type: "upstream_error", code: "upstream_timeout_attempt" },
    ]);
  });

  it("a keep-alive does not commit: the next endpoint may still answer", async () => {
    const bad = await startUpstream(async (response) => {
      startSse(response);
      response.write(": keep-alive\n\n");
      await pause(20);
      response.end(sse({ error: { message: "overloaded" } }));
    });
    const good = await startUpstream((response) => {
      startSse(response);
      response.end(sse(delta("x", "stop")) + sse("[DONE]"));
    });
    const router = await startRouter({ table: tableOver([bad, good]) });
    expect(await (await post(router, streamed)).text()).toBe(
      sse(delta("x", "stop")) + sse("[DONE]"),
    );
  });
});

describe("streams", () => {
  it("arrive event by event, unchanged", async () => {
    const events = [
      sse(delta("a")),
      ": keep-alive\n\n",
      sse(delta("ü€")),
      sse(delta("", "stop")),
      sse("[DONE]"),
    ];
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      for (const event of events) {
        const bytes = Buffer.from(event);
        const half = Math.floor(bytes.length / 2) + 1;
        response.write(bytes.subarray(0, half));
        await pause(2);
        response.write(bytes.subarray(half));
      }
      response.end();
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    const response = await post(router, streamed);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(await response.text()).toBe(events.join(""));
    expect(JSON.parse(upstream.calls[0]?.body ?? "").stream_options).toEqual({
      include_usage: true,
    });
  });

  it("end at [DONE], though the upstream sends more and stays open", async () => {
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      response.write(sse(delta("a", "stop")) + sse("[DONE]") + sse(delta("late")));
      await pause(10);
      response.write(sse(delta("later")));
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    expect(await (await post(router, streamed)).text()).toBe(
      sse(delta("a", "stop")) + sse("[DONE]"),
    );
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "completed", finish: "stop" });
    await until(() => upstream.calls[0]?.lostAt !== null);
  });

  it("leave a connection that the next request uses", async () => {
    const ports: (number | undefined)[] = [];
    const upstream = await startUpstream(async (response) => {
      ports.push(response.socket?.remotePort);
      startSse(response);
      response.write(sse(delta("a", "stop")) + sse("[DONE]"));
      await pause(5);
      response.end();
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    for (const _ of [1, 2]) {
      await (await post(router, streamed)).text();
      await pause(50);
    }
    expect(ports).toHaveLength(2);
    expect(ports[0]).toBe(ports[1]);
  });

  it("are known by their type in any case", async () => {
    const upstream = await startUpstream((response) => {
      response.writeHead(200, {
        "content-type": "Text/Event-Stream; Charset=UTF-8",
        "content-encoding": "Identity",
      });
      response.end(sse(delta("a", "stop")) + sse("[DONE]"));
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    expect(await (await post(router, streamed)).text()).toContain("[DONE]");
  });

  const cut = {
    "a reset": (response: Parameters<typeof answerJson>[0]) => void response.destroy(),
    "a clean end without a terminal": (response: Parameters<typeof answerJson>[0]) =>
      void response.end(),
    "an error object": (response: Parameters<typeof answerJson>[0]) =>
      void response.end(sse({ error: { message: "SECRET" } }) + sse("[DONE]")),
    garbage: (response: Parameters<typeof answerJson>[0]) => void response.end("data: <SECRET\n\n"),
    silence: () => {},
  };

  it.each(Object.keys(cut))(
    "after the first byte, %s ends as a failure, never as a stop",
    async (name) => {
      const bad = await startUpstream(async (response) => {
        startSse(response);
        response.write(sse(delta("first")));
        await pause(20);
        cut[name as keyof typeof cut](response);
      });
      const good = await startUpstream((response) => answerJson(response));
      const timeouts = {
        connect: 500,
        firstByte: 500,
        idle: 100,
        firstToken: 10_000,
        total: 5_000,
      };
      const router = await startRouter({ table: tableOver([bad, good], { timeouts }) });
      const body = await (await post(router, streamed)).text();
      const [first, failure, done, rest] = body.split("\n\n");
      expect(first).toBe(sse(delta("first")).trim());
      expect(JSON.parse((failure ?? "").slice(6)).error).toMatchObject({
        code: expect.stringMatching(/^upstream_/),
        param: null,
      });
      expect([done, rest]).toEqual(["data: [DONE]", ""]);
      expect(body).not.toMatch(/"finish_reason":"stop"|SECRET/);
      expect(good.calls).toHaveLength(0);
      await router.settled(1);
      expect(router.outcomes[0]).toMatchObject({ terminal: "failed", status: 200, finish: null });
    },
  );

  it("a stream that is reset after its finish reason and counts, before its mark, ends as a failure", async () => {
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      response.write(
        sse({ ...delta("all", "stop"), usage: { prompt_tokens: 1, completion_tokens: 2 } }),
      );
      await pause(20);
      response.destroy();
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    expect(await (await post(router, streamed)).text()).toContain("upstream_truncated");
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "failed", outputTokens: 2 });
  });

  it("closes the upstream within 250 ms of the client leaving", async () => {
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      for (let count = 0; count < 1_000 && !response.destroyed; count += 1) {
        response.write(sse(delta("more")));
        await pause(10);
      }
    });
    const router = await startRouter({ table: tableOver([upstream]) });
    const controller = new AbortController();
    const response = await fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify(streamed),
      signal: controller.signal,
    });
    await response.body?.getReader().read();
    const leftAt = performance.now();
    controller.abort();
    await until(() => upstream.calls[0]?.lostAt !== null);
    expect((upstream.calls[0]?.lostAt ?? Infinity) - leftAt).toBeLessThan(500);
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({
      terminal: "client_closed",
      attempts: [{ failure: "client_closed" }],
    });
  });

  it("close the upstream too when the client disconnects before the first byte, and call no other endpoint", async () => {
    const upstream = await startUpstream(() => {});
    const other = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([upstream, other]) });
    const controller = new AbortController();
    const request = fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify(hello),
      signal: controller.signal,
    }).catch(() => null);
    await until(() => upstream.calls.length === 1);
    controller.abort();
    await request;
    await until(() => upstream.calls[0]?.lostAt !== null);
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "client_closed", status: 499 });
    expect(other.calls).toHaveLength(0);
  });

  it("stop reading an upstream while the client does not read, and lose nothing", async () => {
    const total = 400;
    const block = "x".repeat(64_000);
    let written = 0;
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      for (; written < total; written += 1) {
        if (!response.write(sse(delta(block)))) {
          await new Promise((resolve) => {
            response.once("drain", resolve);
          });
        }
      }
      response.end(sse(delta("", "stop")) + sse("[DONE]"));
    });
    const router = await startRouter({
      table: tableOver([upstream]),
      runtime: {
        limits: {
          bodyBytes: 1_000_000,
          answerBytes: 32_000_000,
          requestTime: 10_000,
          bodyTime: 500,
          writeTime: 2_000,
        },
      },
    });
    const response = await post(router, streamed);
    await pause(300);
    expect(written).toBeLessThan(total);
    const text = await response.text();
    expect(text.match(/chat.completion.chunk/g)).toHaveLength(total + 1);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});

describe("durability", () => {
  it.each([hello, streamed])("no byte is sent before the decision is on disk", async (body) => {
    const upstream = await startUpstream((response) => {
      if (body === hello) return answerJson(response);
      startSse(response);
      response.end(sse(delta("x", "stop")) + sse("[DONE]"));
    });
    const disk = Promise.withResolvers<void>();
    const router = await startRouter({
      table: tableOver([upstream]),
      runtime: { evidence: evidenceOf(() => disk.promise) },
    });
    let answered = false;
    const request = post(router, body).then((response) => {
      answered = true;
      return response.text();
    });
    await until(() => upstream.calls.length === 1);
    await pause(50);
    expect(answered).toBe(false);
    disk.resolve();
    expect(await request).not.toBe("");
  });

  it.each([hello, streamed])(
    "an answer waits for its record, and the call to the provider does not",
    async (body) => {
      const events: string[] = [];
      const upstream = await startUpstream(async (response) => {
        await pause(40);
        events.push("answer");
        if (body === hello) return answerJson(response);
        startSse(response);
        response.end(sse(delta("x", "stop")) + sse("[DONE]"));
      });
      const evidence: Runtime["evidence"] = {
        begin: (_record, settled) => ({
          needed() {
            events.push("needed");
            settled(null);
          },
        }),
        settle: () => {},
      };
      const router = await startRouter({ table: tableOver([upstream]), runtime: { evidence } });
      expect(await (await post(router, body)).text()).not.toBe("");
      expect(events).toEqual(["answer", "needed"]);
    },
  );

  it("a stream waits for its record at its first output, and not at its end", async () => {
    const rest = Promise.withResolvers<void>();
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      response.write(sse(delta("first")));
      await rest.promise;
      response.end(sse(delta("", "stop")) + sse("[DONE]"));
    });
    const evidence: Runtime["evidence"] = {
      begin: (_record, settled) => ({ needed: () => settled(null) }),
      settle: () => {},
    };
    const router = await startRouter({ table: tableOver([upstream]), runtime: { evidence } });
    const reader = (await post(router, streamed)).body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toContain("first");
    rest.resolve();
    await reader?.cancel();
  });

  it.each([hello, streamed])(
    "no provider is called before the record of a workspace with record: before_call",
    async (body) => {
      const upstream = await startUpstream((response) => answerJson(response));
      const disk = Promise.withResolvers<void>();
      const base = tableOver([upstream]);
      const [workspace] = Object.values(base.workspaces);
      if (workspace === undefined) throw new Error("no workspace");
      const router = await startRouter({
        table: { ...base, workspaces: { w: { ...workspace, record: "before_call" } } },
        runtime: { evidence: evidenceOf(() => disk.promise) },
      });
      const request = post(router, body).then((response) => response.text());
      await pause(50);
      expect(upstream.calls).toEqual([]);
      disk.resolve();
      await request;
      expect(upstream.calls).toHaveLength(1);
    },
  );

  it.each([hello, streamed, { ...hello, model: "unknown" }])(
    "a request without a record is answered with 503",
    async (body) => {
      const upstream = await startUpstream((response) => answerJson(response));
      const router = await startRouter({
        table: tableOver([upstream]),
        runtime: { evidence: evidenceOf(() => Promise.reject(new Error("disk full"))) },
      });
      const response = await post(router, body);
      expect(response.status).toBe(503);
      expect((await errorOf(response)).code).toBe("evidence_unavailable");
    },
  );

  it("a request is answered with 504 where its deadline passes before the record is written", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const router = await startRouter({
      table: tableOver([upstream]),
      runtime: { evidence: evidenceOf(() => new Promise(() => {})) },
    });
    const response = await post(router, hello, { "x-request-timeout-ms": "60" });
    expect([response.status, (await errorOf(response)).code]).toEqual([
      504,
      "upstream_timeout_total",
    ]);
  });

  it("a request whose deadline ends the provider's time is recorded, though decisions gather for longer", async () => {
    const upstream = await startUpstream(() => {});
    const written: string[] = [];
    const evidence: Runtime["evidence"] = {
      begin: ({ requestId }, settled) => ({
        needed() {
          setTimeout(() => {
            written.push(requestId);
            settled(null);
          }, 10);
        },
      }),
      settle: () => {},
    };
    const router = await startRouter({ table: tableOver([upstream]), runtime: { evidence } });
    const response = await post(router, hello, { "x-request-timeout-ms": "1000" });
    expect([response.status, written]).toEqual([504, ["req_1"]]);
    expect(upstream.calls).toHaveLength(1);
  });

  it("an error is not sent before its record either", async () => {
    const bad = await startUpstream((response) => answerJson(response, {}, 500));
    const disk = Promise.withResolvers<void>();
    const router = await startRouter({
      table: tableOver([bad]),
      runtime: { evidence: evidenceOf(() => disk.promise) },
    });
    let answered = false;
    const request = post(router, hello).then((response) => {
      answered = true;
      return response.status;
    });
    await until(() => bad.calls.length === 1);
    await pause(50);
    expect(answered).toBe(false);
    disk.resolve();
    expect(await request).toBe(502);
  });

  it("a request without a record or a provider is answered with 503, and the process lives", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const router = await startRouter({
      table: tableOver([upstream]),
      disabled: ["p-a"],
      runtime: { evidence: evidenceOf(() => Promise.reject(new Error("disk full"))) },
    });
    const response = await post(router, hello);
    expect([response.status, (await errorOf(response)).code]).toEqual([
      503,
      "evidence_unavailable",
    ]);
    expect((await fetch(`${router.url}/status`)).status).toBe(200);
  });
});

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import type { WorkspaceLimits } from "../../src/canon/limits.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import { createDecider } from "../../src/decide/decider.ts";
import {
  ANSWER,
  answerJson,
  delta,
  errorOf,
  hello,
  post,
  sse,
  startSse,
  startUpstream,
  tableOver,
  until,
  type Upstream,
} from "../support/router.ts";
import { clock, limited, NO_LIMITS, NOW, withLimits, type Limited } from "./limited-router.ts";
import {
  endpoint,
  fakePolicies,
  model,
  provider,
  route,
  table,
  workspace,
} from "../support/table.ts";

afterEach(() => {
  clock.at = NOW;
});

const answering = (): Promise<Upstream> => startUpstream((response) => answerJson(response));

function limitsOf(response: Response): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => name.includes("ratelimit")));
}

const small = { ...hello, max_tokens: 100 };

describe("requests per minute", () => {
  it("are refused beyond the limit with a retry-after, and no provider is called", async () => {
    const upstream = await answering();
    const { router } = await limited(tableOver([upstream]), { requestsPerMinute: 2 });
    const first = await post(router, small);
    expect([first.status, limitsOf(first)]).toEqual([
      200,
      {
        "x-ratelimit-limit-requests": "2",
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": "50s",
      },
    ]);
    await post(router, small);
    const refused = await post(router, small);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("50");
    expect(limitsOf(refused)).toMatchObject({ "x-ratelimit-remaining-requests": "0" });
    expect(await errorOf(refused)).toMatchObject({
      type: "rate_limit_error",
      code: "requests_per_minute",
    });
    expect(upstream.calls).toHaveLength(2);
    await router.settled(3);
    expect(router.decisions[2]).toMatchObject({
      outcome: "refuse",
      reason: "requests_per_minute",
      workspace: "w",
      route: "r",
      limit: {
        subject: "workspace",
        measure: "requests",
        window: "minute",
        size: 2,
        used: 2,
        reserved: 0,
        requested: 1,
        renewsAt: NOW + 50_000,
      },
    });
    expect(router.outcomes[2]).toMatchObject({ terminal: "refused", status: 429, attempts: [] });
    clock.at += 50_000;
    expect((await post(router, small)).status).toBe(200);
  });

  it.each([
    ["/v1/chat/completions", { ...small, model: "made-up" }, 404, "model_not_found"],
    ["/v1/embeddings", { model: "made-up", input: "text" }, 404, "model_not_found"],
    ["/v1/moderations", { input: "text" }, 400, "moderation_route_missing"],
  ])(
    "count a request to %s that names no route, and free its slot",
    async (path, body, status, code) => {
      const { router, store } = await limited(tableOver([]), {
        requestsPerMinute: 2,
        tokensPerMinute: 1,
        concurrency: 1,
      });
      const send = (): Promise<Response> =>
        fetch(`${router.url}${path}`, {
          method: "POST",
          headers: { authorization: "Bearer good", "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      for (const remaining of ["1", "0"]) {
        const answer = await send();
        expect([answer.status, limitsOf(answer)["x-ratelimit-remaining-requests"]]).toEqual([
          status,
          remaining,
        ]);
        expect((await errorOf(answer)).code).toBe(code);
      }
      expect(await errorOf(await send())).toMatchObject({ code: "requests_per_minute" });
      expect([store.used("workspace:w", "requests"), store.used("workspace:w", "tokens")]).toEqual([
        2, 0,
      ]);
      await router.settled(3);
      expect(router.decisions.map((each) => [each.outcome, each.route, each.reason])).toEqual([
        ["deny", null, code],
        ["deny", null, code],
        ["refuse", null, "requests_per_minute"],
      ]);
    },
  );

  it("of the key count beside those of the workspace; the lower of its own and per_key applies", async () => {
    const upstream = await answering();
    const one = { ...NO_LIMITS, requestsPerMinute: 1 };
    const own = await limited(
      tableOver([upstream]),
      { requestsPerMinute: 9, perKey: { ...NO_LIMITS, requestsPerMinute: 3 } },
      { ...one, requestsPerMinute: 2 },
    );
    const wider = await limited(
      tableOver([upstream]),
      { perKey: one },
      { ...NO_LIMITS, requestsPerMinute: 9 },
    );
    const other = await limited(
      tableOver([upstream]),
      { perKey: one },
      { ...NO_LIMITS, concurrency: 9 },
    );
    const common = await limited(tableOver([upstream]), { requestsPerMinute: 9, perKey: one });
    const statuses = async ({ router }: Limited): Promise<readonly number[]> => [
      (await post(router, small)).status,
      (await post(router, small)).status,
      (await post(router, small)).status,
    ];
    expect(await statuses(own)).toEqual([200, 200, 429]);
    for (const each of [common, wider, other])
      expect(await statuses(each)).toEqual([200, 429, 429]);
    expect((await errorOf(await post(common.router, small))).message).toContain("this key");
  });

  it("follow a reload at once, and used requests stay counted", async () => {
    const upstream = await answering();
    const base = tableOver([upstream]);
    const { router } = await limited(base, { requestsPerMinute: 100 });
    for (let count = 0; count < 3; count += 1) await post(router, small);
    const reload = (limits: Partial<WorkspaceLimits>): void => {
      const decider = createDecider(withLimits(base, limits), fakePolicies(), Date.now);
      // What was taken and not given back keeps its connections.
      router.snapshots.take();
      router.snapshots.swap({
        ...router.snapshots.current,
        decider,
        releaseConnections: () => Promise.resolve(),
      });
    };
    reload({ requestsPerMinute: 3 });
    expect((await post(router, small)).status).toBe(429);
    reload({ requestsPerMinute: 4 });
    expect((await post(router, small)).status).toBe(200);
    expect((await post(router, small)).status).toBe(429);
  });
});

describe("tokens", () => {
  it("are reserved by the most that a request may use and settled by its usage", async () => {
    const release = Promise.withResolvers<void>();
    const upstream = await startUpstream(async (response) => {
      await release.promise;
      answerJson(response);
    });
    const { router, store } = await limited(tableOver([upstream]), { tokensPerMinute: 1_000 });
    const running = post(router, { ...hello, max_tokens: 500 });
    await until(() => upstream.calls.length === 1);
    // 64 for frames, the bytes of the body, and 500.
    expect(store.used("workspace:w", "tokens")).toBeGreaterThanOrEqual(564 + 60);
    const refused = await post(router, { ...hello, max_tokens: 500 });
    expect(await errorOf(refused)).toMatchObject({ code: "tokens_per_minute" });
    expect([refused.headers.get("retry-after"), refused.headers.get("x-should-retry")]).toEqual([
      "1",
      null,
    ]);
    release.resolve();
    await (await running).text();
    await router.settled(2);
    const after = await post(router, { ...hello, max_tokens: 500 });
    expect(after.status).toBe(200);
    await until(() => store.used("workspace:w", "tokens") < 200);
  });

  it("beyond the whole limit are refused with 402, which clients do not retry", async () => {
    const upstream = await answering();
    const { router } = await limited(tableOver([upstream]), { tokensPerMinute: 1_000 });
    const refused = await post(router, { ...hello, max_tokens: 5_000 });
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([402, "false"]);
    expect(refused.headers.get("retry-after")).toBeNull();
    const error = await errorOf(refused);
    expect(error).toMatchObject({ type: "insufficient_quota", code: "exceeds_limit" });
    expect(error.message).toContain("the whole limit of tokens per minute. Lower max_tokens");
  });

  it("are returned whole where no provider was reached, and the request too", async () => {
    const gone = { url: "http://127.0.0.1:9", calls: [] };
    const { router, store } = await limited(tableOver([gone]), {
      tokensPerMinute: 1_000,
      requestsPerMinute: 5,
    });
    for (let count = 0; count < 7; count += 1) expect((await post(router, small)).status).toBe(502);
    clock.at += 3_000;
    await until(() => store.used("workspace:w", "tokens") <= 62);
  });

  it("of a call that the provider refused are not counted, the request is", async () => {
    const upstream = await startUpstream((response) =>
      answerJson(response, { error: { message: "no" } }, 400),
    );
    const { router, store } = await limited(tableOver([upstream]), {
      tokensPerMinute: 1_000,
      requestsPerMinute: 2,
    });
    await post(router, small);
    await post(router, small);
    expect(await errorOf(await post(router, small))).toMatchObject({ code: "requests_per_minute" });
    await until(() => store.used("workspace:w", "tokens") <= 62);
  });

  it("of an answer that the client left are the relayed ones", async () => {
    const upstream = await startUpstream((response) => {
      startSse(response);
      response.write(sse(delta("hello ".repeat(100))));
    });
    const { router, store } = await limited(tableOver([upstream]), { tokensPerMinute: 16_000 });
    const controller = new AbortController();
    const response = await fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ ...hello, stream: true, max_tokens: 8_000 }),
      signal: controller.signal,
    });
    await response.body?.getReader().read();
    controller.abort();
    await router.settled(1);
    await until(() => store.used("workspace:w", "tokens") < 2_000);
    // At least 600 bytes in 4 each, and the input; what is held of a chunk of 1,000 may come on
    // top.
    expect(store.used("workspace:w", "tokens")).toBeGreaterThan(150 + 60);
  });
});

describe("a decision that cannot be recorded", () => {
  it("costs the provider's count, even if the client does not see the answer", async () => {
    const upstream = await answering();
    const disk = Promise.withResolvers<void>();
    const { router, store } = await limited(
      tableOver([upstream]),
      { tokensPerMinute: 1_000, requestsPerMinute: 1 },
      undefined,
      () => disk.promise,
    );
    const answer = post(router, { ...hello, max_tokens: 500 });
    await until(() => upstream.calls.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    disk.reject(new Error("disk full"));
    expect((await answer).status).toBe(503);
    // 11 tokens, and what is held of a chunk of a sixteenth.
    await until(() => store.used("workspace:w", "tokens") <= 62 + 11);
    expect((await post(router, small)).status).toBe(429);
  });

  it("costs nothing, not even the request, where no provider was called", async () => {
    const upstream = await answering();
    const { router } = await limited(
      tableOver([upstream]),
      { requestsPerMinute: 1 },
      undefined,
      () => Promise.reject(new Error("disk full")),
    );
    for (let count = 0; count < 3; count += 1) expect((await post(router, small)).status).toBe(503);
    expect(upstream.calls).toHaveLength(0);
  });
});

describe("money", () => {
  it("is counted with the price of the endpoint that answered, and clients do not retry the budget's refusal", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 106, total_tokens: 111 };
    const upstream = await startUpstream((response) => answerJson(response, { ...ANSWER, usage }));
    // The answer: 5 tokens at 1 and 106 at 2 millionths.
    const { router, store } = await limited(tableOver([upstream]), {
      budget: { usd: 0.0013, per: "month" },
    });
    expect((await post(router, { ...hello, max_tokens: 120 })).status).toBe(200);
    await router.settled(1);
    // What is held of a chunk of a 1,024th may come on top.
    await until(() => [217, 218].includes(store.used("workspace:w", "micro_usd")));
    const refused = await post(router, { ...hello, max_tokens: 500 });
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([402, "false"]);
    expect(refused.headers.get("retry-after")).toBeNull();
    const error = await errorOf(refused);
    expect(error).toMatchObject({ type: "insufficient_quota", code: "exceeds_remaining_budget" });
    expect(error.message).toContain("It renews at 2026-12-01T00:00:00Z.");
  });
});

describe("requests at once", () => {
  it("are bounded, and one that ends frees its slot for the next", async () => {
    const releases: (() => void)[] = [];
    const upstream = await startUpstream(async (response) => {
      await new Promise<void>((resolve) => releases.push(resolve));
      answerJson(response);
    });
    const { router } = await limited(tableOver([upstream]), { concurrency: 2 });
    const running = [post(router, small), post(router, small)];
    await until(() => releases.length === 2);
    const refused = await post(router, small);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await errorOf(refused)).toMatchObject({ code: "concurrency" });
    releases.shift()?.();
    await Promise.race(running);
    await router.settled(2);
    const next = post(router, small);
    await until(() => releases.length === 2);
    for (const release of releases) release();
    expect((await Promise.all([...running, next])).map(({ status }) => status)).toEqual([
      200, 200, 200,
    ]);
  });
});

describe("limits that cannot be counted", () => {
  it("refuse with 503 and a retry-after", async () => {
    const upstream = await answering();
    const { router, store } = await limited(tableOver([upstream]), { requestsPerMinute: 5 });
    store.before = () => Promise.reject(new Error("no disk"));
    const refused = await post(router, small);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await errorOf(refused)).toMatchObject({ code: "limits_unavailable" });
    expect(upstream.calls).toHaveLength(0);
    store.before = () => Promise.resolve();
    expect((await post(router, small)).status).toBe(200);
  });

  it("are answered with 504 where the deadline of the request comes first", async () => {
    const upstream = await answering();
    const { router, store } = await limited(tableOver([upstream]), { requestsPerMinute: 5 });
    store.before = () => new Promise(() => {});
    const refused = await post(router, small, { "x-request-timeout-ms": "20" });
    expect([refused.status, (await errorOf(refused)).code]).toEqual([
      504,
      "upstream_timeout_total",
    ]);
    expect(upstream.calls).toHaveLength(0);
  });
});

describe("a request that no limit counts", () => {
  it("is a simulation, any number of times", async () => {
    const upstream = await answering();
    const { router, store } = await limited(tableOver([upstream]), {
      requestsPerMinute: 1,
      tokensPerMinute: 1_000,
    });
    for (let count = 0; count < 3; count += 1) {
      const simulated = await fetch(`${router.url}/v1/route/simulate?operation=chat.completions`, {
        method: "POST",
        headers: { authorization: "Bearer good", "content-type": "application/json" },
        body: JSON.stringify({ model: "r", request: small }),
      });
      expect(simulated.status).toBe(200);
    }
    expect(store.calls).toBe(0);
    expect((await post(router, small)).status).toBe(200);
  });

  it("is a request that was denied on its route", async () => {
    const { router, store } = await limited(tableOver([await answering()]), {
      requestsPerMinute: 1,
    });
    const embedded = await fetch(`${router.url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ model: "r", input: "text" }),
    });
    expect((await errorOf(embedded)).code).toBe("operation_not_supported");
    expect(store.calls).toBe(0);
  });
});

describe("embeddings", () => {
  const vectors = (upstream: Upstream): RoutingTable =>
    table({
      providers: [provider("p", { baseUrl: `${upstream.url}/v1`, auth: { kind: "none" } })],
      models: [
        model("m", {
          operations: ["embed"],
          dimensions: [3],
          defaultDimensions: 3,
          contextWindow: 8_000,
        }),
      ],
      endpoints: [endpoint("a", { capabilities: [] })],
      routes: [route("r", "a", [], { operations: ["embed"] })],
      workspaces: [workspace("w", { providers: ["p"], dimensions: [3], contextWindow: 8_000 })],
    });

  it("count each call that a batch is cut into, and refuse at once a batch of more calls than a minute allows", async () => {
    const upstream = await startUpstream((response) =>
      answerJson(response, {
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.5, 0.25, 0.125] }],
        model: "m",
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    );
    const { router, store } = await limited(vectors(upstream), { requestsPerMinute: 5 });
    const batch = (inputs: number): Promise<Response> =>
      fetch(`${router.url}/v1/embeddings`, {
        method: "POST",
        headers: {
          authorization: "Bearer good",
          "content-type": "application/json",
          "x-max-batch-size": "1",
        },
        body: JSON.stringify({
          model: "r",
          input: Array.from({ length: inputs }, (_, index) => `text ${index}`),
        }),
      });
    const forty = await batch(40);
    expect(forty.status).not.toBe(200);
    expect(forty.headers.get("x-should-retry")).toBe("false");
    expect(upstream.calls).toHaveLength(0);
    const three = await batch(3);
    expect(three.status).toBe(200);
    expect(three.headers.get("x-ratelimit-remaining-requests")).toBe("2");
    expect((await batch(3)).status).toBe(429);
    expect((await batch(2)).status).toBe(200);
    expect(upstream.calls).toHaveLength(5);
    await router.settled(4);
    expect(store.used("workspace:w", "requests")).toBe(5);
  });
});

describe("official clients", () => {
  it("of openai see a RateLimitError with its code, and wait for retry-after", async () => {
    const upstream = await answering();
    const { router } = await limited(tableOver([upstream]), { requestsPerMinute: 1 });
    const client = new OpenAI({ apiKey: "good", baseURL: `${router.url}/v1`, maxRetries: 0 });
    const ask = {
      model: "r",
      messages: [{ role: "user" as const, content: "hello" }],
      max_tokens: 10,
    };
    expect((await client.chat.completions.create(ask)).choices[0]?.message.content).toBe(
      ANSWER.choices[0]?.message.content,
    );
    const error: unknown = await client.chat.completions
      .create(ask)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({
      status: 429,
      code: "requests_per_minute",
      type: "rate_limit_error",
    });
    // A second before the minute ends, the client waits that second and is served.
    clock.at = NOW + 49_000;
    const patient = client.withOptions({ maxRetries: 1 });
    const startedAt = performance.now();
    setTimeout(() => (clock.at = NOW + 50_000), 500);
    await patient.chat.completions.create(ask);
    expect(performance.now() - startedAt).toBeGreaterThan(990);
  });

  it("of anthropic get a RateLimitError and their own headers", async () => {
    const upstream = await startUpstream((response) =>
      answerJson(response, {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [{ type: "text", text: "hi" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 5, output_tokens: 6 },
      }),
    );
    const base = table({
      providers: [
        provider("p", {
          baseUrl: `${upstream.url}/v1`,
          dialect: "anthropic-messages",
          auth: { kind: "none" },
        }),
      ],
      endpoints: [endpoint("a", { dialect: "anthropic-messages" })],
      routes: [route("r", "a", [])],
    });
    const { router } = await limited(base, { requestsPerMinute: 1, tokensPerMinute: 5_000 });
    const client = new Anthropic({
      authToken: "good",
      apiKey: null,
      baseURL: `${router.url}/api`,
      maxRetries: 0,
    });
    const ask = {
      model: "r",
      max_tokens: 10,
      messages: [{ role: "user" as const, content: "hello" }],
    };
    const { response } = await client.messages.create(ask).withResponse();
    expect(limitsOf(response)).toMatchObject({
      "anthropic-ratelimit-requests-limit": "1",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2026-11-22T10:01:00Z",
      "anthropic-ratelimit-tokens-limit": "5000",
    });
    const error: unknown = await client.messages.create(ask).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Anthropic.RateLimitError);
    expect(error).toMatchObject({ status: 429, error: { error: { type: "rate_limit_error" } } });
    if (!(error instanceof Anthropic.RateLimitError)) throw new Error("no rate limit");
    expect(error.headers.get("retry-after")).toBe("50");
  });
});

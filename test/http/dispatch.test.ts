import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { HealthSettings, RouteRow, RoutingTable } from "../../src/canon/table.ts";
import { EndpointTracker, startProber } from "../../src/dispatch/endpoint-tracker.ts";
import { healthSettingsOf } from "../../src/http/snapshot.ts";
import { passTime, shortenTimers } from "../support/clock.ts";
import {
  answerJson,
  delta,
  errorOf,
  hello,
  post,
  sse,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
  until,
  type Router,
  type Upstream,
} from "../support/router.ts";

// The shortest interval of probes.
shortenTimers(1_000, 50);

const streamed = { ...hello, stream: true };

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });

const KEY = { authorization: "Bearer good", "content-type": "application/json" };

const RESPONSE = {
  id: "resp_1",
  object: "response",
  status: "completed",
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "hi", annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

const HEALTH: HealthSettings = {
  consecutiveFailures: 2,
  failureRatio: 0,
  minimumCalls: 20,
  window: 30_000,
  ejection: 150,
  longestEjection: 1_000,
  probe: null,
};

/** A table over the upstreams whose route has these settings. */
function routed(
  upstreams: readonly Upstream[],
  more: Partial<RouteRow>,
  rows: Parameters<typeof tableOver>[1] = {},
): RoutingTable {
  const base = tableOver(upstreams, rows);
  const { r } = base.routes;
  if (r === undefined) throw new Error("no route");
  return { ...base, routes: { r: { ...r, ...more } } };
}

/** All endpoints of the route as one tier. */
function tier(
  count: number,
  balance: RouteRow["tiers"][number]["balance"],
  weights: readonly number[],
): Partial<RouteRow> {
  return { tiers: [{ endpoints: ["a", "b", "c"].slice(0, count), balance, weights }] };
}

function failing(status: number, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end("{}");
  };
}

const endpointOf = (response: Response): string =>
  /endpoint=(\w)/.exec(response.headers.get("x-signalbox-route") ?? "")?.[1] ?? "";

/** Endpoints that are not healthy. */
function unhealthy({ tracker, snapshots }: Router): Readonly<Record<string, object>> {
  const ids = Object.keys(snapshots.current.decider.table.endpoints);
  const statuses = ids.map((id) => [id, tracker.status(id, performance.now())] as const);
  return Object.fromEntries(statuses.filter(([, { state }]) => state !== "healthy"));
}

describe("a failure that may pass", () => {
  it("is tried again at the only endpoint there is, within the attempts allowed", async () => {
    let calls = 0;
    const upstream = await startUpstream((response) => {
      calls += 1;
      if (calls === 1) failing(500)(response);
      else answerJson(response);
    });
    const router = await startRouter({ table: routed([upstream], { maxAttempts: 4 }) });
    const response = await post(router, hello);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-signalbox-attempts")).toBe("2");
    await router.settled(1);
    expect(router.decisions).toHaveLength(1);
    expect(router.outcomes[0]?.attempts).toMatchObject([
      { failure: "server_error" },
      { failure: null },
    ]);
    const once = await startRouter({ table: routed([upstream], { maxAttempts: 4 }) });
    calls = 0;
    expect((await post(once, hello, { "x-max-attempts": "1" })).status).toBe(502);
    expect(calls).toBe(1);
  });

  it("waits as long as the provider requires, in seconds or milliseconds", async () => {
    for (const headers of [{ "retry-after": "1" }, { "retry-after-ms": "300" }]) {
      let calls = 0;
      const upstream = await startUpstream((response) => {
        calls += 1;
        if (calls === 1) failing(429, headers)(response);
        else answerJson(response);
      });
      const router = await startRouter({ table: routed([upstream], { maxAttempts: 4 }) });
      const startedAt = performance.now();
      expect((await post(router, hello)).status).toBe(200);
      const least = "retry-after" in headers ? 1_000 : 300;
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(least - 5);
    }
  });

  it("is not waited for beyond the deadline: the caller gets a retry-after at once", async () => {
    const upstream = await startUpstream(failing(429, { "retry-after": "20" }));
    const router = await startRouter({ table: routed([upstream], { maxAttempts: 4 }) });
    const startedAt = performance.now();
    const response = await post(router, hello, { "x-request-timeout-ms": "15000" });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("20");
  });

  it("a caller's error that arrives after a status of 200 is not retried", async () => {
    const frame = { error: { message: "secret", code: "context_length_exceeded" } };
    const strict = await startUpstream((response, call) => {
      if (!call.body.includes('"stream":true')) return answerJson(response, frame);
      startSse(response);
      response.end(sse(frame));
    });
    const other = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([strict, other], { health: HEALTH }) });
    for (const body of [hello, streamed, hello]) {
      const response = await post(router, body);
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: "context_length_exceeded" });
    }
    expect(other.calls).toHaveLength(0);
    expect(unhealthy(router)).toEqual({});
  });

  it("a retry-after with an invalid date is not waited for", async () => {
    for (const value of ["-1", "+5", "1,2", "foo 5", "tomorrow"]) {
      const limited = await startUpstream(failing(429, { "retry-after": value }));
      const well = await startUpstream((response) => answerJson(response));
      const router = await startRouter({ table: tableOver([limited, well]) });
      for (let count = 0; count < 2; count += 1)
        expect(endpointOf(await post(router, hello))).toBe("b");
      // Nothing usable was said: the usual time out holds.
      expect(limited.calls, value).toHaveLength(1);
    }
  });

  it("a 400 is neither retried nor sent to another endpoint, because it is the caller's", async () => {
    const upstreams = [
      await startUpstream(failing(400)),
      await startUpstream((response) => answerJson(response)),
    ];
    const router = await startRouter({ table: routed(upstreams, { maxAttempts: 4 }) });
    expect((await post(router, hello)).status).toBe(400);
    expect(upstreams.map(({ calls }) => calls.length)).toEqual([1, 0]);
  });
});

describe("the commit point", () => {
  it.each([
    [
      "an empty role delta",
      sse({
        id: "c",
        choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
      }),
    ],
    ["comments", ": ping\n\n: ping\n\n"],
  ])("a stream that dies after %s is answered by the next endpoint", async (_name, beginning) => {
    const dying = await startUpstream(async (response) => {
      startSse(response);
      response.write(beginning);
      await pause(30);
      response.destroy();
    });
    const whole = await startUpstream((response) => {
      startSse(response);
      response.end(sse(delta("hi", "stop")) + sse("[DONE]"));
    });
    const router = await startRouter({ table: tableOver([dying, whole]) });
    const response = await post(router, streamed);
    const text = await response.text();
    expect(text).toContain('"hi"');
    expect(text).not.toContain("ping");
    expect(text.match(/\[DONE\]/g)).toHaveLength(1);
    expect(endpointOf(response)).toBe("b");
  });

  it("is the first text: after it a failure ends the stream, and no other endpoint answers", async () => {
    const dying = await startUpstream(async (response) => {
      startSse(response);
      response.write(sse(delta("hi")));
      await pause(30);
      response.destroy();
    });
    const whole = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([dying, whole]) });
    const text = await (await post(router, streamed)).text();
    expect(text).toContain('"hi"');
    expect(text).toContain('"error"');
    expect(whole.calls).toHaveLength(0);
  });

  it("is reached at 64 KiB without output too", async () => {
    const empty = sse({
      id: "c",
      choices: [{ index: 0, delta: { content: "" }, finish_reason: null }],
    });
    const wordy = await startUpstream((response) => {
      startSse(response);
      response.write(empty.repeat(1_200));
    });
    const router = await startRouter({ table: tableOver([wordy]) });
    const response = await post(router, streamed);
    const first = await response.body?.getReader().read();
    expect(first?.value?.length).toBeGreaterThan(60_000);
  });

  it("the time before the commit point has a separate deadline", async () => {
    const pinging = await startUpstream((response) => {
      startSse(response);
      const timer = setInterval(() => response.write(": ping\n\n"), 20);
      response.on("close", () => clearInterval(timer));
    });
    const whole = await startUpstream((response) => {
      startSse(response);
      response.end(sse(delta("hi", "stop")) + sse("[DONE]"));
    });
    const timeouts = {
      connect: 1_000,
      firstByte: 2_000,
      firstToken: 150,
      idle: 2_000,
      total: 10_000,
    };
    const router = await startRouter({ table: tableOver([pinging, whole], { timeouts }) });
    expect(await (await post(router, streamed)).text()).toContain('"hi"');
    await router.settled(1);
    expect(router.outcomes[0]?.attempts).toMatchObject([
      { failure: "timeout_first_token" },
      { failure: null },
    ]);
  });
});

describe("health", () => {
  it("ejects an endpoint after failures in a row, tries it once after its time, and restores it", async () => {
    let isIll = true;
    const ill = await startUpstream((response) =>
      isIll ? failing(500)(response) : answerJson(response),
    );
    const well = await startUpstream((response) => answerJson(response));
    // Longer than the requests take on a busy machine.
    const ejection = 60_000;
    const health = { ...HEALTH, ejection, longestEjection: 10 * ejection };
    const router = await startRouter({ table: tableOver([ill, well], { health }) });
    const stateOfFirst = () => router.tracker.status("a", performance.now()).state;
    for (const expected of [1, 2, 2, 2]) {
      expect(endpointOf(await post(router, hello))).toBe("b");
      expect(ill.calls).toHaveLength(expected);
    }
    expect(unhealthy(router)).toMatchObject({ a: { state: "ejected", consecutive_failures: 2 } });
    passTime(ejection);
    expect(stateOfFirst()).toBe("half_open");
    // The trial fails, and the next time out is twice as long.
    expect(endpointOf(await post(router, hello))).toBe("b");
    expect(ill.calls).toHaveLength(3);
    isIll = false;
    passTime(ejection);
    expect(stateOfFirst()).toBe("ejected");
    passTime(ejection);
    expect(stateOfFirst()).toBe("half_open");
    expect(endpointOf(await post(router, hello))).toBe("a");
    expect(unhealthy(router)).toEqual({});
    expect(endpointOf(await post(router, hello))).toBe("a");
  });

  it("of generation does not depend on token counts: a server that cannot count is passed by for counts alone", async () => {
    const own = { dialect: "openai-responses", features: ["count_tokens"] } as const;
    const primary = await startUpstream((response, { path }) =>
      path.endsWith("/input_tokens") ? failing(404)(response) : answerJson(response, RESPONSE),
    );
    const counting = await startUpstream((response) => answerJson(response, { input_tokens: 3 }));
    const bare = await startUpstream((response) => answerJson(response));
    const base = tableOver([primary, counting, bare], { health: HEALTH });
    const { a, b, c } = base.endpoints;
    if (a === undefined || b === undefined || c === undefined) throw new Error("no endpoints");
    const endpoints = {
      a: { ...a, ...own },
      b: { ...b, dialect: "anthropic-messages", nativeFeatures: own.features },
      c,
    };
    const router = await startRouter({ table: { ...base, endpoints } });
    const send = (path: string, body: unknown): Promise<Response> =>
      fetch(`${router.url}${path}`, { method: "POST", headers: KEY, body: JSON.stringify(body) });
    for (let count = 0; count < 6; count += 1) {
      const counted = await send("/api/v1/messages/count_tokens", hello);
      expect([counted.status, await counted.json()]).toEqual([200, { input_tokens: 3 }]);
    }
    // After the first answer the count goes to the next endpoint at once; the third cannot count,
    // and refuses nothing.
    expect(primary.calls).toHaveLength(1);
    expect(bare.calls).toHaveLength(0);
    expect(endpointOf(await send("/v1/responses", { model: "r", input: "hi" }))).toBe("a");
  });

  it("the last endpoint is never ejected", async () => {
    const ill = await startUpstream(failing(500));
    const router = await startRouter({ table: tableOver([ill], { health: HEALTH }) });
    for (let count = 1; count <= 4; count += 1) {
      expect((await post(router, hello)).status).toBe(502);
      expect(ill.calls).toHaveLength(count);
    }
  });

  it("an endpoint is not called before the time of its 429", async () => {
    const limited = await startUpstream(failing(429, { "retry-after": "60" }));
    const well = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([limited, well]) });
    for (let count = 0; count < 3; count += 1)
      expect(endpointOf(await post(router, hello))).toBe("b");
    expect(limited.calls).toHaveLength(1);
    expect(unhealthy(router)).toMatchObject({ a: { state: "rate_limited" } });
    passTime(60_000);
    await post(router, hello);
    expect(limited.calls).toHaveLength(2);
  });

  it("restores the last endpoint of a route once its calls succeed, before its time is over", async () => {
    let isIll = true;
    const upstream = await startUpstream((response) =>
      isIll ? failing(500)(response) : answerJson(response),
    );
    const health = { ...HEALTH, ejection: 60_000, longestEjection: 60_000 };
    const router = await startRouter({ table: tableOver([upstream], { health }) });
    for (let count = 0; count < 2; count += 1) await post(router, hello);
    expect(unhealthy(router)).toMatchObject({ a: { state: "ejected" } });
    isIll = false;
    for (let count = 0; count < 3; count += 1) expect((await post(router, hello)).status).toBe(200);
    expect(unhealthy(router)).toEqual({});
  });

  it("clients that do not read have no effect on it", async () => {
    const large = await startUpstream((response) => {
      startSse(response);
      response.write(sse(delta("x".repeat(60_000))).repeat(400));
    });
    // A busy machine needs a while until buffers are full and the clock stands: it gets longer.
    for (const total of [1_000, 6_000]) {
      const timeouts = {
        connect: 1_000,
        firstByte: total,
        firstToken: total,
        idle: total,
        total,
      };
      const router = await startRouter({ table: tableOver([large], { timeouts, health: HEALTH }) });
      const readers = await Promise.all([post(router, streamed), post(router, streamed)]);
      await pause(1.3 * total);
      if (total === 1_000 && router.outcomes.length > 0) continue;
      expect(unhealthy(router)).toEqual({});
      for (const reader of readers) await reader.body?.cancel();
      await router.settled(2);
      expect(router.outcomes.map(({ terminal }) => terminal)).toEqual([
        "client_closed",
        "client_closed",
      ]);
      return;
    }
  });

  it("is not changed by callers' errors", async () => {
    const strict = await startUpstream(failing(400));
    const router = await startRouter({ table: tableOver([strict], { health: HEALTH }) });
    for (let count = 0; count < 4; count += 1) await post(router, hello);
    expect(unhealthy(router)).toEqual({});
  });

  it("a simulation shows the present health", async () => {
    const ill = await startUpstream(failing(500));
    const well = await startUpstream((response) => answerJson(response));
    const router = await startRouter({
      table: tableOver([ill, well], {
        health: { ...HEALTH, ejection: 60_000, longestEjection: 60_000 },
      }),
    });
    await post(router, hello);
    await post(router, hello);
    const response = await fetch(`${router.url}/v1/route/simulate?operation=chat.completions`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ model: "r" }),
    });
    expect(await response.json()).toMatchObject({
      plan: [
        { endpoint: "b", tier: 1, status: { state: "healthy" } },
        {
          endpoint: "a",
          tier: 0,
          balance: "order",
          status: { state: "ejected", consecutive_failures: 2 },
        },
      ],
      arrangement: { decided: ["a", "b"], by_chance: false },
      max_candidates: null,
    });
    // No provider was called.
    expect(ill.calls).toHaveLength(2);
  });

  it("a provider with a probe is called by the probe alone, with its credentials, until it recovers", async () => {
    let isIll = true;
    const upstream = await startUpstream((response, { path }) => {
      if (path === "/v1/models") failing(isIll ? 503 : 200)(response);
      else if (isIll) failing(500)(response);
      else answerJson(response);
    });
    const well = await startUpstream((response) => answerJson(response));
    const health = {
      ...HEALTH,
      ejection: 50,
      longestEjection: 50,
      probe: { path: "/models", interval: 50 },
    };
    const base = tableOver([upstream, well], { health });
    const router = await startRouter({ table: base });
    const tracker = new EndpointTracker(healthSettingsOf(router.snapshots));
    const failure = { kind: "server_error", status: 500, retryAfter: null, code: null } as const;
    for (let count = 0; count < 2; count += 1) {
      tracker.begin("a", performance.now());
      tracker.endCall("a", { failure, firstToken: null, tokensPerSecond: null }, performance.now());
    }
    const { decider, connections } = router.snapshots.current;
    const stop = startProber(tracker, () => ({ table: decider.table, connections }));
    try {
      const probes = () => upstream.calls.filter(({ path }) => path === "/v1/models");
      await until(() => probes().length >= 1);
      const { authorization, ...others } = probes()[0]?.headers ?? {};
      expect(authorization).toBe("Bearer secret-of-p-a");
      // None of those that a browser's fetch adds.
      expect(Object.keys(others).toSorted()).toEqual(["connection", "host", "user-agent"]);
      expect(tracker.status("a", performance.now()).state).not.toBe("healthy");
      isIll = false;
      await until(() => tracker.status("a", performance.now()).state === "healthy");
    } finally {
      stop();
    }
  });
});

describe("balance", () => {
  const answering = (): Promise<Upstream> => startUpstream((response) => answerJson(response));

  it("shares by weights", async () => {
    const upstreams = [await answering(), await answering(), await answering()];
    const router = await startRouter({ table: routed(upstreams, tier(3, "weighted", [3, 1, 0])) });
    for (let count = 0; count < 120; count += 1) await post(router, hello);
    const [first = 0, second = 0, third = 0] = upstreams.map(({ calls }) => calls.length);
    expect(third).toBe(0);
    expect(first).toBeGreaterThan(second * 1.5);
    expect(second).toBeGreaterThan(10);
  });

  it("a conversation stays at one endpoint, by every header that names it", async () => {
    const upstreams = [await answering(), await answering(), await answering()];
    const router = await startRouter({ table: routed(upstreams, tier(3, "sticky", [1, 1, 1])) });
    const requested = async (body: object, headers: Record<string, string> = {}): Promise<string> =>
      endpointOf(await post(router, { ...hello, ...body }, headers));
    for (const [body, headers] of [
      [{ prompt_cache_key: "k1" }, {}],
      [{}, { "x-session-id": "s1" }],
      [{}, {}],
    ] as const) {
      const first = await requested(body, headers);
      for (let count = 0; count < 5; count += 1) expect(await requested(body, headers)).toBe(first);
    }
    const tracker = new Set<string>();
    for (let key = 0; key < 30; key += 1)
      tracker.add(await requested({ prompt_cache_key: `other ${key}` }));
    expect(tracker.size).toBe(3);
  });

  it("prefers the endpoint with fewer running calls", async () => {
    const waiting: (() => void)[] = [];
    const slow = (): Promise<Upstream> =>
      startUpstream(async (response) => {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
        answerJson(response);
      });
    const upstreams = [await slow(), await slow()];
    const router = await startRouter({
      table: routed(upstreams, tier(2, "least_in_flight", [1, 1])),
    });
    const requests: Promise<Response>[] = [];
    for (let count = 1; count <= 6; count += 1) {
      requests.push(post(router, hello));
      await until(() => waiting.length === count);
    }
    expect(upstreams.map(({ calls }) => calls.length)).toEqual([3, 3]);
    for (const release of waiting) release();
    await Promise.all(requests);
  });

  it("prefers the quicker, once it is known: by the route's balance, or by the caller's wish", async () => {
    const speaking = (milliseconds: number): Promise<Upstream> =>
      startUpstream(async (response) => {
        startSse(response);
        await pause(milliseconds);
        response.end(sse(delta("hi", "stop")) + sse("[DONE]"));
      });
    const upstreams = [await speaking(500), await speaking(1)];
    const router = await startRouter({ table: tableOver(upstreams) });
    const ask = async (provider: object): Promise<string> => {
      const response = await post(router, { ...streamed, provider });
      await response.text();
      return endpointOf(response);
    };
    // The table's order, until more is requested.
    expect(await ask({})).toBe("a");
    expect(await ask({ only: ["p-b"] })).toBe("b");
    for (let count = 0; count < 5; count += 1) expect(await ask({ sort: "latency" })).toBe("b");
    expect(await ask({ preferred_max_latency: 0.4 })).toBe("b");
    expect(await ask({ preferred_max_latency: 10 })).toBe("a");
    expect(await ask({})).toBe("a");
  });

  it("compares whole answers by the times of whole answers, and streams by their first output", async () => {
    const speaking = (first: number, whole: number): Promise<Upstream> =>
      startUpstream(async (response, request) => {
        const isStream = request.body.includes('"stream":true');
        await pause(isStream ? first : whole);
        if (!isStream) return answerJson(response);
        startSse(response);
        response.end(sse(delta("hi", "stop")) + sse("[DONE]"));
      });
    const router = await startRouter({
      table: tableOver([await speaking(1, 200), await speaking(200, 1)]),
    });
    const ask = async (body: object, provider: object): Promise<string> => {
      const response = await post(router, { ...body, provider });
      await response.text();
      return endpointOf(response);
    };
    for (const body of [streamed, hello])
      for (const id of ["p-a", "p-b"]) await ask(body, { only: [id] });
    for (let count = 0; count < 5; count += 1) {
      expect(await ask(hello, { sort: "latency" })).toBe("b");
      expect(await ask(streamed, { sort: "latency" })).toBe("a");
    }
  });

  it("a request with allow_fallbacks: false tries only the endpoint that is first now", async () => {
    const ill = await startUpstream(failing(500));
    const well = await answering();
    const more = { ...tier(2, "order", [1, 1]), maxAttempts: 4 };
    const router = await startRouter({ table: routed([ill, well], more) });
    const response = await post(router, { ...hello, provider: { allow_fallbacks: false } });
    expect(response.status).toBe(502);
    // The one endpoint twice, and no other.
    expect([ill, well].map(({ calls }) => calls.length)).toEqual([2, 0]);
  });
});

describe("a provider with every slot in use", () => {
  const held = async () => {
    const waiting: (() => void)[] = [];
    const upstream = await startUpstream(async (response) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
      answerJson(response);
    });
    return { upstream, waiting };
  };

  it("has a queue: the next call waits, the one after that is refused at once", async () => {
    const { upstream, waiting } = await held();
    const router = await startRouter({
      table: tableOver([upstream], { maxConcurrency: 1, queue: { size: 1, wait: 5_000 } }),
    });
    const first = post(router, hello);
    await until(() => waiting.length === 1);
    const second = post(router, hello);
    await pause(30);
    const third = await post(router, hello);
    expect(third.status).toBe(503);
    expect(await errorOf(third)).toMatchObject({ code: "saturated" });
    expect(third.headers.get("retry-after")).toBe("1");
    waiting[0]?.();
    expect((await first).status).toBe(200);
    await until(() => waiting.length === 2);
    waiting[1]?.();
    expect((await second).status).toBe(200);
  });

  it("is not waited for while another endpoint is free", async () => {
    const { upstream, waiting } = await held();
    const other = await startUpstream((response) => answerJson(response));
    const table = tableOver([upstream, other], {
      maxConcurrency: 1,
      queue: { size: 5, wait: 5_000 },
    });
    const router = await startRouter({ table });
    const first = post(router, hello);
    await until(() => waiting.length === 1);
    expect(endpointOf(await post(router, hello))).toBe("b");
    waiting[0]?.();
    await first;
  });

  it.each(["out for its health", "without credentials"])(
    "is waited for where the other endpoint is %s",
    async (why) => {
      const { upstream, waiting } = await held();
      const ill = await startUpstream(failing(500));
      const health = { ...HEALTH, ejection: 60_000, longestEjection: 60_000 };
      const queue = { size: 5, wait: 5_000 };
      const router = await startRouter({
        table: tableOver([upstream, ill], { maxConcurrency: 1, queue, health }),
        ...(why === "without credentials" ? { disabled: ["p-b"] } : {}),
      });
      if (why === "out for its health") {
        for (let count = 0; count < 2; count += 1)
          await post(router, { ...hello, provider: { only: ["p-b"] } });
      }
      const before = ill.calls.length;
      const first = post(router, hello);
      await until(() => waiting.length === 1);
      const second = post(router, hello);
      await pause(50);
      waiting[0]?.();
      await until(() => waiting.length === 2);
      waiting[1]?.();
      expect([(await first).status, (await second).status]).toEqual([200, 200]);
      expect(ill.calls).toHaveLength(before);
    },
  );

  it("is not waited for by a client that has gone", async () => {
    const { upstream, waiting } = await held();
    const router = await startRouter({
      table: tableOver([upstream], { maxConcurrency: 1, queue: { size: 5, wait: 5_000 } }),
    });
    const first = post(router, hello);
    await until(() => waiting.length === 1);
    const abandoned = new AbortController();
    const second = fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify(hello),
      signal: abandoned.signal,
    }).catch(() => "left");
    await until(() => router.decisions.length === 2);
    await pause(20);
    abandoned.abort();
    expect(await second).toBe("left");
    await router.settled(1);
    // No provider was called, so there is nothing to report.
    expect(router.outcomes[0]).toMatchObject({ terminal: "client_closed", attempts: [] });
    waiting[0]?.();
    await first;
    await pause(30);
    expect(upstream.calls).toHaveLength(1);
  });
});

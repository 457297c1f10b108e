import { describe, expect, it, vi } from "vitest";
import { addKey, startRunning, writeFixture } from "../running/running-server.ts";
import { answerJson, startUpstream, until } from "../support/router.ts";
import { spawnServer, startCollector, type Collector } from "../support/spawned.ts";
import { parseExposition, sumOf } from "./parse-exposition.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

function routesTo(origins: Readonly<Record<string, string>>): object {
  const names = Object.keys(origins);
  return {
    version: 1,
    regions: { world: ["global"] },
    providers: Object.fromEntries(
      Object.entries(origins).map(([name, origin]) => [
        name,
        {
          dialect: "openai-chat",
          base_url: `${origin}/v1`,
          network: "private",
          region: "global",
          auth: "none",
          retention: "none",
          trains_on_data: false,
          ...(name === "theirs" ? {} : { trace_context: true }),
        },
      ]),
    ),
    models: { m: { operations: ["generate"] } },
    endpoints: names.map((name) => ({
      id: name,
      model: "m",
      provider: name,
      upstream_model: `${name}-model`,
    })),
    routes: {
      "with-fallback": { primary: "ill", fallbacks: ["well"] },
      theirs: { primary: "theirs" },
    },
    workspaces: {
      w: {
        tier: "t",
        approve: { routes: ["with-fallback", "theirs"], regions: ["world"], providers: names },
      },
    },
  };
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

function spansOf({ posts }: Collector): readonly OtlpSpan[] {
  return posts
    .filter(({ path }) => path === "/v1/traces")
    .flatMap(({ body }) => {
      const sent: { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] } = JSON.parse(body);
      return sent.resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) => spans),
      );
    });
}

function attributesOf({ attributes }: OtlpSpan): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

function askAt(
  url: string,
  key: string,
  model: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "my-secret-prompt" }] }),
  });
}

/** A server in this process. Exporters read the process's own environment when they are made. */
async function startHere(
  origins: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
) {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const fixture = writeFixture("", () => routesTo(origins));
  const server = await startRunning(fixture, {}, {}, environment);
  vi.unstubAllEnvs();
  const { text } = await addKey(server.store, "w");
  return { server, ask: askAt.bind(null, server.url, text) };
}

const FAST = { OTEL_BSP_SCHEDULE_DELAY: "50", OTEL_METRIC_EXPORT_INTERVAL: "200" };

describe("OTLP", () => {
  it("continues the client's trace to providers that may get it, and exports to the collector", async () => {
    const well = await startUpstream((response) => answerJson(response));
    const ill = await startUpstream((response) => answerJson(response, { error: {} }, 503));
    const theirs = await startUpstream((response) => answerJson(response));
    const collector = await startCollector();
    const server = await spawnServer(
      routesTo({ ill: ill.url, well: well.url, theirs: theirs.url }),
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_SERVICE_NAME: "router-under-test",
        ...FAST,
      },
    );
    const sent = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "vendor=client-state" };
    const answer = await askAt(server.url, server.key, "with-fallback", sent);
    expect(answer.status).toBe(200);
    const own = await askAt(server.url, server.key, "theirs");
    expect(own.status).toBe(200);
    expect((await askAt(server.url, server.key, "no-such")).status).toBe(404);
    await until(() => spansOf(collector).length >= 8, 30_000);
    const spans = spansOf(collector);
    const ofTrace = spans.filter(({ traceId }) => traceId === TRACE);
    const request = ofTrace.find(({ parentSpanId }) => parentSpanId === SPAN);
    expect(request).toMatchObject({ name: "chat.completions with-fallback", kind: 2 });
    if (request === undefined) throw new Error("no span of the request");
    expect(attributesOf(request)).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "with-fallback",
      "gen_ai.provider.name": "well",
      "gen_ai.usage.input_tokens": 5,
      "gen_ai.usage.output_tokens": 6,
      "gen_ai.response.finish_reasons": { values: [{ stringValue: "stop" }] },
      "http.response.status_code": 200,
      "signalbox.request_id": answer.headers.get("x-request-id"),
      "signalbox.terminal": "completed",
      "signalbox.workspace": "w",
    });
    const children = ofTrace.filter(({ parentSpanId }) => parentSpanId === request.spanId);
    expect(children.map(({ name }) => name).toSorted()).toEqual([
      "chat ill-model",
      "chat well-model",
      "decide",
    ]);
    const [failed] = children.filter(({ name }) => name === "chat ill-model");
    const [good] = children.filter(({ name }) => name === "chat well-model");
    if (failed === undefined || good === undefined) throw new Error("no spans of calls");
    expect(failed).toMatchObject({ kind: 3, status: { code: 2 } });
    expect(attributesOf(failed)).toMatchObject({
      "error.type": "overloaded",
      "http.response.status_code": 503,
    });
    for (const child of children) {
      expect(BigInt(child.startTimeUnixNano)).toBeGreaterThanOrEqual(
        BigInt(request.startTimeUnixNano),
      );
    }
    // Each call names its own span; the client's state goes with it.
    expect(ill.calls[0]?.headers.traceparent).toBe(`00-${TRACE}-${failed.spanId}-01`);
    expect(well.calls[0]?.headers.traceparent).toBe(`00-${TRACE}-${good.spanId}-01`);
    expect(well.calls[0]?.headers.tracestate).toBe("vendor=client-state");
    expect(theirs.calls[0]?.headers).not.toHaveProperty("traceparent");
    expect(theirs.calls[0]?.headers).not.toHaveProperty("tracestate");
    // The log knows the trace too.
    const lines = server.stdout().split("\n").slice(0, -1);
    const line = lines
      .map((one): Record<string, unknown> => JSON.parse(one))
      .find(({ event }) => event === "request");
    expect(line?.trace_id).toBe(TRACE);
    await until(
      () =>
        collector.posts.some(
          ({ path, body }) => path === "/v1/metrics" && body.includes("gen_ai.client.token.usage"),
        ),
      10_000,
    );
    const metrics = collector.posts
      .filter(({ path }) => path === "/v1/metrics")
      .map(({ body }) => body)
      .join("\n");
    expect(metrics).toContain("gen_ai.client.operation.duration");
    expect(metrics).toContain("router-under-test");
    expect(await server.stop()).toBe(0);
    const everything = collector.posts.map(({ body }) => body).join("\n");
    for (const secret of ["my-secret-prompt", server.key, "client-state", "no-such"])
      expect(everything).not.toContain(secret);
  });

  it("fails no request and uses bounded memory while the collector is down, and counts lost spans", async () => {
    const well = await startUpstream((response) => answerJson(response));
    const { server, ask } = await startHere(
      { ill: well.url, well: well.url, theirs: well.url },
      {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:9/v1/traces",
        OTEL_BSP_MAX_QUEUE_SIZE: "8",
        ...FAST,
      },
    );
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask("theirs")));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const lost = async (): Promise<number> => {
      const page = await (await fetch(`${server.adminUrl}/metrics`)).text();
      return sumOf(parseExposition(page), "signalbox_spans_lost_total");
    };
    await expect.poll(lost).toBeGreaterThanOrEqual(100);
    const begun = performance.now();
    await server.close();
    expect(performance.now() - begun).toBeLessThan(8_000);
  });

  it("samples as configured", async () => {
    const well = await startUpstream((response) => answerJson(response));
    const collector = await startCollector();
    const { server, ask } = await startHere(
      { ill: well.url, well: well.url, theirs: well.url },
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_SAMPLER: "parentbased_always_off",
        ...FAST,
      },
    );
    await ask("with-fallback");
    await ask("with-fallback", { traceparent: `00-${TRACE}-${SPAN}-01` });
    await until(() => spansOf(collector).length >= 3, 30_000);
    await server.close();
    expect(new Set(spansOf(collector).map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    expect(well.calls[0]?.headers.traceparent).toMatch(/-00$/);
  });

  it("the client's trace is forwarded unchanged without a collector", async () => {
    const well = await startUpstream((response) => answerJson(response));
    const { ask } = await startHere({ ill: well.url, well: well.url, theirs: well.url });
    const traceparent = `00-${TRACE}-${SPAN}-01`;
    await ask("with-fallback", { traceparent });
    await ask("with-fallback", { traceparent: "00-broken" });
    expect(well.calls[0]?.headers.traceparent).toBe(traceparent);
    expect(well.calls[1]?.headers).not.toHaveProperty("traceparent");
  });
});

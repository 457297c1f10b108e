import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import type { ProviderRow, RoutingTable } from "../../src/canon/table.ts";
import { AnswerBytes } from "../../src/dialects/unary/answer-bytes.ts";
import {
  answerJson,
  errorOf,
  startRouter,
  startUpstream,
  until,
  type Router,
  type Upstream,
  type UpstreamCall,
} from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";
import { evidenceOf } from "../support/evidence-of.ts";

/** A vector of three numbers that only this text has. */
function vectorOf(text: string): readonly number[] {
  let hash = 7;
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return [hash / 1_000_003, -0.5, 0.25];
}

function base64Of(text: string): string {
  return Buffer.from(Float32Array.from(vectorOf(text)).buffer).toString("base64");
}

interface Requested {
  readonly input: string | readonly string[];
  readonly encoding_format?: string;
  readonly [name: string]: unknown;
}

function requestedOf(call: UpstreamCall): Requested {
  return JSON.parse(call.body);
}

function inputsOf(call: UpstreamCall): readonly string[] {
  const { input } = requestedOf(call);
  return typeof input === "string" ? [input] : input;
}

/** What OpenAI would answer. */
function embedded(call: UpstreamCall): object {
  const base64 = requestedOf(call).encoding_format === "base64";
  const data = inputsOf(call).map((text, index) => ({
    object: "embedding",
    index,
    embedding: base64 ? base64Of(text) : vectorOf(text),
  }));
  return {
    object: "list",
    data,
    model: "vectors-1",
    usage: { prompt_tokens: data.length * 2, total_tokens: data.length * 2 },
  };
}

function answerVectors(response: ServerResponse, call: UpstreamCall): void {
  answerJson(response, embedded(call));
}

function vectorTable(
  upstreams: readonly Upstream[],
  batch: number | null = null,
  more: Partial<ProviderRow> = {},
): RoutingTable {
  const names = upstreams.map((_, index) => `p${index}`);
  return table({
    providers: upstreams.map(({ url }, index) =>
      provider(`p${index}`, { baseUrl: `${url}/v1`, ...more }),
    ),
    models: [
      model("m", {
        operations: ["embed"],
        dimensions: [3],
        contextWindow: 8_000,
        capabilities: [],
      }),
    ],
    endpoints: names.map((name) =>
      endpoint(`e-${name}`, { provider: name, batch: { inputs: batch, tokens: null } }),
    ),
    routes: [
      route(
        "r",
        "e-p0",
        names.slice(1).map((name) => `e-${name}`),
        { operations: ["embed"] },
      ),
    ],
    workspaces: [workspace("w", { providers: names, dimensions: [3], contextWindow: 8_000 })],
  });
}

function embed(
  router: Router,
  body: object,
  headers: Record<string, string> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${router.url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "r", ...body }),
    signal,
  });
}

interface EmbeddingList {
  readonly data: readonly { readonly index: number; readonly embedding: unknown }[];
  readonly usage: object;
  readonly errors?: readonly { readonly index: number; readonly code: string }[];
}

async function listOf(response: Response): Promise<EmbeddingList> {
  expect(response.status).toBe(200);
  return JSON.parse(await response.text());
}

const TEXTS = Array.from({ length: 25 }, (_, index) => `text ${index}`);

describe("embeddings", () => {
  it("name the member that the provider refuses, where the caller has sent it", async () => {
    const refusing = (param: string): Promise<Upstream> =>
      startUpstream((response) =>
        answerJson(response, { error: { code: "unsupported_parameter", param } }, 400),
      );
    for (const [param, shown] of [
      ["dimensions", "dimensions"],
      ["a_secret_text", null],
    ] as const) {
      const router = await startRouter({ table: vectorTable([await refusing(param)]) });
      const response = await embed(router, { input: "a", dimensions: 3 });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({
        code: "unsupported_parameter",
        param: shown,
      });
    }
  });

  describe("whose answer has been sent", () => {
    /** Whether the memory of each answer that `free` was called for is gone. */
    async function freed(
      upstream: Upstream,
      headers: readonly Record<string, string>[],
    ): Promise<readonly boolean[]> {
      const free = vi.spyOn(AnswerBytes.prototype, "free");
      const router = await startRouter({ table: vectorTable([upstream]) });
      const input = Array.from({ length: 2_000 }, (_, index) => `text ${index}`);
      for (const own of headers)
        expect((await listOf(await embed(router, { input }, own))).data).toHaveLength(2_000);
      await until(() => free.mock.contexts.length > 0);
      const answers = new Set(free.mock.contexts.filter((answer) => answer instanceof AnswerBytes));
      // Node refuses to give memory back from which it serves small buffers.
      expect(free.mock.results.every(({ type }) => type === "return")).toBe(true);
      free.mockRestore();
      return [...answers].map(({ pieces }) => pieces.every(({ length }) => length === 0));
    }

    it("free its memory", async () => {
      expect(await freed(await startUpstream(answerVectors), [{}])).toEqual([true]);
    });

    it("keep memory that a decompressor shares out", async () => {
      const upstream = await startUpstream((response, call) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
        response.end(gzipSync(JSON.stringify(embedded(call))));
      });
      expect(await freed(upstream, [{}])).toEqual([false]);
    });
  });

  it("are relayed byte for byte where the provider's answer matches the request", async () => {
    const upstream = await startUpstream(answerVectors);
    const router = await startRouter({ table: vectorTable([upstream]) });
    const response = await embed(router, { input: ["a", "b"], user: "somebody" });
    const [call] = upstream.calls;
    if (call === undefined) throw new Error("no call");
    expect(await response.text()).toBe(JSON.stringify(embedded(call)));
    expect(call.path).toBe("/v1/embeddings");
    expect(requestedOf(call)).toEqual({ model: "upstream-e-p0", input: ["a", "b"] });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-signalbox-route": "r; endpoint=e-p0; provider=p0; region=eu-west",
      "x-signalbox-attempts": "1",
      "content-type": "application/json",
    });
    await router.settled(1);
    expect(router.decisions[0]).toMatchObject({
      operation: "embeddings",
      outcome: "route",
      route: "r",
    });
    expect(router.outcomes[0]).toMatchObject({
      terminal: "completed",
      status: 200,
      inputTokens: 4,
      outputTokens: null,
      stripped: ["user"],
      attempts: [{ endpoint: "e-p0", failure: null, status: 200, calls: 1, translated: false }],
    });
    expect(JSON.stringify([router.decisions, router.outcomes])).not.toContain("somebody");
  });

  it("of a batch that is sent in parts are returned whole, in order, in both encodings", async () => {
    const upstream = await startUpstream(async (response, call) => {
      // Later parts answer first.
      await new Promise((resolve) => {
        setTimeout(resolve, 20 - Number(inputsOf(call)[0]?.split(" ")[1]) / 2);
      });
      answerVectors(response, call);
    });
    const router = await startRouter({ table: vectorTable([upstream], 4) });
    const numbers = await listOf(await embed(router, { input: TEXTS }));
    expect(
      upstream.calls.map((call) => inputsOf(call).length).toSorted((left, right) => left - right),
    ).toEqual([1, 4, 4, 4, 4, 4, 4]);
    expect(numbers.data).toEqual(
      TEXTS.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) })),
    );
    expect(numbers.usage).toEqual({ prompt_tokens: 50, total_tokens: 50 });
    const base64 = await listOf(await embed(router, { input: TEXTS, encoding_format: "base64" }));
    expect(base64.data.map(({ embedding }) => embedding)).toEqual(TEXTS.map(base64Of));
  });

  it("are cut by the caller's own bound too", async () => {
    const upstream = await startUpstream(answerVectors);
    const router = await startRouter({ table: vectorTable([upstream], 20) });
    await listOf(await embed(router, { input: TEXTS }, { "x-max-batch-size": "10" }));
    expect(upstream.calls.map((call) => inputsOf(call).length)).toEqual([10, 10, 5]);
    const refused = await embed(router, { input: TEXTS }, { "x-max-batch-size": "0" });
    expect(await errorOf(refused)).toMatchObject({ code: "invalid_max_batch_size" });
  });

  it("are put in the order of the request where the provider permutes them", async () => {
    const upstream = await startUpstream((response, call) => {
      const list = JSON.parse(JSON.stringify(embedded(call)));
      answerJson(response, { ...list, data: list.data.toReversed() });
    });
    const router = await startRouter({ table: vectorTable([upstream]) });
    const { data } = await listOf(await embed(router, { input: ["a", "b", "c"] }));
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(data.map(({ embedding }) => embedding)).toEqual(["a", "b", "c"].map(vectorOf));
  });

  it("fall back as parts: answers of the first endpoint are kept", async () => {
    const first = await startUpstream((response, call) => {
      if (inputsOf(call).includes("text 9"))
        answerJson(response, { error: { message: "down" } }, 500);
      else answerVectors(response, call);
    });
    const second = await startUpstream(answerVectors);
    const router = await startRouter({ table: vectorTable([first, second], 5) });
    const { data } = await listOf(await embed(router, { input: TEXTS }));
    expect(data.map(({ embedding }) => embedding)).toEqual(TEXTS.map(vectorOf));
    expect(first.calls).toHaveLength(5);
    expect(second.calls.map((call) => inputsOf(call))).toEqual([TEXTS.slice(5, 10)]);
  });

  it.each([
    ["short", (data: object[]) => data.slice(1), "result_count"],
    ["long", (data: object[]) => [...data, ...data], "result_count"],
    [
      "with an index twice",
      (data: object[]) => data.map((item) => ({ ...item, index: 0 })),
      "index_repeated",
    ],
    [
      "with an index out of range",
      (data: object[]) => data.map((item, index) => ({ ...item, index: index + 1 })),
      "index_invalid",
    ],
    [
      "with null in a vector",
      (data: object[]) => data.map((item) => ({ ...item, embedding: [1, null, 2] })),
      null,
    ],
    [
      "of another length",
      (data: object[]) => data.map((item) => ({ ...item, embedding: [1, 2] })),
      "dimension_wrong",
    ],
  ])("are never read from an answer that is %s", async (_name, damage, code) => {
    const upstream = await startUpstream((response, call) => {
      const list = JSON.parse(JSON.stringify(embedded(call)));
      answerJson(response, { ...list, data: damage(list.data) });
    });
    const router = await startRouter({ table: vectorTable([upstream]) });
    const response = await embed(
      router,
      { input: ["secret text", "b"] },
      { "x-max-attempts": "1" },
    );
    expect(response.status).toBe(502);
    const error = await errorOf(response);
    if (code !== null) expect(error.code).toBe(code);
    expect(error.message).not.toContain("secret text");
    expect(response.headers.get("x-should-retry")).toBeNull();
  });

  it("name the inputs that have none, and no content", async () => {
    const upstream = await startUpstream((response, call) => {
      if (inputsOf(call).includes("text 9"))
        answerJson(response, { error: { message: "text 9 is bad" } }, 500);
      else answerVectors(response, call);
    });
    const router = await startRouter({ table: vectorTable([upstream], 5) });
    const error = await errorOf(await embed(router, { input: TEXTS }));
    expect(error.message).toContain("Inputs 5 to 9 had no result");
    expect(error.message).not.toContain("text 9");
  });

  it("with on_partial: report are returned with named gaps", async () => {
    const upstream = await startUpstream((response, call) => {
      if (inputsOf(call).includes("text 9"))
        answerJson(response, { error: { message: "text 9 is bad" } }, 500);
      else answerVectors(response, call);
    });
    const router = await startRouter({ table: vectorTable([upstream], 5) });
    const { data, errors } = await listOf(
      await embed(router, { input: TEXTS, on_partial: "report" }),
    );
    const present = TEXTS.map((_, index) => index).filter((index) => index < 5 || index > 9);
    expect(data.map(({ index }) => index)).toEqual(present);
    expect(data.map(({ embedding }) => embedding)).toEqual(
      present.map((index) => vectorOf(TEXTS[index] ?? "")),
    );
    expect(errors?.map(({ index, code }) => [index, code])).toEqual(
      [5, 6, 7, 8, 9].map((index) => [index, "upstream_server_error"]),
    );
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "incomplete", status: 200 });
    const whole = await listOf(await embed(router, { input: ["x"], on_partial: "report" }));
    expect(whole.errors).toEqual([]);
  });

  it("are requested for each request of one Idempotency-Key, which no provider gets", async () => {
    const upstream = await startUpstream(answerVectors);
    const router = await startRouter({ table: vectorTable([upstream]) });
    const key = { "idempotency-key": "k" };
    await Promise.all([embed(router, { input: "a" }, key), embed(router, { input: "b" }, key)]);
    expect(upstream.calls.map(({ headers }) => headers["idempotency-key"])).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("that the client has left are cancelled, and recorded with their call", async () => {
    const upstream = await startUpstream(() => {});
    const router = await startRouter({ table: vectorTable([upstream]) });
    const abandoned = new AbortController();
    void embed(router, { input: "a" }, {}, abandoned.signal).catch(() => {});
    await until(() => upstream.calls.length === 1);
    abandoned.abort();
    await router.settled(1);
    await until(() => upstream.calls[0]?.lostAt !== null);
    expect(router.outcomes).toMatchObject([
      { terminal: "client_closed", attempts: [{ failure: "client_closed", calls: 1 }] },
    ]);
  });

  it("are withheld where the decision cannot be recorded", async () => {
    const upstream = await startUpstream(answerVectors);
    const router = await startRouter({
      table: vectorTable([upstream]),
      runtime: { evidence: evidenceOf(() => Promise.reject(new Error("disk"))) },
    });
    const response = await embed(router, { input: "a" });
    expect(response.status).toBe(503);
    expect(await errorOf(response)).toMatchObject({ code: "evidence_unavailable" });
  });

  it("are not fetched before the record of a workspace with record: before_call", async () => {
    const upstream = await startUpstream(answerVectors);
    const disk = Promise.withResolvers<void>();
    const base = vectorTable([upstream]);
    const workspaces = Object.fromEntries(
      Object.entries(base.workspaces).map(([id, row]) => [
        id,
        { ...row, record: "before_call" as const },
      ]),
    );
    const router = await startRouter({
      table: { ...base, workspaces },
      runtime: { evidence: evidenceOf(() => disk.promise) },
    });
    const response = embed(router, { input: "a" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(upstream.calls).toEqual([]);
    disk.resolve();
    expect((await response).status).toBe(200);
  });

  it("that were paid for and withheld are counted", async () => {
    const upstream = await startUpstream((response, call) => {
      if (inputsOf(call).includes("text 24")) answerJson(response, {}, 400);
      else answerVectors(response, call);
    });
    const router = await startRouter({ table: vectorTable([upstream], 5) });
    const response = await embed(router, { input: TEXTS });
    expect(response.status).toBe(400);
    expect(response.headers.get("x-signalbox-attempts")).toBe("5");
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({ terminal: "failed", inputTokens: 40 });
  });

  it("that were never started are no calls", async () => {
    const upstream = await startUpstream(() => {});
    const router = await startRouter({ table: vectorTable([upstream], 1) });
    const body = { input: TEXTS, on_partial: "report" };
    expect((await embed(router, body, { "x-request-timeout-ms": "1000" })).status).toBe(504);
    await router.settled(1);
    expect(upstream.calls).toHaveLength(4);
    expect(router.outcomes[0]?.attempts).toMatchObject([{ failure: "timeout_total", calls: 4 }]);
  });

  it("are aborted when the client disconnects: the provider's connection closes", async () => {
    const upstream = await startUpstream(() => {});
    const router = await startRouter({ table: vectorTable([upstream], 1) });
    const abandoned = new AbortController();
    const sent = fetch(`${router.url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ model: "r", input: TEXTS }),
      signal: abandoned.signal,
    }).catch(() => "left");
    await until(() => upstream.calls.length === 4);
    const leftAt = performance.now();
    abandoned.abort();
    expect(await sent).toBe("left");
    await until(() => upstream.calls.every(({ lostAt }) => lostAt !== null));
    expect(performance.now() - leftAt).toBeLessThan(1_500);
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({
      terminal: "client_closed",
      status: 499,
      attempts: [{ failure: "client_closed", calls: 4 }],
    });
    expect(upstream.calls).toHaveLength(4);
  });

  it("end at the caller's deadline", async () => {
    const upstream = await startUpstream(() => {});
    const router = await startRouter({ table: vectorTable([upstream]) });
    const response = await embed(router, { input: "a" }, { "x-request-timeout-ms": "80" });
    expect(response.status).toBe(504);
    expect(await errorOf(response)).toMatchObject({ code: "upstream_timeout_total" });
  });

  it.each([
    [{ input: "" }, "input", "empty_input"],
    [{ input: ["a", ""] }, "input[1]", "empty_input"],
    [{ input: [] }, "input", "invalid_value"],
    [{ input: "a", dimensions: 3, output_dimension: 4 }, "output_dimension", "invalid_value"],
    [{ input: "a", encoding_format: "int8" }, "encoding_format", "invalid_value"],
    [{ input: "a", output_dtype: "binary" }, "output_dtype", "invalid_value"],
    [{ input: "a", input_type: "query" }, "input_type", "feature_not_supported"],
    [{ input: "a", dimension: 3 }, "dimension", "unknown_field"],
    [{ input: "a", stream: true }, "stream", "unknown_field"],
  ])("refuse %j by name", async (body, param, code) => {
    const upstream = await startUpstream(answerVectors);
    const router = await startRouter({ table: vectorTable([upstream]) });
    const response = await embed(router, body);
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ param, code });
    expect(upstream.calls).toHaveLength(0);
  });

  it("of a length that is not approved are denied", async () => {
    const upstream = await startUpstream(answerVectors);
    const router = await startRouter({ table: vectorTable([upstream]) });
    const response = await embed(router, { input: "a", dimensions: 7 });
    expect(response.status).toBe(403);
    expect(await errorOf(response)).toMatchObject({
      code: "DIMENSIONS_NOT_APPROVED",
      param: "dimensions",
    });
  });
});

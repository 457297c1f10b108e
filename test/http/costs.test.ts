import type { ServerResponse } from "node:http";
import { describe, expect, it, vi } from "vitest";
import type { Price, RoutingTable } from "../../src/canon/table.ts";
import type { OutcomeRecord } from "../../src/evidence/record.ts";
import { readOutcome } from "../../src/store/stored-evidence.ts";
import {
  ANSWER,
  answerJson,
  hello,
  post,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
  type Router,
} from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";
import { limited } from "./limited-router.ts";

const PRICE: Price = { input: 1, output: 10, request: 0, cachedInput: 0.1, cacheWrite: 2 };
const COUNTED = {
  ...ANSWER,
  usage: {
    prompt_tokens: 100,
    completion_tokens: 7,
    total_tokens: 107,
    prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
  },
};
/** 40 fresh, 40 cached and 20 written tokens of input, and 7 of output. */
const NANO_USD = (40 + 4 + 40 + 70) * 1_000;

/** Milliseconds. Longer than a busy machine needs for a small answer. */
const PATIENT = { connect: 9_000, firstByte: 9_000, idle: 9_000, firstToken: 9_000, total: 9_000 };

function priced(base: RoutingTable, prices: Readonly<Record<string, Price | null>>): RoutingTable {
  const endpoints = Object.entries(base.endpoints).map(([id, row]) => [
    id,
    { ...row, price: prices[id] ?? null },
  ]);
  return { ...base, endpoints: Object.fromEntries(endpoints) };
}

async function onlyOutcome(router: Router): Promise<OutcomeRecord> {
  await router.settled(1);
  const [outcome] = router.outcomes;
  if (outcome === undefined) throw new Error("no outcome");
  return outcome;
}

function call(router: Router, path: string, body: unknown): Promise<Response> {
  return fetch(`${router.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function chatting(
  answer: (response: ServerResponse) => void,
  price: Price | null,
): Promise<Router> {
  return startRouter({
    table: priced(tableOver([await startUpstream(answer)], { timeouts: PATIENT }), { a: price }),
  });
}

describe("the cost of a request in the evidence", () => {
  it("is known of a stream that its client left, from the counts at its beginning and the characters that came", async () => {
    const text = "text ".repeat(24);
    const events = [
      {
        type: "message_start",
        message: {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    ];
    const upstream = await startUpstream((response) => {
      startSse(response);
      for (const event of events)
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    });
    const base = priced(tableOver([upstream], { timeouts: PATIENT }), { a: PRICE });
    const { a } = base.endpoints;
    if (a === undefined) throw new Error("no endpoint");
    const router = await startRouter({
      table: { ...base, endpoints: { a: endpoint("a", { ...a, dialect: "anthropic-messages" }) } },
    });
    const response = await call(router, "/api/v1/messages", {
      ...hello,
      max_tokens: 100,
      stream: true,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const outcome = await onlyOutcome(router);
    expect(outcome).toMatchObject({
      terminal: "client_closed",
      inputTokens: 100,
      cacheReadTokens: 40,
      outputTokens: 40,
      estimated: true,
      costNanoUsd: (60 + 4 + 400) * 1_000,
    });
  });

  it("is computed from the provider's counts, with cache rates and the price of one call", async () => {
    const router = await chatting((response) => answerJson(response, COUNTED), {
      ...PRICE,
      request: 0.5,
    });
    await (await post(router, hello)).text();
    expect(await onlyOutcome(router)).toMatchObject({
      inputTokens: 100,
      cacheReadTokens: 40,
      cacheWriteTokens: 20,
      costNanoUsd: NANO_USD + 500_000_000,
    });
  });

  it("is read from the store unchanged, and is unknown in an older record", async () => {
    const router = await chatting((response) => answerJson(response, COUNTED), PRICE);
    await (await post(router, hello)).text();
    const outcome = await onlyOutcome(router);
    expect(readOutcome(JSON.stringify(outcome))?.costNanoUsd).toBe(NANO_USD);
    const { costNanoUsd: _, cacheWriteTokens: __, ...older } = outcome;
    expect(readOutcome(JSON.stringify(older))?.costNanoUsd).toBeUndefined();
    expect(readOutcome(JSON.stringify({ ...outcome, costNanoUsd: "1" }))).toBeNull();
  });

  it.each([
    [
      "null without a price",
      null,
      (response: ServerResponse) => answerJson(response, COUNTED),
      null,
    ],
    [
      "null without a count",
      PRICE,
      (response: ServerResponse) => answerJson(response, { ...ANSWER, usage: undefined }),
      null,
    ],
    [
      "0 at a price of 0",
      { input: 0, output: 0, request: 0 },
      (response: ServerResponse) => answerJson(response, COUNTED),
      0,
    ],
    [
      "absent where the provider refused",
      PRICE,
      (response: ServerResponse) => answerJson(response, {}, 400),
      undefined,
    ],
  ])("is %s", async (_, price, answer, cost) => {
    const router = await chatting(answer, price);
    await (await post(router, hello)).text();
    expect((await onlyOutcome(router)).costNanoUsd).toBe(cost);
  });

  it("is the amount that the budget is charged", async () => {
    const upstream = await startUpstream((response) => answerJson(response, COUNTED));
    const base = priced(tableOver([upstream], { timeouts: PATIENT }), { a: PRICE });
    const { router, quotas } = await limited(base, { budget: { usd: 1, per: "day" } });
    const settle = vi.spyOn(quotas, "settle");
    await (await post(router, hello)).text();
    expect((await onlyOutcome(router)).costNanoUsd).toBe(NANO_USD);
    expect(settle.mock.calls[0]?.[1].micro_usd).toBe(NANO_USD / 1_000);
  });

  it("of a batch is the sum of its parts, each at the price of the endpoint that answered it", async () => {
    const embeds = (refused: string) =>
      startUpstream((response, { body }) => {
        if (body.includes(refused)) return answerJson(response, {}, 500);
        const data = [{ object: "embedding", index: 0, embedding: [0.5, 0.5, 0.5] }];
        answerJson(response, {
          object: "list",
          data,
          model: "v",
          usage: { prompt_tokens: 7, total_tokens: 7 },
        });
      });
    const upstreams = [await embeds("elsewhere"), await embeds("nothing")];
    const rows = upstreams.map(({ url }, index) =>
      provider(`p${index}`, { baseUrl: `${url}/v1`, timeouts: PATIENT }),
    );
    const router = await startRouter({
      table: table({
        providers: rows,
        models: [
          model("m", {
            operations: ["embed"],
            dimensions: [3],
            contextWindow: 8_000,
            capabilities: [],
          }),
        ],
        endpoints: rows.map(({ id }, index) =>
          endpoint(`e${index}`, {
            provider: id,
            batch: { inputs: 1, tokens: null },
            price: { input: index === 0 ? 0.02 : 0.05, output: 0, request: 0 },
          }),
        ),
        routes: [route("r", "e0", ["e1"], { operations: ["embed"] })],
        workspaces: [
          workspace("w", { providers: ["p0", "p1"], dimensions: [3], contextWindow: 8_000 }),
        ],
      }),
    });
    expect(
      (await call(router, "/v1/embeddings", { model: "r", input: ["a", "b", "elsewhere"] })).status,
    ).toBe(200);
    expect(await onlyOutcome(router)).toMatchObject({
      inputTokens: 21,
      costNanoUsd: 140 + 140 + 350,
    });
  });

  it("of a rerank is computed from the provider's count of searches", async () => {
    const upstream = await startUpstream((response) =>
      answerJson(response, {
        id: "1",
        results: [{ index: 0, relevance_score: 0.5 }],
        meta: { billed_units: { search_units: 3 } },
      }),
    );
    const router = await startRouter({
      table: table({
        providers: [
          provider("p", { dialect: "cohere-chat", baseUrl: upstream.url, timeouts: PATIENT }),
        ],
        models: [model("m", { operations: ["rerank"], capabilities: [] })],
        endpoints: [
          endpoint("e", {
            dialect: "cohere-chat",
            price: { input: 0, output: 0, request: 0, search: 2 },
          }),
        ],
        routes: [route("r", "e", [], { operations: ["rerank"] })],
      }),
    });
    const requested = { model: "r", query: "q", documents: ["d"] };
    expect((await call(router, "/v1/rerank", requested)).status).toBe(200);
    expect(await onlyOutcome(router)).toMatchObject({ inputTokens: null, costNanoUsd: 6_000_000 });
  });
});

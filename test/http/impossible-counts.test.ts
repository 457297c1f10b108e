import type { ServerResponse } from "node:http";
import { describe, expect, it, vi } from "vitest";
import type { WorkspaceLimits } from "../../src/canon/limits.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import type { OutcomeRecord } from "../../src/evidence/record.ts";
import { EVENT_STREAM } from "../../mock/bedrock-converse/framing.ts";
import { answerJson, startUpstream, type Router, type UpstreamCall } from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";
import { limited } from "./limited-router.ts";

/** Counts as the provider prints them: JSON, or nothing. */
interface Counts {
  readonly input: unknown;
  readonly output: unknown;
  readonly cached?: number;
}

interface Provider {
  readonly whole: (counts: Counts) => object;
  readonly events: (counts: Counts) => readonly (object | string)[];
}

const TEXT = "twenty-six characters long";

const chatUsage = ({ input, output, cached }: Counts): object => ({
  usage: {
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: cached },
  },
});
const responsesUsage = ({ input, output, cached }: Counts): object => ({
  usage: {
    input_tokens: input,
    output_tokens: output,
    input_tokens_details: { cached_tokens: cached },
  },
});
const messagesUsage = ({ input, output, cached }: Counts): object => ({
  usage: { input_tokens: input, output_tokens: output, cache_read_input_tokens: cached },
});
const converseUsage = ({ input, output, cached }: Counts): object => ({
  usage: { inputTokens: input, outputTokens: output, cacheReadInputTokens: cached },
});
const cohereUsage = ({ input, output, cached }: Counts): object => ({
  usage: { tokens: { input_tokens: input, output_tokens: output }, cached_tokens: cached },
});
const geminiUsage = ({ input, output, cached }: Counts): object => ({
  usageMetadata: {
    promptTokenCount: input,
    candidatesTokenCount: output,
    cachedContentTokenCount: cached,
  },
});

const completion = { id: "a", object: "text_completion", created: 1, model: "m" };
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [],
  stop_reason: null,
};
const resource = {
  id: "resp_1",
  object: "response",
  status: "in_progress",
  model: "m",
  output: [],
};
const item = { id: "it_1", type: "message", role: "assistant", status: "in_progress", content: [] };
const part = { type: "output_text", text: TEXT, annotations: [] };
const answered = (counts: Counts): object => ({
  ...resource,
  status: "completed",
  output: [{ ...item, status: "completed", content: [part] }],
  ...responsesUsage(counts),
});

const PROVIDERS = {
  "openai-chat": {
    whole: (counts) => ({
      ...completion,
      choices: [{ index: 0, message: { role: "assistant", content: TEXT }, finish_reason: "stop" }],
      ...chatUsage(counts),
    }),
    events: (counts) => [
      { ...completion, choices: [{ index: 0, delta: { content: TEXT }, finish_reason: null }] },
      { ...completion, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { ...completion, choices: [], ...chatUsage(counts) },
      "[DONE]",
    ],
  },
  "openai-completions": {
    whole: (counts) => ({
      ...completion,
      choices: [{ index: 0, text: TEXT, finish_reason: "stop" }],
      ...chatUsage(counts),
    }),
    events: (counts) => [
      { ...completion, choices: [{ index: 0, text: TEXT, finish_reason: null }] },
      { ...completion, choices: [{ index: 0, text: "", finish_reason: "stop" }] },
      { ...completion, choices: [], ...chatUsage(counts) },
      "[DONE]",
    ],
  },
  "openai-responses": {
    whole: answered,
    events: (counts) => [
      { type: "response.created", response: resource },
      { type: "response.output_item.added", output_index: 0, item },
      {
        type: "response.content_part.added",
        item_id: "it_1",
        output_index: 0,
        content_index: 0,
        part: { ...part, text: "" },
      },
      {
        type: "response.output_text.delta",
        item_id: "it_1",
        output_index: 0,
        content_index: 0,
        delta: TEXT,
      },
      { type: "response.completed", response: answered(counts) },
    ],
  },
  "anthropic-messages": {
    whole: (counts) => ({
      ...message,
      content: [{ type: "text", text: TEXT }],
      stop_reason: "end_turn",
      ...messagesUsage(counts),
    }),
    events: (counts) => [
      {
        type: "message_start",
        message: { ...message, ...messagesUsage({ ...counts, output: 1 }) },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, ...messagesUsage(counts) },
      { type: "message_stop" },
    ],
  },
  "bedrock-converse": {
    whole: (counts) => ({
      output: { message: { role: "assistant", content: [{ text: TEXT }] } },
      stopReason: "end_turn",
      ...converseUsage(counts),
    }),
    events: (counts) => [
      { type: "messageStart", role: "assistant" },
      { type: "contentBlockDelta", contentBlockIndex: 0, delta: { text: TEXT } },
      { type: "contentBlockStop", contentBlockIndex: 0 },
      { type: "messageStop", stopReason: "end_turn" },
      { type: "metadata", ...converseUsage(counts) },
    ],
  },
  "cohere-chat": {
    whole: (counts) => ({
      id: "a",
      message: { role: "assistant", content: [{ type: "text", text: TEXT }] },
      finish_reason: "COMPLETE",
      ...cohereUsage(counts),
    }),
    events: (counts) => [
      { type: "message-start", id: "a", delta: { message: { role: "assistant" } } },
      {
        type: "content-start",
        index: 0,
        delta: { message: { content: { type: "text", text: "" } } },
      },
      { type: "content-delta", index: 0, delta: { message: { content: { text: TEXT } } } },
      { type: "content-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "COMPLETE", ...cohereUsage(counts) } },
    ],
  },
  gemini: {
    whole: (counts) => ({
      candidates: [
        { index: 0, content: { role: "model", parts: [{ text: TEXT }] }, finishReason: "STOP" },
      ],
      ...geminiUsage(counts),
    }),
    events: (counts) => [
      { candidates: [{ index: 0, content: { role: "model", parts: [{ text: TEXT }] } }] },
      { candidates: [{ index: 0, finishReason: "STOP" }], ...geminiUsage(counts) },
    ],
  },
} satisfies Readonly<Record<string, Provider>>;

const printed = (value: object | string): string =>
  typeof value === "string" ? value : JSON.stringify(value);

function frameOf(dialect: string, event: object | string): string | Uint8Array {
  const type = typeof event === "object" && "type" in event ? String(event.type) : null;
  if (dialect === "bedrock-converse") {
    return EVENT_STREAM.encode({ name: type, data: printed(event), purpose: "content" });
  }
  return `${type === null ? "" : `event: ${type}\n`}data: ${printed(event)}\n\n`;
}

const CONVERSATION = { messages: [{ role: "user", content: "Hello" }], max_tokens: 50 };

const SURFACES = {
  "/v1/chat/completions": CONVERSATION,
  "/v1/responses": { input: "Hello", max_output_tokens: 50 },
  "/api/v1/messages": CONVERSATION,
  "/v1/completions": { prompt: "Hello", max_tokens: 50 },
};

function tableOf(url: string, dialect: string): RoutingTable {
  const operations = ["generate", "embed", "rerank", "moderate"] as const;
  return table({
    providers: [provider("p", { baseUrl: `${url}/v1`, dialect })],
    models: [model("m", { operations, dimensions: [3], capabilities: [] })],
    endpoints: [endpoint("a", { dialect, price: { input: 1, output: 2, request: 0, search: 2 } })],
    routes: [route("r", "a", [], { operations })],
    workspaces: [workspace("w", { providers: ["p"], dimensions: [3], contextWindow: 100_000 })],
  });
}

function startStream(response: ServerResponse, dialect: string): void {
  const type = dialect === "bedrock-converse" ? EVENT_STREAM.contentType : "text/event-stream";
  response.writeHead(200, { "content-type": type });
}

interface Ended {
  readonly outcome: OutcomeRecord | undefined;
  /** What the limits were charged. */
  readonly charged: { readonly tokens: number; readonly micro_usd: number } | undefined;
}

/**
 * What evidence and limits have of a request is the same, where evidence has it; unknown counts are
 * charged as reserved.
 */
function expectSameCharge(outcome: Ended["outcome"], charged: Ended["charged"], of: string): void {
  const { inputTokens: input, outputTokens: output } = outcome ?? {
    inputTokens: null,
    outputTokens: null,
  };
  if (input === null || output === null) {
    expect(outcome?.costNanoUsd, of).toBeNull();
    expect(charged?.tokens, of).toBeLessThan(1_000);
    expect(charged?.tokens, of).toBeGreaterThan(7);
  } else {
    expect(outcome?.costNanoUsd, of).toBe((input + 2 * output) * 1_000);
    expect(charged, of).toMatchObject({ tokens: input + output, micro_usd: input + 2 * output });
  }
}

/** One request of each kind through a router with limits, and what came of each. */
async function requests(
  dialect: string,
  path: string,
  body: object,
  answers: readonly ((response: ServerResponse, call: UpstreamCall) => void)[],
  read: (router: Router, path: string, body: object) => Promise<void> = readWhole,
  limits: Partial<WorkspaceLimits> = { tokensPerMinute: 90_000_000 },
): Promise<readonly Ended[]> {
  let number = 0;
  const upstream = await startUpstream((response, call) => answers[number]?.(response, call));
  const { router, quotas } = await limited(tableOf(upstream.url, dialect), limits);
  const settle = vi.spyOn(quotas, "settle");
  const ended: Ended[] = [];
  for (number = 0; number < answers.length; number += 1) {
    settle.mockClear();
    await read(router, path, body);
    await router.settled(number + 1);
    ended.push({ outcome: router.outcomes[number], charged: settle.mock.calls[0]?.[1] });
  }
  return ended;
}

async function readWhole(router: Router, path: string, body: object): Promise<void> {
  const answer = await begin(router, path, body, new AbortController());
  await answer.text();
  expect(answer.status).toBe(200);
}

function begin(
  { url }: Router,
  path: string,
  body: object,
  { signal }: AbortController,
): Promise<Response> {
  const headers = { authorization: "Bearer good", "content-type": "application/json" };
  return fetch(`${url}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: "r", ...body }),
    signal,
  });
}

/** Tokens that bodies with `Hello` are likely to have, by their characters. */
const LIKELY: number = expect.closeTo(18.5, -1);
const LIKELY_OUTPUT = Math.ceil(TEXT.length / 3);

const DIALECTS = keysOf(PROVIDERS);
const CASES = DIALECTS.flatMap((dialect) =>
  keysOf(SURFACES)
    .filter((path) => (path === "/v1/completions") === (dialect === "openai-completions"))
    .map((path) => [dialect, path] as const),
);

function keysOf<Key extends string>(object: Readonly<Record<Key, unknown>>): readonly Key[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a literal has no other keys
  return Object.keys(object) as Key[];
}

describe("counts that cannot be right", () => {
  it.each(CASES.flatMap((each) => [[...each, false] as const, [...each, true] as const]))(
    "are estimated or unknown, alike in evidence and limits: %s at %s, stream %s",
    async (dialect, path, stream) => {
      const made = stream ? LIKELY_OUTPUT : 50;
      const isBeside = dialect === "anthropic-messages" || dialect === "bedrock-converse";
      const rows: readonly (readonly [Counts, number | null, number | null, boolean?])[] = [
        [{ input: 11, output: 7 }, 11, 7, false],
        [{ input: 11, output: 7, cached: 999_999_999 }, isBeside ? LIKELY : 11, 7],
        [{ input: 11, output: 51 }, 11, made],
        [{ input: 11, output: 900_000 }, 11, made],
        [{ input: 900_000_000, output: 7 }, LIKELY, 7],
        [{ input: 0, output: 7 }, LIKELY, 7],
        ...[-1, 0.5, 1e308, "7", undefined].flatMap((count) => [
          [{ input: 11, output: count }, 11, null] as const,
          [{ input: count, output: 7 }, null, 7] as const,
        ]),
      ];
      const { whole, events } = PROVIDERS[dialect];
      const answers = rows.map(([counts]) => (response: ServerResponse) => {
        if (!stream) return answerJson(response, whole(counts));
        startStream(response, dialect);
        for (const event of events(counts)) response.write(frameOf(dialect, event));
        response.end();
      });
      const ended = await requests(dialect, path, { ...SURFACES[path], stream }, answers);
      for (const [index, [counts, input, output, estimated = true]] of rows.entries()) {
        const { outcome, charged } = ended[index] ?? {};
        const of = JSON.stringify(counts);
        expect(outcome, of).toMatchObject({
          terminal: "completed",
          inputTokens: input,
          outputTokens: output,
        });
        expect(outcome?.cacheReadTokens ?? 0, of).toBe(0);
        expect(outcome?.estimated ?? false, of).toBe(estimated);
        expectSameCharge(outcome, charged, of);
      }
    },
  );

  const VECTORS = {
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: [0.5, 0.5, 0.5] }],
  };
  const ranked = { results: [{ index: 0, relevance_score: 0.5 }] };
  it.each([
    [
      "cohere-chat",
      "/v1/rerank",
      { query: "Hello", documents: ["a"] },
      (input: unknown) => ({
        ...ranked,
        meta: { billed_units: { search_units: 1 }, tokens: { input_tokens: input } },
      }),
      2_000,
    ],
    [
      "openai-chat",
      "/v1/embeddings",
      { input: "Hello, how are you today, my friend?" },
      (input: unknown) => ({ ...VECTORS, usage: { prompt_tokens: input } }),
      0,
    ],
  ])(
    "are estimated or unknown, alike in evidence and limits: %s at %s",
    async (dialect, path, body, answer, searched) => {
      const rows = [
        [11, 11],
        [900_000_000, LIKELY],
        [2 ** 50, LIKELY],
        ...[-1, 0.5, 1e308, "7"].map((count) => [count, null]),
      ];
      const answers = rows.map(
        ([count]) =>
          (response: ServerResponse) =>
            answerJson(response, answer(count)),
      );
      const ended = await requests(dialect, path, body, answers);
      for (const [index, [count, input]] of rows.entries()) {
        const { outcome, charged } = ended[index] ?? {};
        expect(outcome, String(count)).toMatchObject({ terminal: "completed", inputTokens: input });
        expect(outcome?.estimated ?? false, String(count)).toBe(index > 0);
        const known = outcome?.inputTokens ?? null;
        expect(outcome?.costNanoUsd, String(count)).toBe(
          known === null ? null : (known + searched) * 1_000,
        );
        if (known !== null)
          expect(charged, String(count)).toMatchObject({
            tokens: known,
            micro_usd: known + searched,
          });
      }
    },
  );

  it.each([
    ["what nothing limits", {}],
    ["limited requests", { requestsPerMinute: 9 }],
    ["limited tokens", { tokensPerMinute: 1_000_000 }],
  ] as const)(
    "are marked as estimated in the evidence of %s, and possible ones are not",
    async (_, limits) => {
      const answers = [7, 900_000].map(
        (output) => (response: ServerResponse) =>
          answerJson(response, PROVIDERS["openai-chat"].whole({ input: 11, output })),
      );
      const ended = await requests(
        "openai-chat",
        "/v1/chat/completions",
        CONVERSATION,
        answers,
        readWhole,
        limits,
      );
      expect(ended.map(({ outcome }) => outcome?.estimated ?? false)).toEqual([false, true]);
    },
  );

  it.each([{}, { tokensPerMinute: 1_000_000 }])(
    "of searches are those of the estimate, limited by %j",
    async (limits) => {
      const answers = [1, 900_000].map((search_units) => (response: ServerResponse) => {
        const meta = { billed_units: { search_units }, tokens: { input_tokens: 11 } };
        answerJson(response, { ...ranked, meta });
      });
      const query = { query: "Hello", documents: ["a"] };
      const ended = await requests("cohere-chat", "/v1/rerank", query, answers, readWhole, limits);
      expect(ended.map(({ outcome }) => outcome?.estimated ?? false)).toEqual([false, true]);
      expect(ended[1]?.outcome).toMatchObject({ inputTokens: 11, costNanoUsd: 2_011_000 });
    },
  );

  it.each([
    ["limited requests", { requestsPerMinute: 9 }, [false, false]],
    ["limited tokens", { tokensPerMinute: 1_000_000 }, [true, false]],
  ] as const)(
    "of lost answers are estimated for %s only where tokens count, and of errors never",
    async (_, limits, expected) => {
      const answers = [
        (response: ServerResponse) =>
          void response
            .writeHead(200, { "content-length": "9" })
            .end("{", () => response.destroy()),
        (response: ServerResponse) => void response.writeHead(400).end("{}"),
      ];
      const read = async (router: Router, path: string, body: object): Promise<void> => {
        await (await begin(router, path, body, new AbortController())).text();
      };
      const ended = await requests(
        "openai-chat",
        "/v1/chat/completions",
        CONVERSATION,
        answers,
        read,
        limits,
      );
      expect(ended.map(({ outcome }) => outcome?.estimated ?? false)).toEqual(expected);
    },
  );

  it("of a provider that cannot be reached are not estimated", async () => {
    const { router } = await limited(tableOf("http://127.0.0.1:9", "openai-chat"), {
      tokensPerMinute: 1_000_000,
    });
    await (await begin(router, "/v1/chat/completions", CONVERSATION, new AbortController())).text();
    await router.settled(1);
    expect(router.outcomes[0]).not.toHaveProperty("estimated");
  });

  it("of a token count are estimated in the evidence", async () => {
    const answers = [11, 900_000_000].map(
      (count) => (response: ServerResponse) => answerJson(response, { input_tokens: count }),
    );
    const { messages } = CONVERSATION;
    const ended = await requests(
      "anthropic-messages",
      "/api/v1/messages/count_tokens",
      { messages },
      answers,
    );
    expect(ended.map(({ outcome }) => outcome)).toMatchObject([
      { inputTokens: 11, costNanoUsd: 0 },
      { inputTokens: LIKELY, costNanoUsd: 0, estimated: true },
    ]);
  });
});

/** Milliseconds from the last event that a client reads to the end of the provider's answer. */
const AFTER_CLIENT = 50;

const CUTS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  // Without an end of its own the router would read on for a second, in each of these tests.
  "client closes": (response) => void setTimeout(() => response.end(), AFTER_CLIENT),
  "provider closes": (response) => response.end(),
  "provider resets": (response) => void setTimeout(() => response.destroy(), 20),
};

describe("a stream that is cut before its counts", () => {
  it.each(CASES)(
    "has an estimated cost, alike in evidence and limits: %s at %s",
    async (dialect, path) => {
      const events = PROVIDERS[dialect].events({ input: undefined, output: undefined });
      const sent = events.slice(0, events.findIndex((each) => printed(each).includes(TEXT)) + 1);
      const answers = Object.values(CUTS).map((cut) => (response: ServerResponse) => {
        startStream(response, dialect);
        for (const event of sent) response.write(frameOf(dialect, event));
        cut(response);
      });
      let number = 0;
      const ended = await requests(
        dialect,
        path,
        { ...SURFACES[path], stream: true },
        answers,
        async (...request) => {
          const controller = new AbortController();
          const answer = await begin(...request, controller);
          if (number > 0) await answer.text().catch(() => "");
          else await answer.body?.getReader().read();
          controller.abort();
          number += 1;
        },
      );
      for (const [index, name] of Object.keys(CUTS).entries()) {
        const { outcome, charged } = ended[index] ?? {};
        expect(outcome, name).toMatchObject({
          terminal: index === 0 ? "client_closed" : "failed",
          inputTokens: LIKELY,
          outputTokens: LIKELY_OUTPUT,
          estimated: true,
        });
        expectSameCharge(outcome, charged, name);
      }
    },
  );
});

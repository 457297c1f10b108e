import { describe, expect, test } from "vitest";
import type { WorkspaceLimits } from "../../src/canon/limits.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import {
  answerJson,
  delta,
  sse,
  startSse,
  startUpstream,
  tableOver,
  until,
  type Upstream,
} from "../support/router.ts";
import { endpoint, provider } from "../support/table.ts";
import { limited } from "./limited-router.ts";

/** What a provider of one protocol sends: a piece of text, then the rest with its count. */
interface Protocol {
  readonly dialect: string;
  readonly piece: (text: string) => string;
  readonly rest: (input: number, output: number) => string;
  readonly begin: string;
}

const event = (type: string, more: object = {}): string =>
  `event: ${type}\n${sse({ type, ...more })}`;
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [],
  stop_reason: null,
};
const response = {
  id: "resp_1",
  object: "response",
  status: "in_progress",
  model: "m",
  output: [],
};
const item = { id: "it_1", type: "message", role: "assistant", status: "in_progress", content: [] };

const PROTOCOLS: readonly Protocol[] = [
  {
    dialect: "openai-chat",
    begin: "",
    piece: (text) => sse(delta(text)),
    rest: (input, output) =>
      sse(delta("", "stop")) +
      sse({
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      }) +
      sse("[DONE]"),
  },
  {
    dialect: "anthropic-messages",
    begin:
      event("message_start", {
        message: { ...message, usage: { input_tokens: 11, output_tokens: 1 } },
      }) + event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    piece: (text) =>
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    rest: (input, output) =>
      event("content_block_stop", { index: 0 }) +
      event("message_delta", {
        delta: { stop_reason: "end_turn" },
        usage: { input_tokens: input, output_tokens: output },
      }) +
      event("message_stop"),
  },
  {
    dialect: "openai-responses",
    begin:
      event("response.created", { response }) +
      event("response.output_item.added", { output_index: 0, item }) +
      event("response.content_part.added", {
        item_id: "it_1",
        output_index: 0,
        content_index: 0,
        part: { type: "output_text", text: "" },
      }),
    piece: (text) =>
      event("response.output_text.delta", {
        item_id: "it_1",
        output_index: 0,
        content_index: 0,
        delta: text,
      }),
    rest: (input, output) =>
      event("response.completed", {
        response: {
          ...response,
          status: "completed",
          output: [
            {
              ...item,
              status: "completed",
              content: [{ type: "output_text", text: "all", annotations: [] }],
            },
          ],
          usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
        },
      }),
  },
];

const SURFACES = {
  "/v1/chat/completions": { messages: [{ role: "user", content: "hello" }], max_tokens: 8_000 },
  "/v1/responses": { input: "hello", max_output_tokens: 8_000 },
  "/api/v1/messages": { messages: [{ role: "user", content: "hello" }], max_tokens: 8_000 },
};

const CASES = PROTOCOLS.flatMap((protocol) =>
  Object.entries(SURFACES).map(([path, body]) => [path, protocol.dialect, body, protocol] as const),
);

function tableOf(upstream: Upstream, dialect: string): RoutingTable {
  const base = tableOver([upstream]);
  return {
    ...base,
    providers: {
      "p-a": provider("p-a", { baseUrl: `${upstream.url}/v1`, dialect, auth: { kind: "none" } }),
    },
    endpoints: { a: endpoint("a", { provider: "p-a", dialect }) },
  };
}

/** Reads the first bytes of a stream that has text, and gives a way to close it. */
async function beginStream(url: string, body: object): Promise<() => void> {
  const controller = new AbortController();
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      authorization: "Bearer good",
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify({ model: "r", stream: true, ...body }),
    signal: controller.signal,
  });
  expect(answer.status).toBe(200);
  await answer.body?.getReader().read();
  return () => controller.abort();
}

describe("a client that closes a stream", () => {
  test.for(CASES)(
    "after the text and before the usage is charged the provider's count: %s over %s",
    async ([path, dialect, body, { begin, piece, rest }]) => {
      const left = Promise.withResolvers<void>();
      const upstream = await startUpstream(async (stream) => {
        startSse(stream);
        stream.write(begin + piece("the whole answer"));
        await left.promise;
        stream.end(rest(11, 3_000));
      });
      const { router, store } = await limited(tableOf(upstream, dialect), {
        tokensPerMinute: 100_000,
      });
      const close = await beginStream(`${router.url}${path}`, body);
      close();
      // The router has seen that the client left when it reads what comes now.
      await new Promise((resolve) => setTimeout(resolve, 200));
      left.resolve();
      await router.settled(1);
      expect(upstream.calls[0]?.lostAt).toBeNull();
      expect(router.outcomes[0]).toMatchObject({
        terminal: "client_closed",
        inputTokens: 11,
        outputTokens: 3_000,
      });
      expect(router.outcomes[0]).not.toHaveProperty("estimated");
      await until(() => store.used("workspace:w", "tokens") < 100_000 / 16 + 3_011);
      expect(store.used("workspace:w", "tokens")).toBeGreaterThanOrEqual(3_011);
    },
  );

  test.for(CASES.filter((_, index) => index % 2 === 0))(
    "of a provider that continues for long is charged by its characters: %s over %s",
    async ([path, dialect, body, { begin, piece }]) => {
      const upstream = await startUpstream(async (stream, call) => {
        startSse(stream);
        stream.write(begin);
        while (call.lostAt === null) {
          stream.write(piece("text ".repeat(200)));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        stream.end();
      });
      const { router } = await limited(tableOf(upstream, dialect), { tokensPerMinute: 100_000 });
      (await beginStream(`${router.url}${path}`, body))();
      await router.settled(1);
      expect(router.outcomes[0]).toMatchObject({ terminal: "client_closed", estimated: true });
      await until(() => upstream.calls[0]?.lostAt !== null);
    },
  );
});

describe("a client that closes a stream without counted tokens", () => {
  const LIMITS: readonly Partial<WorkspaceLimits>[] = [
    {},
    { concurrency: 1, requestsPerMinute: 100 },
  ];
  test.for(LIMITS)(
    "frees its slot at once, and the provider is not read further: %j",
    async (limits) => {
      const left = Promise.withResolvers<void>();
      const upstream = await startUpstream(async (stream) => {
        startSse(stream);
        stream.write(sse(delta("text")));
        await left.promise;
        stream.end(
          sse({ ...delta("", "stop"), usage: { prompt_tokens: 11, completion_tokens: 3_000 } }) +
            sse("[DONE]"),
        );
      });
      const { router } = await limited(tableOver([upstream]), limits);
      const close = await beginStream(
        `${router.url}/v1/chat/completions`,
        SURFACES["/v1/chat/completions"],
      );
      close();
      await new Promise((resolve) => setTimeout(resolve, 200));
      left.resolve();
      await router.settled(1);
      expect(router.outcomes[0]).toMatchObject({ terminal: "client_closed", estimated: true });
      // It would be refused by `concurrency` otherwise.
      (await beginStream(`${router.url}/v1/chat/completions`, SURFACES["/v1/chat/completions"]))();
      await until(() => upstream.calls[0]?.lostAt !== null);
    },
  );
});

describe("a request with a deadline that passes while its body is read", () => {
  test("is answered with 504, and no provider is called", async () => {
    const upstream = await startUpstream((stream) => answerJson(stream));
    const { router } = await limited(tableOver([upstream]), { tokensPerMinute: 100_000 });
    const body = JSON.stringify({ model: "r", ...SURFACES["/v1/chat/completions"] });
    const answer = await fetch(`${router.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: "Bearer good",
        "content-type": "application/json",
        "x-request-timeout-ms": "100",
      },
      body: new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(body.slice(0, 10)));
          await new Promise((resolve) => setTimeout(resolve, 250));
          controller.enqueue(new TextEncoder().encode(body.slice(10)));
          controller.close();
        },
      }),
      duplex: "half",
    });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ error: { code: "upstream_timeout_total" } });
    expect(upstream.calls).toHaveLength(0);
  });
});

/** 60 kB that say nothing about tokens. */
const BASE64 = "QUJD".repeat(15_000);

describe("a stream with sound or pictures in base64", () => {
  const completed = (output: object[]): string =>
    event("response.completed", {
      response: {
        ...response,
        status: "completed",
        output,
        usage: { input_tokens: 11, output_tokens: 50, total_tokens: 61 },
      },
    });
  const usage = { prompt_tokens: 11, completion_tokens: 50, total_tokens: 61 };
  const chatEnd = sse(delta("", "stop")) + sse({ choices: [], usage }) + sse("[DONE]");
  test.each([
    [
      "openai-chat",
      "/v1/chat/completions",
      sse({ choices: [{ index: 0, delta: { audio: { data: BASE64 } } }] }) + chatEnd,
    ],
    [
      "openai-chat",
      "/v1/chat/completions",
      sse({
        choices: [
          { index: 0, delta: { images: [{ type: "image_url", image_url: { url: BASE64 } }] } },
        ],
      }) + chatEnd,
    ],
    [
      "openai-responses",
      "/v1/responses",
      event("response.created", { response }) +
        event("response.output_audio.delta", { item_id: "it_1", output_index: 0, delta: BASE64 }) +
        completed([
          {
            ...item,
            status: "completed",
            content: [{ type: "output_text", text: "all", annotations: [] }],
          },
        ]),
    ],
  ] as const)("is charged what the provider counts: %s", async (dialect, path, answer) => {
    const upstream = await startUpstream((stream) => {
      startSse(stream);
      stream.end(answer);
    });
    const { router } = await limited(tableOf(upstream, dialect), { tokensPerMinute: 100_000 });
    const got = await fetch(`${router.url}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ model: "r", stream: true, ...SURFACES[path] }),
    });
    expect(await got.text()).toContain(BASE64);
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({
      terminal: "completed",
      inputTokens: 11,
      outputTokens: 50,
    });
    expect(router.outcomes[0]).not.toHaveProperty("estimated");
  });
});

describe("a whole stream", () => {
  test.for(CASES)(
    "with a count of its beginning only, or of nothing, is charged by its characters: %s over %s",
    async ([path, dialect, body, { begin, piece, rest }]) => {
      for (const [input, output] of [
        [11, 12],
        [0, 0],
      ] as const) {
        const upstream = await startUpstream((stream) => {
          startSse(stream);
          stream.end(begin + piece("text ".repeat(1_800)) + rest(input, output));
        });
        const { router, store } = await limited(tableOf(upstream, dialect), {
          tokensPerMinute: 100_000,
        });
        const answer = await fetch(`${router.url}${path}`, {
          method: "POST",
          headers: { authorization: "Bearer good", "content-type": "application/json" },
          body: JSON.stringify({ model: "r", stream: true, ...body }),
        });
        await answer.text();
        await router.settled(1);
        expect(router.outcomes[0]).toMatchObject({ terminal: "completed", estimated: true });
        expect(store.used("workspace:w", "tokens")).toBeGreaterThanOrEqual(3_000);
      }
    },
  );
});

import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { HELLO, events, mockForTest, post } from "./start.ts";

const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "user", content: "What is the weather in Oslo?" },
];
const parameters = {
  type: "object" as const,
  properties: { city: { type: "string" as const }, days: { type: "integer" as const, minimum: 2 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tools: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "get_weather", strict: true, parameters } },
];

async function client(): Promise<OpenAI> {
  const server = await mockForTest();
  return new OpenAI({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, maxRetries: 0 });
}

describe("the official client", () => {
  test("reads an answer", async () => {
    const openai = await client();
    const completion = await openai.chat.completions.create({ model: "gpt-x", messages });
    expect(completion.choices[0]?.message.content).toBe(
      "Simulated answer from gpt-x to 1 message.",
    );
    expect(completion.choices[0]?.finish_reason).toBe("stop");
    expect(completion.usage).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 7,
      total_tokens: 18,
    });
  });

  test("reads a stream with its usage", async () => {
    const openai = await client();
    const stream = openai.chat.completions.stream({
      model: "gpt-x",
      messages,
      stream_options: { include_usage: true },
    });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe(
      "Simulated answer from gpt-x to 1 message.",
    );
    expect(completion.usage?.total_tokens).toBe(18);
  });

  test.each([false, true])("goes once through a tool loop (stream: %s)", async (stream) => {
    const openai = await client();
    const cities: unknown[] = [];
    const runnable = {
      type: "function" as const,
      function: {
        name: "get_weather",
        description: "The weather of a city.",
        parameters,
        parse: (text: string) => JSON.parse(text) as object,
        function: (input: object) => void cities.push(input),
      },
    };
    const body = { model: "gpt-x", messages, tools: [runnable] };
    const runner = stream
      ? openai.chat.completions.runTools({ ...body, stream })
      : openai.chat.completions.runTools(body);
    expect(await runner.finalContent()).toBe(
      "Simulated answer from gpt-x to the result of a tool.",
    );
    expect(cities).toEqual([{ city: "simulated", days: 2 }]);
  });

  test("reads a structured answer", async () => {
    const openai = await client();
    const completion = await openai.chat.completions.parse({
      model: "gpt-x",
      messages,
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "forecast",
          schema: {
            type: "object",
            properties: {
              sky: { enum: ["clear", "rain"] },
              degrees: { type: "number", minimum: -5 },
            },
            required: ["sky", "degrees"],
          },
        },
      },
    });
    expect(JSON.parse(completion.choices[0]?.message.content ?? "")).toEqual({
      sky: "clear",
      degrees: -5,
    });
  });

  test("lists models", async () => {
    const openai = await client();
    const page = await openai.models.list();
    expect(page.data.map((model) => model.id)).toEqual(["mock-small", "mock-large"]);
  });

  test("meets a rate limit as one", async () => {
    const openai = await client();
    const failure: unknown = await openai.chat.completions
      .create({ model: "gpt-x+429+retry-after=3", messages })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.RateLimitError);
    expect(failure).toMatchObject({ code: "rate_limit_exceeded" });
    expect((failure as InstanceType<typeof OpenAI.APIError>).headers?.get("retry-after")).toBe("3");
  });

  test("retries what is said to fail twice", async () => {
    const server = await mockForTest();
    const openai = new OpenAI({ apiKey: "not-a-key", baseURL: server.url, maxRetries: 2 });
    const completion = await openai.chat.completions.create({
      model: "gpt-x+503+retry-after=0+times=2",
      messages,
    });
    expect(completion.choices[0]?.message.content).toContain("gpt-x");
    expect(server.requests).toHaveLength(3);
  });

  test("throws on an error in the middle of a stream", async () => {
    const openai = await client();
    const stream = await openai.chat.completions.create({
      model: "gpt-x+error-frame=after-3",
      messages,
      stream: true,
    });
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const chunk of stream) seen.push(chunk);
    };
    await expect(read()).rejects.toMatchObject({ code: "server_error" });
    expect(seen).toHaveLength(3);
  });
});

/** What a stream says of a choice, put together again. */
async function streamed(
  body: object,
  header = "",
): Promise<{ choices: Record<string, unknown>[]; chunks: OpenAI.ChatCompletionChunk[] }> {
  const server = await mockForTest();
  const response = await post(
    server,
    { stream: true, messages: HELLO, ...body },
    { "x-mock": header },
  );
  const data = events(await response.text());
  expect(data.at(-1)).toBe("[DONE]");
  const chunks = data.slice(0, -1).map((text) => JSON.parse(text) as OpenAI.ChatCompletionChunk);
  const choices: Record<string, unknown>[] = [];
  for (const { index, delta, finish_reason: finish } of chunks.flatMap((chunk) => chunk.choices)) {
    const texts = delta as Record<string, string | null | undefined>;
    const choice = (choices[index] ??= {
      role: delta.role,
      content: "",
      reasoning: "",
      refusal: "",
      calls: [],
      finish: null,
    });
    for (const [member, name] of [
      ["content", "content"],
      ["reasoning_content", "reasoning"],
      ["refusal", "refusal"],
    ] as const) {
      choice[name] = `${String(choice[name])}${texts[member] ?? ""}`;
    }
    for (const call of delta.tool_calls ?? []) {
      const calls = choice.calls as { id: unknown; name: unknown; arguments: string }[];
      const open = (calls[call.index] ??= {
        id: call.id,
        name: call.function?.name,
        arguments: "",
      });
      open.arguments += call.function?.arguments ?? "";
    }
    if (finish !== null) choice.finish = finish;
  }
  return { choices, chunks };
}

async function whole(body: object, header = ""): Promise<Record<string, unknown>[]> {
  const server = await mockForTest();
  const response = await post(server, { messages: HELLO, ...body }, { "x-mock": header });
  const completion = (await response.json()) as OpenAI.ChatCompletion;
  return completion.choices.map(({ message, finish_reason: finish }) => ({
    role: message.role,
    content: message.content ?? "",
    reasoning: (message as { reasoning_content?: string }).reasoning_content ?? "",
    refusal: message.refusal ?? "",
    calls: (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.type === "function" ? call.function.name : "",
      arguments: call.type === "function" ? call.function.arguments : "",
    })),
    finish,
  }));
}

const variants: [string, object, string, object][] = [
  ["text", {}, "", { finish: "stop", content: "Simulated answer from m to 1 message." }],
  ["several choices", { n: 3 }, "", { content: "Simulated answer 1 of 3 from m to 1 message." }],
  [
    "reasoning requested by the request",
    { reasoning_effort: "low" },
    "",
    { reasoning: "The request is simulated, so there is nothing to think about." },
  ],
  [
    "reasoning requested by the test",
    {},
    "reasoning",
    { reasoning: expect.stringContaining("simulated") },
  ],
  ["no reasoning", { reasoning_effort: "none" }, "", { reasoning: "" }],
  ["a limit", { max_tokens: 3 }, "", { finish: "length", content: "Simulated answer from" }],
  [
    "the newer limit, reasoning included",
    { max_completion_tokens: 2, reasoning_effort: "high" },
    "",
    { finish: "length", content: "", reasoning: "The request" },
  ],
  [
    "a stop sequence",
    { stop: ["xyz", "wer fr"] },
    "",
    { finish: "stop", content: "Simulated ans" },
  ],
  ["a refusal", {}, "refusal", { refusal: "This is a simulated refusal.", content: "" }],
  ["a finish reason", {}, "finish=content_filter", { finish: "content_filter" }],
  [
    "a tool call",
    { tools },
    "",
    {
      finish: "tool_calls",
      content: "",
      calls: [
        { id: expect.any(String), name: "get_weather", arguments: '{"city":"simulated","days":2}' },
      ],
    },
  ],
  [
    "parallel tool calls",
    { tools },
    "tool-calls=2",
    { calls: [expect.anything(), expect.anything()] },
  ],
  [
    "parallel tool calls that the request forbids",
    { tools, parallel_tool_calls: false },
    "tool-calls=2",
    { calls: [expect.anything()] },
  ],
  [
    "tools that must not be called",
    { tools, tool_choice: "none" },
    "",
    { calls: [], finish: "stop" },
  ],
  [
    "a tool call that a limit cuts",
    { tools, max_tokens: 1 },
    "",
    {
      finish: "length",
      calls: [{ id: expect.any(String), name: "get_weather", arguments: '{"city":"sim' }],
    },
  ],
  ["a JSON object", { response_format: { type: "json_object" } }, "", { content: "{}" }],
  [
    "a structured answer, whatever size is requested",
    {
      response_format: { type: "json_schema", json_schema: { name: "a", schema: { const: [1] } } },
    },
    "chunks=9",
    { content: "[1]" },
  ],
  ["a number of pieces", {}, "chunks=4", { content: "signal block clear points" }],
];

test.each(variants)("streamed and whole say the same: %s", async (_, body, header, expected) => {
  const [first, ...others] = await whole({ model: "m", ...body }, header);
  const { choices } = await streamed({ model: "m", ...body }, header);
  expect(first).toMatchObject(expected);
  expect(choices).toEqual([first, ...others]);
});

test("a stream is written as OpenAI writes it", async () => {
  const { chunks } = await streamed(
    { model: "m", n: 2, stream_options: { include_usage: true } },
    "chunks=2; cached=5; reasoning",
  );
  expect(
    new Set(chunks.map(({ id, created, model, object }) => `${id} ${created} ${model} ${object}`))
      .size,
  ).toBe(1);
  expect(chunks.slice(0, 2).map((chunk) => chunk.choices[0]?.delta)).toEqual(
    Array.from({ length: 2 }, () => ({ role: "assistant", content: "", refusal: null })),
  );
  expect(chunks.filter((chunk) => chunk.choices[0]?.delta.role !== undefined)).toHaveLength(2);
  expect(chunks.filter((chunk) => (chunk.choices[0]?.finish_reason ?? null) !== null)).toHaveLength(
    2,
  );
  expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  const last = chunks.at(-1);
  expect(last?.choices).toEqual([]);
  expect(last?.usage).toMatchObject({
    completion_tokens: 26,
    prompt_tokens_details: { cached_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 22 },
  });
  expect((last?.usage?.prompt_tokens ?? 0) + 26).toBe(last?.usage?.total_tokens);
});

test("no usage in a stream that does not request it, nor where a test takes it away", async () => {
  const { chunks } = await streamed({ model: "m" });
  expect(chunks.some((chunk) => Object.hasOwn(chunk, "usage"))).toBe(false);
  const without = await streamed(
    { model: "m", stream_options: { include_usage: true } },
    "no-usage",
  );
  expect(without.chunks.every((chunk) => chunk.usage === null)).toBe(true);
});

test("log probabilities for every token, in streams too", async () => {
  const server = await mockForTest();
  const body = { model: "m+chunks=2", messages: HELLO, logprobs: true, top_logprobs: 2 };
  const answer = (await (await post(server, body)).json()) as OpenAI.ChatCompletion;
  const tokens = answer.choices[0]?.logprobs?.content ?? [];
  expect(tokens.map(({ token, top_logprobs: top }) => [token, top.length, top[0]?.token])).toEqual([
    ["signal", 2, "signal"],
    [" block", 2, " block"],
  ]);
  expect(Buffer.from(tokens[1]?.bytes ?? []).toString()).toBe(" block");
  const { chunks } = await streamed(body);
  expect(chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.content ?? [])).toEqual(tokens);
});

test("size and chunks are met exactly", async () => {
  const { choices, chunks } = await streamed({ model: "m+size=1kB+chunks=7" });
  expect(String(choices[0]?.content)).toHaveLength(1_000);
  expect(chunks.filter((chunk) => (chunk.choices[0]?.delta.content ?? "") !== "")).toHaveLength(7);
});

test("tool_choice names a tool, a custom one too", async () => {
  const custom = { type: "custom", custom: { name: "free" } };
  const server = await mockForTest();
  for (const choice of [
    { type: "custom", custom: { name: "free" } },
    { type: "allowed_tools", allowed_tools: { mode: "required", tools: [custom] } },
  ]) {
    const response = await post(server, {
      model: "m",
      messages: HELLO,
      tools: [...tools, custom],
      tool_choice: choice,
    });
    const completion = (await response.json()) as OpenAI.ChatCompletion;
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([
      { type: "custom", custom: { name: "free", input: "simulated input" } },
    ]);
  }
});

test("the same requests to two servers get the same bytes", async () => {
  const answers = await Promise.all(
    [1, 2].map(async () => {
      const server = await mockForTest();
      return (await post(server, { model: "m", stream: true, tools, messages: HELLO })).text();
    }),
  );
  expect(answers[0]).toBe(answers[1]);
});

test("a streamed tool call says its name once, and its index always", async () => {
  const { chunks } = await streamed({ model: "m", tools }, "tool-calls=2");
  const fragments = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  expect(fragments.length).toBeGreaterThan(4);
  expect(fragments.every((fragment) => typeof fragment.index === "number")).toBe(true);
  expect(
    fragments.filter((fragment) => fragment.id !== undefined).map((fragment) => fragment.index),
  ).toEqual([0, 1]);
  expect(fragments.filter((fragment) => fragment.function?.name !== undefined)).toHaveLength(2);
});

import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { mockForTest, namedEvents, postTo } from "./start.ts";

const PATH = "/v1/responses";

const parameters = {
  type: "object" as const,
  properties: { city: { type: "string" as const }, days: { type: "integer" as const, minimum: 2 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tools: OpenAI.Responses.Tool[] = [
  { type: "function", name: "get_weather", strict: true, parameters },
];
const custom: OpenAI.Responses.Tool = { type: "custom", name: "free" };
const sealed = {
  store: false,
  include: ["reasoning.encrypted_content" as const],
  reasoning: { effort: "low" as const, summary: "auto" as const },
};

async function client(): Promise<OpenAI> {
  const server = await mockForTest();
  return new OpenAI({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, maxRetries: 0 });
}

describe("the official client", () => {
  test("reads an answer", async () => {
    const openai = await client();
    const response = await openai.responses.create({
      model: "m",
      input: "hello",
      instructions: "Be brief.",
    });
    expect(response.output_text).toBe("Simulated answer from m to 1 message.");
    expect(response).toMatchObject({
      status: "completed",
      store: true,
      instructions: "Be brief.",
      usage: {
        input_tokens: 9,
        output_tokens: 7,
        total_tokens: 16,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
  });

  test("reads a stream", async () => {
    const openai = await client();
    const stream = openai.responses.stream({ model: "m+unicode", input: "hello", ...sealed });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const response = await stream.finalResponse();
    expect(response.output_text).toContain("Grüße 信号 🚦");
    expect(response.status).toBe("completed");
    expect(types.at(0)).toBe("response.created");
    expect(types.at(-1)).toBe("response.completed");
  });

  test.each([false, true])(
    "goes through a tool loop and gives sealed reasoning back (stream: %s)",
    async (stream) => {
      const openai = await client();
      const input: OpenAI.Responses.ResponseInput = [
        { role: "user", content: "What is the weather in Oslo?" },
      ];
      const ask = async (): Promise<OpenAI.Responses.Response> => {
        const body = { model: "m+tool-calls=2+times=1", input, tools, ...sealed };
        return stream
          ? openai.responses.stream(body).finalResponse()
          : openai.responses.create({ ...body, stream: false });
      };
      const first = await ask();
      const calls = first.output.filter((item) => item.type === "function_call");
      expect(calls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual([
        ["get_weather", { city: "simulated", days: 2 }],
        ["get_weather", { city: "simulated", days: 2 }],
      ]);
      expect(first.output[0]).toMatchObject({
        type: "reasoning",
        encrypted_content: expect.any(String),
      });
      for (const item of first.output) {
        // The streaming helper adds members of its own to the calls.
        if (item.type === "function_call") {
          const { id, call_id, name, arguments: text } = item;
          input.push({
            type: "function_call",
            call_id,
            name,
            arguments: text,
            ...(id === undefined ? {} : { id }),
          });
        } else input.push(item as OpenAI.Responses.ResponseInputItem);
      }
      for (const call of calls)
        input.push({ type: "function_call_output", call_id: call.call_id, output: "sunny" });
      const second = await ask();
      expect(second.output_text).toBe("Simulated answer from m to the result of a tool.");
    },
  );

  test("reads a structured answer", async () => {
    const openai = await client();
    const response = await openai.responses.parse({
      model: "m",
      input: "hello",
      text: { format: { type: "json_schema", name: "forecast", strict: true, schema: parameters } },
    });
    expect(JSON.parse(response.output_text)).toEqual({ city: "simulated", days: 2 });
  });

  test("counts tokens", async () => {
    const openai = await client();
    expect(await openai.responses.inputTokens.count({ model: "m", input: "hello there" })).toEqual({
      object: "response.input_tokens",
      input_tokens: 7,
    });
  });

  test("throws on an error in the middle of a stream", async () => {
    const openai = await client();
    const stream = await openai.responses.create({
      model: "m+error-frame=after-5",
      input: "x",
      stream: true,
    });
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const event of stream) seen.push(event);
    };
    await expect(read()).rejects.toMatchObject({ code: "server_error" });
    expect(seen).toHaveLength(5);
  });

  test("reads a response that failed, streamed and whole", async () => {
    const openai = await client();
    const failed = { status: "failed", error: { code: "server_error" } };
    const stream = openai.responses.stream({ model: "m+failed=after-5", input: "x" });
    expect(await stream.finalResponse()).toMatchObject(failed);
    expect(await openai.responses.create({ model: "m+failed", input: "x" })).toMatchObject(failed);
  });
});

/** One item of a response. */
type Item = Record<string, unknown>;

/** Puts a stream together again, and checks on the way that it keeps to OpenAI's grammar. */
async function streamed(
  body: object,
  header: string,
): Promise<{ ending: string; response: Item; items: Item[] }> {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { ...body, stream: true }, { "x-mock": header });
  const sent = namedEvents(await response.text());
  const data = sent.map((event) => JSON.parse(event.data) as Record<string, unknown>);
  expect(sent.map((event) => event.name)).toEqual(data.map((event) => event.type));
  expect(data.map((event) => event.sequence_number)).toEqual(data.map((_, index) => index));
  expect(data.slice(0, 2).map((event) => event.type)).toEqual([
    "response.created",
    "response.in_progress",
  ]);
  const items: Item[] = [];
  const texts: string[] = [];
  let open: string | null = null;
  for (const event of data.slice(2, -1)) {
    const index = Number(event.output_index);
    const type = String(event.type);
    if (type === "response.output_item.added") {
      expect([open, index]).toEqual([null, items.length]);
      open = String((event.item as Item).id);
      texts[index] = "";
    } else if (type === "response.output_item.done") {
      const item = event.item as Item;
      expect(item.id).toBe(open);
      expect(textOf(item)).toBe(texts[index]);
      items.push(item);
      open = null;
    } else {
      expect(event.item_id).toBe(open);
      if (type.endsWith(".delta")) texts[index] += String(event.delta);
      if (/(text|refusal|arguments|input)\.done$/.test(type))
        expect(event.text ?? event.refusal ?? event.arguments ?? event.input).toBe(texts[index]);
    }
  }
  expect(open).toBeNull();
  return {
    ending: String(data.at(-1)?.type),
    response: data.at(-1)?.response as Item,
    items,
  };
}

function textOf(item: Item): unknown {
  const parts = (item.content ?? item.summary ?? []) as Item[];
  const [part] = parts;
  return item.arguments ?? item.input ?? part?.text ?? part?.refusal ?? "";
}

const variants: [string, object, string, { ending: string; items: object[]; more?: object }][] = [
  [
    "text",
    {},
    "",
    {
      ending: "completed",
      items: [{ type: "message", status: "completed", id: expect.stringMatching(/^msg/) }],
    },
  ],
  [
    "requested reasoning",
    { reasoning: { effort: "high" } },
    "",
    {
      ending: "completed",
      items: [{ type: "reasoning", summary: [] }, { type: "message" }],
      more: { usage: { output_tokens: 18, output_tokens_details: { reasoning_tokens: 11 } } },
    },
  ],
  [
    "reasoning with a summary, sealed",
    { reasoning: { summary: "auto" }, include: ["reasoning.encrypted_content"] },
    "",
    {
      ending: "completed",
      items: [
        {
          summary: [{ type: "summary_text", text: expect.any(String) }],
          encrypted_content: expect.any(String),
        },
        { type: "message" },
      ],
    },
  ],
  [
    "a tool call",
    { tools },
    "",
    {
      ending: "completed",
      items: [{ type: "function_call", arguments: '{"city":"simulated","days":2}' }],
    },
  ],
  [
    "parallel tool calls",
    { tools },
    "tool-calls=3",
    { ending: "completed", items: [0, 1, 2].map((call) => ({ call_id: `call_mock_1_${call}` })) },
  ],
  [
    "no parallel tool calls where the request forbids them",
    { tools, parallel_tool_calls: false },
    "tool-calls=3",
    { ending: "completed", items: [{ type: "function_call" }] },
  ],
  [
    "a custom tool call",
    { tools: [...tools, custom], tool_choice: { type: "custom", name: "free" } },
    "",
    {
      ending: "completed",
      items: [{ type: "custom_tool_call", name: "free", input: "simulated input" }],
    },
  ],
  [
    "a limit",
    { max_output_tokens: 16 },
    "chunks=20",
    {
      ending: "incomplete",
      items: [{ status: "incomplete" }],
      more: { incomplete_details: { reason: "max_output_tokens" }, usage: { output_tokens: 16 } },
    },
  ],
  [
    "a limit that cuts a tool call",
    {
      tools: [{ type: "function", name: "f", parameters: { const: "a ".repeat(40) } }],
      max_output_tokens: 16,
    },
    "",
    { ending: "incomplete", items: [{ type: "function_call", status: "incomplete" }] },
  ],
  [
    "a filter",
    {},
    "finish=content_filter",
    {
      ending: "incomplete",
      items: [{}],
      more: { incomplete_details: { reason: "content_filter" } },
    },
  ],
  [
    "an unknown ending",
    {},
    "finish=unknown",
    { ending: "incomplete", items: [{}], more: { incomplete_details: { reason: "mock_unknown" } } },
  ],
  [
    "a refusal",
    {},
    "refusal",
    {
      ending: "completed",
      items: [{ content: [{ type: "refusal", refusal: "This is a simulated refusal." }] }],
    },
  ],
  [
    "log probabilities",
    { include: ["message.output_text.logprobs"], top_logprobs: 2 },
    "chunks=1",
    {
      ending: "completed",
      items: [{ content: [{ logprobs: [{ token: "signal", top_logprobs: [{}, {}] }] }] }],
    },
  ],
  [
    "usage of a cache",
    {},
    "cached=5; cache-write=6",
    {
      ending: "completed",
      items: [{}],
      more: {
        usage: {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 5, cache_write_tokens: 6 },
        },
      },
    },
  ],
  ["no usage", {}, "no-usage", { ending: "completed", items: [{}], more: { usage: null } }],
];

test.each(variants)("streamed and whole say the same: %s", async (_, body, header, expected) => {
  const request = { model: "m", input: "hello", ...body };
  const server = await mockForTest();
  const whole = (await (await postTo(server, PATH, request, { "x-mock": header })).json()) as Item;
  expect(whole).toMatchObject({
    status: expected.ending,
    output: expected.items,
    ...expected.more,
  });
  const { ending, response, items } = await streamed(request, header);
  expect(ending).toBe(`response.${expected.ending}`);
  expect(response).toEqual(whole);
  expect(items).toEqual(whole.output);
});

test("deltas are padded unless the request says no", async () => {
  const server = await mockForTest();
  const deltas = async (more: object): Promise<Record<string, string>[]> => {
    const body = { model: "m+chunks=3", input: "x", stream: true, ...more };
    const text = await (await postTo(server, PATH, body)).text();
    return namedEvents(text)
      .filter((event) => event.name === "response.output_text.delta")
      .map((event) => JSON.parse(event.data) as Record<string, string>);
  };
  for (const { delta, obfuscation } of await deltas({}))
    expect(`${delta ?? ""}${obfuscation ?? ""}`).toHaveLength(16);
  for (const event of await deltas({ stream_options: { include_obfuscation: false } }))
    expect(Object.keys(event)).not.toContain("obfuscation");
});

test("the resource has what was requested", async () => {
  const server = await mockForTest();
  const body = {
    model: "m",
    input: "x",
    tools: [{ type: "function", name: "f" }],
    tool_choice: "none",
    store: false,
    metadata: { a: "b" },
    temperature: 0.5,
    text: { format: { type: "json_schema", name: "n", schema: { const: 1 } } },
  };
  expect(await (await postTo(server, PATH, body)).json()).toMatchObject({
    tools: [{ type: "function", name: "f", description: null, parameters: null, strict: true }],
    tool_choice: "none",
    store: false,
    metadata: { a: "b" },
    temperature: 0.5,
    text: {
      format: { type: "json_schema", name: "n", strict: false, description: null },
      verbosity: "medium",
    },
  });
  expect(server.requests[0]?.body).toMatchObject({ store: false });
});

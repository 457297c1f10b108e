import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import type { MockServer } from "../../mock/server.ts";
import { HELLO, mockForTest, namedEvents, postTo } from "./start.ts";

const PATH = "/v1/messages";
const VERSION = { "anthropic-version": "2023-06-01" };
const THOUGHT = "The request is simulated, so there is nothing to think about.";

const schema = {
  type: "object" as const,
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tools: Anthropic.Tool[] = [{ name: "get_weather", input_schema: schema }];
const messages: Anthropic.MessageParam[] = [
  { role: "user", content: "What is the weather in Oslo?" },
];

function clientOf(server: MockServer): Anthropic {
  return new Anthropic({ apiKey: "not-a-key", baseURL: server.url, maxRetries: 0 });
}

async function client(): Promise<Anthropic> {
  return clientOf(await mockForTest());
}

describe("the official client", () => {
  test("reads an answer, and sends the newer version", async () => {
    const server = await mockForTest();
    const message = await clientOf(server).messages.create({
      model: "m",
      max_tokens: 100,
      messages,
    });
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Simulated answer from m to 1 message." }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: 11,
        output_tokens: 7,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    });
    expect(message).toHaveProperty("_request_id", "req_mock_1");
    expect(server.requests[0]?.headers["anthropic-version"]).toBe("2026-10-21");
  });

  test("reads a stream", async () => {
    const anthropic = await client();
    const stream = anthropic.messages.stream({ model: "m+unicode", max_tokens: 100, messages });
    expect(await stream.finalText()).toContain("Grüße 信号 🚦");
    expect((await stream.finalMessage()).usage).toMatchObject({
      input_tokens: 11,
      output_tokens: 8,
    });
  });

  test.each([false, true])(
    "goes through a tool loop and gives thinking back (stream: %s)",
    async (stream) => {
      const anthropic = await client();
      const ask = (history: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
        const body = {
          model: "m+tool-calls=2+times=1",
          max_tokens: 2_000,
          messages: history,
          tools,
          thinking: { type: "enabled" as const, budget_tokens: 1_024 },
        };
        return stream
          ? anthropic.messages.stream(body).finalMessage()
          : anthropic.messages.create(body);
      };
      const first = await ask(messages);
      expect(first.stop_reason).toBe("tool_use");
      expect(first.content).toMatchObject([
        { type: "thinking", thinking: THOUGHT, signature: expect.stringMatching(/^mock/) },
        { type: "tool_use", name: "get_weather", input: { city: "simulated", days: 2 } },
        { type: "tool_use", name: "get_weather", input: { city: "simulated", days: 2 } },
      ]);
      const results = first.content
        .filter((block) => block.type === "tool_use")
        .map((block) => ({
          type: "tool_result" as const,
          tool_use_id: block.id,
          content: "sunny",
        }));
      const content = first.content as Anthropic.ContentBlockParam[];
      const second = await ask([
        ...messages,
        { role: "assistant", content },
        { role: "user", content: results },
      ]);
      expect(second.stop_reason).toBe("end_turn");
      expect(second.content).toMatchObject([
        { type: "thinking" },
        { type: "text", text: "Simulated answer from m to the result of a tool." },
      ]);
    },
  );

  test("reads a structured answer", async () => {
    const anthropic = await client();
    const message = await anthropic.messages.parse({
      model: "m",
      max_tokens: 100,
      messages,
      output_config: { format: { type: "json_schema", schema } },
    });
    expect(message.content).toMatchObject([
      { type: "text", text: '{"city":"simulated","days":2}' },
    ]);
  });

  test("counts tokens", async () => {
    const anthropic = await client();
    expect(await anthropic.messages.countTokens({ model: "m", messages })).toEqual({
      input_tokens: 11,
    });
  });

  test("meets an overloaded provider as one", async () => {
    const anthropic = await client();
    const failure: unknown = await anthropic.messages
      .create({ model: "m+529+retry-after=3", max_tokens: 9, messages })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Anthropic.APIError);
    expect(failure).toMatchObject({
      status: 529,
      type: "overloaded_error",
      requestID: "req_mock_1",
    });
    const { headers } = failure as InstanceType<typeof Anthropic.APIError>;
    expect([headers?.get("retry-after"), headers?.get("x-should-retry")]).toEqual(["3", "true"]);
  });

  test("throws on an error in the middle of a stream", async () => {
    const anthropic = await client();
    const stream = anthropic.messages.stream({
      model: "m+error-frame=after-4",
      max_tokens: 9,
      messages,
    });
    await expect(stream.finalMessage()).rejects.toMatchObject({ type: "api_error" });
  });
});

type Block = Record<string, unknown>;

/** Puts a stream together again, and checks on the way that it keeps to Anthropic's grammar. */
async function streamed(body: object, header: string): Promise<Record<string, unknown>> {
  const server = await mockForTest();
  const response = await postTo(
    server,
    PATH,
    { ...body, stream: true },
    { ...VERSION, "x-mock": header },
  );
  const sent = namedEvents(await response.text());
  const data = sent.map(
    (event) => JSON.parse(event.data) as Record<string, Record<string, unknown>>,
  );
  expect(sent.map((event) => event.name)).toEqual(data.map((event) => event.type));
  expect(sent.at(0)?.name).toBe("message_start");
  expect(sent.slice(-2).map((event) => event.name)).toEqual(["message_delta", "message_stop"]);
  expect(sent.filter((event) => event.name === "ping")).toHaveLength(1);
  const blocks: Block[] = [];
  let json = "";
  let open = false;
  for (const event of data.slice(1, -2)) {
    const block = blocks.at(-1);
    switch (nameOf(event)) {
      case "content_block_start":
        expect([open, Number(event.index)]).toEqual([false, blocks.length]);
        blocks.push({ ...event.content_block });
        open = true;
        json = "";
        break;
      case "content_block_delta": {
        expect([open, Number(event.index)]).toEqual([true, blocks.length - 1]);
        const { type, partial_json: part, ...delta } = event.delta ?? {};
        if (type === "input_json_delta") json += String(part);
        for (const [name, text] of Object.entries(delta))
          (block ?? {})[name] = String(block?.[name]) + String(text);
        break;
      }
      case "content_block_stop":
        if (block?.type === "tool_use")
          block.input = isJson(json) ? (JSON.parse(json) as object) : {};
        open = false;
        break;
      default:
        expect(event.type).toBe("ping");
    }
  }
  expect(open).toBe(false);
  const [start, end] = [data[0]?.message, data.at(-2)];
  const usage = { ...(start?.usage as object | undefined), ...end?.usage };
  return {
    ...start,
    content: blocks,
    ...end?.delta,
    ...(Object.keys(usage).length === 0 ? {} : { usage }),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function nameOf(event: { readonly type?: unknown }): unknown {
  return event.type;
}

const text = (value: string): object => ({ type: "text", text: value });
const manual = { thinking: { type: "enabled", budget_tokens: 1_024 } };
const requested = {
  role: "assistant",
  content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }],
};
const result = {
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "1" }],
};

const variants: [string, object, string, object][] = [
  [
    "text",
    {},
    "",
    { content: [text("Simulated answer from m to 1 message.")], stop_reason: "end_turn" },
  ],
  [
    "a limit",
    { max_tokens: 2 },
    "",
    { content: [text("Simulated answer")], stop_reason: "max_tokens" },
  ],
  ["a limit of nothing", { max_tokens: 0 }, "", { content: [], stop_reason: "max_tokens" }],
  [
    "a stop sequence, the first of two",
    { stop_sequences: ["zz", "er from", " to "] },
    "",
    { content: [text("Simulated answ")], stop_reason: "stop_sequence", stop_sequence: "er from" },
  ],
  [
    "manual thinking",
    manual,
    "",
    { content: [{ thinking: THOUGHT, signature: expect.any(String) }, { type: "text" }] },
  ],
  [
    "adaptive thinking that is not shown",
    { thinking: { type: "adaptive", display: "omitted" } },
    "",
    { content: [{ thinking: "", signature: expect.stringMatching(/^mock/) }, { type: "text" }] },
  ],
  [
    "thinking that only the provider can read",
    {},
    "redacted",
    { content: [{ type: "redacted_thinking", data: expect.any(String) }, { type: "text" }] },
  ],
  [
    "thinking between tools, before any",
    { thinking: { type: "between_tools" } },
    "",
    { content: [{ type: "text" }] },
  ],
  [
    "thinking between tools",
    { thinking: { type: "between_tools" }, messages: [...HELLO, requested, result] },
    "",
    { content: [{ type: "thinking" }, { type: "text" }] },
  ],
  [
    "no manual thinking in a turn that began without",
    { ...manual, messages: [...HELLO, requested, result] },
    "",
    { content: [{ type: "text" }], usage: { output_tokens_details: { thinking_tokens: 0 } } },
  ],
  [
    "no thinking before a tool that has to be called",
    { thinking: { type: "adaptive" }, tools, tool_choice: { type: "any" } },
    "",
    { content: [{ type: "tool_use" }] },
  ],
  [
    "a tool that is named",
    {
      tools: [{ name: "other", input_schema: { type: "object" } }, ...tools],
      tool_choice: { type: "tool", name: "get_weather" },
    },
    "",
    {
      content: [{ name: "get_weather", input: { city: "simulated", days: 2 } }],
      stop_reason: "tool_use",
    },
  ],
  [
    "no parallel tools where the request forbids them",
    { tools, tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    "tool-calls=3",
    { content: [{ type: "tool_use" }] },
  ],
  ["no tools", { tools, tool_choice: { type: "none" } }, "", { content: [{ type: "text" }] }],
  [
    "a tool whose arguments a limit cuts",
    { tools, max_tokens: 1 },
    "",
    { content: [{ type: "tool_use", input: {} }], stop_reason: "max_tokens" },
  ],
  [
    "a refusal",
    {},
    "refusal",
    {
      content: [],
      stop_reason: "refusal",
      stop_details: {
        type: "refusal",
        category: "general_harms",
        explanation: "This is a simulated refusal.",
      },
    },
  ],
  [
    "a refusal without details",
    {},
    "finish=content_filter",
    { stop_reason: "refusal", stop_details: null },
  ],
  ["a pause", {}, "finish=pause", { stop_reason: "pause_turn" }],
  [
    "a full context window",
    {},
    "finish=context_window",
    { stop_reason: "model_context_window_exceeded" },
  ],
  ["an unknown reason", {}, "finish=unknown", { stop_reason: "mock_unknown" }],
  [
    "usage of a cache, which the prompt's tokens exclude",
    { messages: [{ role: "user", content: "x".repeat(400) }] },
    "cached=30; cache-write=4",
    { usage: { input_tokens: 70, cache_read_input_tokens: 30, cache_creation_input_tokens: 4 } },
  ],
  [
    "a region",
    { inference_geo: "eu" },
    "",
    { usage: { inference_geo: "eu", service_tier: "standard" } },
  ],
];

test.each(variants)("streamed and whole say the same: %s", async (_, body, header, expected) => {
  const request = { model: "m", max_tokens: 2_000, messages: HELLO, ...body };
  const server = await mockForTest();
  const whole = (await (
    await postTo(server, PATH, request, { ...VERSION, "x-mock": header })
  ).json()) as object;
  expect(whole).toMatchObject(expected);
  expect(await streamed(request, header)).toEqual(whole);
});

test("the beginning counts one token, the end all of them", async () => {
  const server = await mockForTest();
  const body = { model: "m", max_tokens: 9, messages: HELLO, stream: true };
  const sent = namedEvents(await (await postTo(server, PATH, body, VERSION)).text());
  expect(JSON.parse(sent[0]?.data ?? "")).toMatchObject({
    message: { usage: { input_tokens: 6, output_tokens: 1 } },
  });
  expect(JSON.parse(sent.at(-2)?.data ?? "")).toMatchObject({
    usage: { input_tokens: 6, output_tokens: 7 },
  });
  const without = await (
    await postTo(server, PATH, body, { ...VERSION, "x-mock": "no-usage" })
  ).text();
  expect(without).not.toContain("usage");
});

test("an answer without its end", async () => {
  const server = await mockForTest();
  const body = { model: "m", max_tokens: 9, messages: HELLO };
  const whole = await postTo(server, PATH, body, { ...VERSION, "x-mock": "no-finish; no-usage" });
  const message = (await whole.json()) as object;
  expect(message).toMatchObject({ stop_reason: null });
  expect(Object.keys(message)).not.toContain("usage");
  const streamEnd = await postTo(
    server,
    PATH,
    { ...body, stream: true },
    { ...VERSION, "x-mock": "no-finish" },
  );
  expect(namedEvents(await streamEnd.text()).at(-1)?.name).toBe("message_stop");
});

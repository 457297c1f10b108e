import { beforeAll, expect, test } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import { whenFileEnds } from "../support/file-end.ts";
import { HELLO, eventsOf, postTo } from "./start.ts";

/*
 * Of the protocols, what the router's own requests and readers do not use: `answers.test.ts` has
 * the rest.
 */

let server: MockServer;

beforeAll(async () => {
  server = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => server.close());
});

const CHAT = "/v1/chat/completions";
const COMPLETIONS = "/v1/completions";
const RESPONSES = "/v1/responses";
const MESSAGES = "/v1/messages";
const VERSION = { "anthropic-version": "2023-06-01" };
const GEMINI = "/v1beta/models/m:countTokens";

async function answer(path: string, body: object, headers: Record<string, string> = {}) {
  return JSON.parse(await (await postTo(server, path, { model: "m", ...body }, headers)).text());
}

async function streamed(path: string, body: object, headers: Record<string, string> = {}) {
  const request = { model: "m", ...body, stream: true };
  const sent = eventsOf(await (await postTo(server, path, request, headers)).text());
  return sent.map(({ name, data }) => ({
    name,
    data: JSON.parse(data.replace("[DONE]", '"[DONE]"')),
  }));
}

const strict = { type: "object", properties: {}, additionalProperties: false };
const called = { type: "function", function: { name: "f", strict: true, parameters: strict } };
const custom = { type: "custom", custom: { name: "free" } };

test("several choices of a chat, streamed in the order of OpenAI's chunks", async () => {
  const body = { messages: HELLO, n: 2, stream_options: { include_usage: true } };
  const whole = await answer(CHAT, body);
  expect(whole.choices).toMatchObject(
    [1, 2].map((number) => ({
      message: { content: `Simulated answer ${number} of 2 from m to 1 message.` },
    })),
  );
  const chunks = (await streamed(CHAT, { ...body, model: "m+chunks=2" })).map(({ data }) => data);
  expect(chunks.pop()).toBe("[DONE]");
  const last = chunks.pop();
  expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  expect(chunks.every(({ usage }) => usage === null)).toBe(true);
  const choices = chunks.map(({ choices: [choice] }) => choice);
  const role = { role: "assistant", content: "", refusal: null };
  expect(choices.slice(0, 2).map(({ delta }) => delta)).toEqual([role, role]);
  expect(choices.filter(({ delta }) => delta.role !== undefined)).toHaveLength(2);
  expect(choices.filter(({ finish_reason: finish }) => finish !== null)).toHaveLength(2);
  expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
});

test("a stream of a chat has no usage unless it is requested", async () => {
  const chunks = await streamed(CHAT, { messages: HELLO });
  expect(chunks.some(({ data }) => Object.hasOwn(Object(data), "usage"))).toBe(false);
});

test("a streamed tool call has its name once, and its index always", async () => {
  const tools = [called, { ...called, function: { ...called.function, name: "g" } }];
  const chunks = await streamed(CHAT, { model: "m+tool-calls=2", messages: HELLO, tools });
  const calls = chunks.flatMap(({ data }) => data.choices?.[0]?.delta.tool_calls ?? []);
  expect(calls.length).toBeGreaterThanOrEqual(4);
  expect(calls.every(({ index }) => typeof index === "number")).toBe(true);
  expect(calls.filter(({ id }) => id !== undefined).map(({ index }) => index)).toEqual([0, 1]);
});

test.each([
  ["named", custom],
  [
    "the only one allowed",
    { type: "allowed_tools", allowed_tools: { mode: "required", tools: [custom] } },
  ],
])("a custom tool is called where it is %s", async (_, choice) => {
  const body = { messages: HELLO, tools: [called, custom], tool_choice: choice };
  expect(await answer(CHAT, body)).toMatchObject({
    choices: [
      { message: { tool_calls: [{ custom: { name: "free", input: "simulated input" } }] } },
    ],
  });
});

test("a JSON object without a schema is empty", async () => {
  const body = { messages: HELLO, response_format: { type: "json_object" } };
  expect((await answer(CHAT, body)).choices[0].message.content).toBe("{}");
});

test("the same requests to two servers get the same bytes", async () => {
  const other = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => other.close());
  const fresh = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => fresh.close());
  const body = { model: "m", stream: true, tools: [called], messages: HELLO };
  const [one, two] = await Promise.all(
    [other, fresh].map(async (each) => (await postTo(each, CHAT, body)).text()),
  );
  expect(one).toBe(two);
});

test.each<[string, object, readonly (readonly [unknown, string])[]]>([
  ["an echo", { prompt: "Once:", echo: true, max_tokens: 1 }, [["Once:Simulated", "length"]]],
  ["no token allowed", { max_tokens: 0 }, [["", "length"]]],
  ["token numbers", { prompt: [1, 2] }, [["Simulated answer from m to a prompt.", "stop"]]],
  [
    "two prompts of two choices",
    { prompt: ["a", "b"], n: 2 },
    [1, 2, 3, 4].map((number) => [`Simulated answer ${number} of 4 from m to a prompt.`, "stop"]),
  ],
  ["the usual limit", { model: "averyverylongname-".repeat(9) }, [[expect.any(String), "length"]]],
])("a legacy completion: %s", async (_, body, expected) => {
  const request = { prompt: "p", ...body };
  const whole = await answer(COMPLETIONS, request);
  expect(whole.choices).toMatchObject(
    expected.map(([text, finish_reason]) => ({ text, finish_reason })),
  );
  const pieces: readonly { index: number; text: string; finish_reason: string | null }[] = (
    await streamed(COMPLETIONS, request)
  ).flatMap(({ data }) => data.choices ?? []);
  const again = expected.map((_choice, choice) => {
    const own = pieces.filter(({ index }) => index === choice);
    return [own.map(({ text }) => text).join(""), own.at(-1)?.finish_reason];
  });
  expect(again).toEqual(expected);
});

test("a legacy completion counts what `best_of` throws away, and has its log probabilities", async () => {
  const request = { model: "m+chunks=2", prompt: "p", best_of: 3, logprobs: 2 };
  const { choices, usage } = await answer(COMPLETIONS, request);
  expect(usage.completion_tokens).toBe(6);
  expect(choices[0].logprobs).toMatchObject({
    tokens: ["signal", " block"],
    token_logprobs: [-0.5, -0.5],
    text_offset: [0, 6],
  });
  expect(Object.keys(choices[0].logprobs.top_logprobs[0])).toEqual(["signal", "signal1"]);
});

test("the stream of a response ends with the response, and numbers its events", async () => {
  const body = {
    input: "hello",
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
  };
  const events = await streamed(RESPONSES, body);
  expect(events.map(({ data }) => data.sequence_number)).toEqual([...events.keys()]);
  expect(events.map(({ name }) => name)).toEqual(events.map(({ data }) => data.type));
  const { response } = events.at(-1)?.data ?? {};
  expect(response.output).toMatchObject([
    { type: "reasoning", encrypted_content: expect.any(String) },
    { type: "message", status: "completed" },
  ]);
  const done = events.filter(({ name }) => name === "response.output_item.done");
  expect(done.map(({ data }) => data.item)).toEqual(response.output);
});

test("deltas of a response are padded unless the request forbids it", async () => {
  const deltas = async (more: object) => {
    const events = await streamed(RESPONSES, { model: "m+chunks=3", input: "x", ...more });
    return events.filter(({ name }) => name === "response.output_text.delta").map((e) => e.data);
  };
  for (const { delta, obfuscation } of await deltas({}))
    expect(`${delta}${obfuscation}`).toHaveLength(16);
  for (const event of await deltas({ stream_options: { include_obfuscation: false } }))
    expect(Object.keys(event)).not.toContain("obfuscation");
});

test("a response repeats the settings of its request", async () => {
  const settings = {
    instructions: "Be brief.",
    tools: [{ type: "function", name: "f" }],
    tool_choice: "none",
    store: false,
    metadata: { a: "b" },
    temperature: 0.5,
    text: { format: { type: "json_schema", name: "n", schema: { const: 1 } } },
  };
  expect(await answer(RESPONSES, { input: "x", ...settings })).toMatchObject({
    ...settings,
    tools: [{ type: "function", name: "f", description: null, parameters: null, strict: true }],
    text: { format: { name: "n", strict: false, description: null }, verbosity: "medium" },
  });
});

test.each([
  ["content_filter", "content_filter"],
  ["unknown", "mock_unknown"],
])("a response that ends by %s is incomplete", async (finish, reason) => {
  expect(await answer(RESPONSES, { model: `m+finish=${finish}`, input: "x" })).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason },
  });
});

const requested = {
  role: "assistant",
  content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }],
};
const result = {
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "1" }],
};
const manual = { thinking: { type: "enabled", budget_tokens: 1_024 } };
const between = { thinking: { type: "between_tools" } };

test.each<[string, object, readonly string[]]>([
  ["thinking between tools, before any", between, ["text"]],
  [
    "thinking between tools",
    { ...between, messages: [...HELLO, requested, result] },
    ["thinking", "text"],
  ],
  [
    "manual thinking in a turn that began without",
    { ...manual, messages: [...HELLO, requested, result] },
    ["text"],
  ],
  [
    "adaptive thinking before a tool that has to be called",
    {
      thinking: { type: "adaptive" },
      tools: [{ name: "f", input_schema: strict }],
      tool_choice: { type: "any" },
    },
    ["tool_use"],
  ],
  ["a limit of nothing", { max_tokens: 0 }, []],
])("blocks of a message: %s", async (_, body, types) => {
  const request = { max_tokens: 2_000, messages: HELLO, ...body };
  const { content } = await answer(MESSAGES, request, VERSION);
  expect(content.map(({ type }: { readonly type: string }) => type)).toEqual(types);
});

test("thinking that is not shown is signed all the same", async () => {
  const thinking = { type: "adaptive", display: "omitted" };
  const { content } = await answer(
    MESSAGES,
    { max_tokens: 2_000, messages: HELLO, thinking },
    VERSION,
  );
  expect(content[0]).toMatchObject({ thinking: "", signature: expect.stringMatching(/^mock/) });
});

test.each([
  ["pause", { stop_reason: "pause_turn" }],
  ["context_window", { stop_reason: "model_context_window_exceeded" }],
  ["unknown", { stop_reason: "mock_unknown" }],
  ["content_filter", { stop_reason: "refusal", stop_details: null }],
])("a message ends by %s", async (finish, expected) => {
  const body = { model: `m+finish=${finish}`, max_tokens: 9, messages: HELLO };
  expect(await answer(MESSAGES, body, VERSION)).toMatchObject(expected);
});

test("a refused message has details, and a region where it was requested", async () => {
  const body = { max_tokens: 9, messages: HELLO, inference_geo: "eu" };
  expect(await answer(MESSAGES, { ...body, model: "m+refusal" }, VERSION)).toMatchObject({
    content: [],
    stop_details: { type: "refusal", explanation: "This is a simulated refusal." },
    usage: { inference_geo: "eu", service_tier: "standard" },
  });
});

test("the beginning of a streamed message counts one token, the end all of them", async () => {
  const events = await streamed(MESSAGES, { max_tokens: 9, messages: HELLO }, VERSION);
  expect(events.at(0)?.data.message.usage).toMatchObject({ input_tokens: 6, output_tokens: 1 });
  expect(events.at(-2)?.data.usage).toMatchObject({ input_tokens: 6, output_tokens: 7 });
});

const contents = [{ role: "user", parts: [{ text: "What is the weather in Oslo?" }] }];
const systemInstruction = { parts: [{ text: "Be terse." }] };

test.each<[string, string, object, object]>([
  ["Messages", `${MESSAGES}/count_tokens`, { messages: HELLO }, { input_tokens: 6 }],
  ["Responses", `${RESPONSES}/input_tokens`, { input: "hello there" }, { input_tokens: 7 }],
  ["Responses, of items", `${RESPONSES}/input_tokens`, { input: HELLO }, { input_tokens: 6 }],
  ["Gemini", GEMINI, { contents }, { totalTokens: 11 }],
  [
    "Gemini, of a whole request",
    GEMINI,
    { generateContentRequest: { model: "models/m", contents, systemInstruction } },
    { totalTokens: 18 },
  ],
  [
    "Vertex",
    "/v1/projects/p/locations/l/publishers/google/models/m:countTokens",
    { contents, systemInstruction },
    { totalTokens: 18 },
  ],
  [
    "Converse",
    "/model/m/count-tokens",
    { input: { converse: { messages: [{ role: "user", content: [{ text: "a" }] }] } } },
    { inputTokens: expect.any(Number) },
  ],
])("tokens are counted: %s", async (_, path, body, expected) => {
  expect(await answer(path, body, VERSION)).toMatchObject(expected);
});

test("models are listed", async () => {
  const response = await fetch(`${server.url}/v1/models`);
  expect(await response.json()).toMatchObject({
    data: [{ id: "mock-small" }, { id: "mock-large" }],
  });
});

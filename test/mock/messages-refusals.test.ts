import { expect, test } from "vitest";
import { seal, sign } from "../../mock/model/signature.ts";
import { HELLO, mockForTest, postTo } from "./start.ts";

const PATH = "/v1/messages";
const OLD = { "anthropic-version": "2023-06-01" };
const NEW = { "anthropic-version": "2026-10-21" };

const use = { type: "tool_use", id: "toolu_1", name: "f", input: {} };
const result = { type: "tool_result", tool_use_id: "toolu_1", content: "1" };
const tool = { name: "f", input_schema: { type: "object" } };
const thought = { type: "thinking", thinking: "hm", signature: sign("thinking", "hm") };
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const document = { type: "document", source: { type: "text", media_type: "text/plain", data: "x" } };
const cited = { type: "text", text: "x", citations: [{ type: "char_location" }] };
const manual = { type: "enabled", budget_tokens: 1_024 };
const mark = { cache_control: { type: "ephemeral" } };

/** A conversation whose second message is the model's. */
function said(...content: object[]): object {
  return { messages: [...HELLO, { role: "assistant", content }, { role: "user", content: "go on" }] };
}

function user(...content: object[]): object {
  return { messages: [{ role: "user", content }] };
}

const refused: [string, object, string][] = [
  ["no model", { model: undefined }, "model: Field required"],
  ["no messages", { messages: undefined }, "messages: Field required"],
  ["no limit", { max_tokens: undefined }, "max_tokens: Field required"],
  ["a limit below zero", { max_tokens: -1 }, "max_tokens: Input should be"],
  ["null for what may not be null", { temperature: null }, "temperature: Input should be"],
  ["a member of OpenAI", { reasoning_effort: "low" }, "reasoning_effort: Extra inputs are not permitted"],
  ["a name of Object.prototype", { constructor: 1 }, "constructor: Extra inputs are not permitted"],
  ["a temperature of OpenAI", { temperature: 1.5 }, "temperature: Input should be a number from 0 to 1"],
  ["stop as OpenAI calls it", { stop: "x" }, "stop: Extra inputs"],
  [
    "a blank stop sequence",
    { stop_sequences: [" "] },
    "stop_sequences: each stop sequence must contain non-whitespace",
  ],
  ["unknown metadata", { metadata: { name: "x" } }, "metadata.name: Extra inputs"],
  ["an empty conversation", { messages: [] }, "messages: at least one message is required"],
  ["an unknown role", { messages: [{ role: "tool", content: "x" }] }, "messages.0.role: Input should be"],
  ["a message with a name", { messages: [{ role: "user", content: "x", name: "n" }] }, "messages.0.name: Extra inputs"],
  ["a message without content", { messages: [{ role: "user" }] }, "messages.0.content: Field required"],
  [
    "an empty message",
    { messages: [{ role: "user", content: "" }] },
    "messages.0: all messages must have non-empty content",
  ],
  [
    "an empty text",
    user({ type: "text", text: "" }),
    "messages.0.content.0.text: text content blocks must be non-empty",
  ],
  ["a blank text", user({ type: "text", text: "\n" }), "must contain non-whitespace text"],
  ["a text with more", user({ type: "text", text: "x", id: 1 }), "messages.0.content.0.text.id: Extra inputs"],
  [
    "a part of OpenAI",
    user({ type: "image_url", image_url: {} }),
    "messages.0.content.0: Input tag found using 'type'",
  ],
  [
    "an image of an odd type",
    user({ ...image, source: { ...image.source, media_type: "image/tiff" } }),
    "image.source.base64.media_type",
  ],
  [
    "an image that is no base64",
    user({ ...image, source: { ...image.source, data: "data:," } }),
    "image.source.base64.data",
  ],
  [
    "an image from an odd place",
    user({ ...image, source: { type: "s3" } }),
    "image.source.type: Input should be one of",
  ],
  ["an image in an answer", said(image), "messages.1.content.0: Input tag"],
  ["a use of a tool by the caller", user(use), "messages.0.content.0: Input tag"],
  [
    "arguments as text",
    said({ ...use, input: "{}" }),
    "messages.1.content.0.tool_use.input: Input should be an object",
  ],
  ["an identifier of an odd form", said({ ...use, id: "call:1" }), "messages.1.content.0.tool_use.id: Input should be"],
  ["a use without its result", said(use), "messages.1: `tool_use` ids were found without `tool_result` blocks"],
  ["a use at the end", { messages: [...HELLO, { role: "assistant", content: [use] }] }, "messages.1: `tool_use` ids"],
  [
    "a use whose result comes later",
    {
      messages: [
        ...HELLO,
        { role: "assistant", content: [use] },
        { role: "user", content: "wait" },
        { role: "assistant", content: "ok" },
        { role: "user", content: [result] },
      ],
    },
    "messages.1: `tool_use` ids",
  ],
  [
    "a text before the result",
    {
      messages: [
        ...HELLO,
        { role: "assistant", content: [use] },
        { role: "user", content: [{ type: "text", text: "x" }, result] },
      ],
    },
    "messages.1: `tool_use` ids",
  ],
  [
    "two uses of one identifier",
    { messages: [...HELLO, { role: "assistant", content: [use, use] }, { role: "user", content: [result] }] },
    "`tool_use` ids must be unique",
  ],
  ["a result without its use", user(result), "messages.0.content.0: unexpected `tool_use_id`"],
  [
    "an image as an error",
    {
      messages: [
        ...HELLO,
        { role: "assistant", content: [use] },
        { role: "user", content: [{ ...result, is_error: true, content: [image] }] },
      ],
    },
    "all content must be type `text` if `is_error` is true",
  ],
  [
    "a signature of another provider",
    said({ ...thought, signature: "EqQBCgYIAR" }),
    "messages.1.content.0: Invalid `signature` in `thinking` block",
  ],
  ["a signature of another text", said({ ...thought, thinking: "hmm" }), "Invalid `signature`"],
  [
    "a signature of another family",
    said({ ...thought, signature: sign("encrypted-reasoning", "hm") }),
    "Invalid `signature`",
  ],
  [
    "thinking without a signature",
    said({ type: "thinking", thinking: "hm" }),
    "messages.1.content.0.thinking.signature: Field required",
  ],
  [
    "redacted thinking of another provider",
    said({ type: "redacted_thinking", data: "abc" }),
    "Invalid `data` in `redacted_thinking` block",
  ],
  [
    "a beginning of the answer that ends in a space",
    { messages: [...HELLO, { role: "assistant", content: "The " }] },
    "cannot end with trailing whitespace",
  ],
  [
    "too small a budget",
    { thinking: { ...manual, budget_tokens: 1_023 } },
    "thinking.budget_tokens: Input should be greater",
  ],
  [
    "a budget for adaptive thinking",
    { thinking: { ...manual, type: "adaptive" } },
    "thinking.budget_tokens: Extra inputs",
  ],
  [
    "a budget that leaves nothing",
    { thinking: manual, max_tokens: 1_024 },
    "max_tokens: `max_tokens` must be greater than `thinking.budget_tokens`",
  ],
  [
    "thinking that is cooled",
    { thinking: manual, temperature: 0.5 },
    "temperature: `temperature` may only be set to 1",
  ],
  ["thinking with top_k", { thinking: manual, top_k: 3 }, "top_k: `top_k` must be unset"],
  ["thinking with a low top_p", { thinking: manual, top_p: 0.5 }, "top_p: "],
  [
    "thinking before a forced tool",
    { thinking: manual, tools: [tool], tool_choice: { type: "any" } },
    "Thinking may not be enabled when tool_choice forces tool use.",
  ],
  [
    "thinking before a begun answer",
    { thinking: manual, messages: [...HELLO, { role: "assistant", content: "The" }] },
    "messages: The final message must not be",
  ],
  ["an unknown kind of thinking", { thinking: { type: "deep" } }, "thinking.type: Input should be one of"],
  ["an unknown effort", { output_config: { effort: "minimal" } }, "output_config.effort: Input should be"],
  [
    "a format without a schema",
    { output_config: { format: { type: "json_schema" } } },
    "output_config.format.schema: Field required",
  ],
  [
    "a format of OpenAI",
    { output_config: { format: { type: "json_object" } } },
    "output_config.format.schema: Field required",
  ],
  [
    "a schema that is open",
    { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
    "'additionalProperties' must be explicitly set to false",
  ],
  [
    "a schema that is open at depth",
    {
      output_config: {
        format: { type: "json_schema", schema: { type: "array", items: { anyOf: [{ type: "object" }] } } },
      },
    },
    "'additionalProperties' must be",
  ],
  [
    "a schema that nothing satisfies",
    { output_config: { format: { type: "json_schema", schema: { type: "integer", minimum: 2, maximum: 1 } } } },
    "output_config.format.schema: The simulated provider",
  ],
  [
    "a format for a begun answer",
    {
      messages: [...HELLO, { role: "assistant", content: "{" }],
      output_config: { format: { type: "json_schema", schema: { const: 1 } } },
    },
    "output_config.format: Prefilling",
  ],
  ["a tool of OpenAI", { tools: [{ type: "function", function: {} }] }, "tools.0.custom.name: Field required"],
  ["a tool without a schema", { tools: [{ name: "f" }] }, "tools.0.custom.input_schema: Field required"],
  [
    "a schema that is no object's",
    { tools: [{ name: "f", input_schema: {} }] },
    "tools.0.custom.input_schema.type: Input should be 'object'",
  ],
  ["two tools of one name", { tools: [tool, tool] }, "tools: Tool names must be unique."],
  ["a choice as text", { tools: [tool], tool_choice: "auto" }, "tool_choice: Input should be an object"],
  [
    "a choice of OpenAI",
    { tools: [tool], tool_choice: { type: "function" } },
    "tool_choice.type: Input should be one of",
  ],
  ["a choice without tools", { tool_choice: { type: "any" } }, "tool_choice: tool_choice may only be specified"],
  [
    "a choice of a tool that is not there",
    { tools: [tool], tool_choice: { type: "tool", name: "g" } },
    "tool_choice.name: Tool not found",
  ],
  [
    "a mark of an unknown kind",
    user({ type: "text", text: "x", cache_control: { type: "forever" } }),
    "messages.0.content.0.cache_control.type",
  ],
  [
    "five marks",
    {
      ...mark,
      tools: [{ ...tool, ...mark }],
      system: [{ type: "text", text: "x", ...mark }],
      ...user({ type: "text", text: "x", ...mark }, { type: "text", text: "y", ...mark }),
    },
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
  ],
  ["what needs a beta", { context_management: {} }, "context_management: Extra inputs"],
];

test.each(refused)("400 for %s", async (_, body, message) => {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { model: "m", max_tokens: 2_000, messages: HELLO, ...body }, OLD);
  expect(await response.json()).toEqual({
    type: "error",
    error: { type: "invalid_request_error", message: expect.stringContaining(message) },
    request_id: "req_mock_1",
  });
  expect(response.status).toBe(400);
  expect([response.headers.get("request-id"), response.headers.get("x-should-retry")]).toEqual(["req_mock_1", "false"]);
});

const accepted: [string, object, Record<string, string>][] = [
  ["null for what may be null", { container: null, cache_control: null, inference_geo: null, speed: null }, OLD],
  ["the model's word first", { messages: [{ role: "assistant", content: "Hello." }, ...HELLO] }, OLD],
  ["messages of one role in a row", { messages: [...HELLO, ...HELLO] }, OLD],
  ["a system message among the others", { messages: [...HELLO, { role: "system", content: "Be brief." }] }, OLD],
  ["a begun answer", { messages: [...HELLO, { role: "assistant", content: "The" }] }, OLD],
  [
    "images and documents",
    user(image, document, { ...image, source: { type: "url", url: "https://example.com/a.png" } }),
    OLD,
  ],
  ["its own thinking", said(thought, { type: "text", text: "x" }), OLD],
  [
    "its own redacted thinking",
    said({ type: "redacted_thinking", data: seal("redacted-thinking", "t") }, { type: "text", text: "x" }),
    OLD,
  ],
  [
    "results in two messages, and then a text",
    {
      messages: [
        ...HELLO,
        { role: "assistant", content: [use, { ...use, id: "toolu_2" }] },
        { role: "user", content: [result] },
        {
          role: "user",
          content: [
            { ...result, tool_use_id: "toolu_2", content: [image] },
            { type: "text", text: "x" },
          ],
        },
      ],
    },
    OLD,
  ],
  [
    "tools and results of Anthropic's own",
    {
      ...said(
        { type: "server_tool_use", id: "s1", name: "web_search", input: {} },
        { type: "web_search_tool_result", tool_use_id: "s1", content: [] },
      ),
      tools: [{ type: "web_search_20250305", name: "web_search" }],
    },
    OLD,
  ],
  [
    "a forced tool before adaptive thinking",
    { thinking: { type: "adaptive" }, tools: [tool], tool_choice: { type: "any" } },
    OLD,
  ],
  ["sampling in the older version", { temperature: 0.5, top_k: 3 }, OLD],
  [
    "citations and documents in the older version",
    { messages: [{ role: "user", content: [cited] }, { role: "assistant", content: [document] }, ...HELLO] },
    OLD,
  ],
  [
    "what a beta adds",
    { context_management: {}, output_config: { task_budget: {} } },
    { ...NEW, "anthropic-beta": "context-management-2025-06-27,task-budgets-2026-01-01" },
  ],
  [
    "a budget over several answers",
    { thinking: manual, max_tokens: 100 },
    { ...OLD, "anthropic-beta": "interleaved-thinking-2025-05-14" },
  ],
  ["a member of another provider, where a test allows it", { model: "m+lenient", top_a: 3 }, OLD],
  ["the newer version", {}, NEW],
];

test.each(accepted)("200 for %s", async (_, body, headers) => {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { model: "m", max_tokens: 2_000, messages: HELLO, ...body }, headers);
  expect(await response.json()).toMatchObject({ type: "message" });
});

const byHeader: [string, object, Record<string, string>, string][] = [
  ["no version", {}, {}, "anthropic-version: header is required"],
  ["an unknown version", {}, { "anthropic-version": "2024-01-01" }, "2023-06-01 or 2026-10-21"],
  ["a beta of an odd form", {}, { ...OLD, "anthropic-beta": "good-2026-01-01, not a beta" }, "anthropic-beta: value 2"],
  [
    "temperature in the newer version",
    { temperature: 1 },
    NEW,
    "temperature: not supported with anthropic-version 2026-10-21",
  ],
  ["top_p in the newer version", { top_p: 1 }, NEW, "top_p: not supported"],
  ["top_k in the newer version", { top_k: 0 }, NEW, "top_k: not supported"],
  [
    "citations of the caller in the newer version",
    user(cited),
    NEW,
    "messages.0.content.0.text.citations: not supported",
  ],
  [
    "documents of the model in the newer version",
    said(document),
    NEW,
    "messages.1.content.0.document: document blocks",
  ],
];

test.each(byHeader)("400 for %s", async (_, body, headers, message) => {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { model: "m", max_tokens: 9, messages: HELLO, ...body }, headers);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(message) } });
});

test("401 without a key, whichever header it would come in", async () => {
  const server = await mockForTest();
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await postTo(server, PATH, { model: "m+require-auth", max_tokens: 9, messages: HELLO }, { ...OLD, ...headers }))
      .status;
  expect([await ask({}), await ask({ "x-api-key": "k" }), await ask({ authorization: "Bearer k" })]).toEqual([
    401, 200, 200,
  ]);
});

test("counting takes what it counts and nothing else", async () => {
  const server = await mockForTest();
  const path = `${PATH}/count_tokens`;
  const body = { model: "m", messages: HELLO, tools: [tool], system: "x".repeat(400) };
  const counted = (await (await postTo(server, path, body, OLD)).json()) as { input_tokens: number };
  expect(counted.input_tokens).toBeGreaterThan(100);
  expect((await postTo(server, path, { ...body, max_tokens: 9 }, OLD)).status).toBe(400);
  expect((await postTo(server, path, body)).status).toBe(400);
  expect((await postTo(server, path, { ...body, ...said(use) }, OLD)).status).toBe(400);
});

import { expect, test } from "vitest";
import { seal } from "../../mock/model/signature.ts";
import { mockForTest, postTo } from "./start.ts";

const PATH = "/v1/responses";
const user = { role: "user", content: "hello" };
const call = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
const result = { type: "function_call_output", call_id: "c1", output: "1" };
const own = seal("encrypted-reasoning", "rs_mock_1_0");
const thought = { type: "reasoning", summary: [], encrypted_content: own };
const tool = { type: "function", name: "f", parameters: { type: "object" } };

const refused: [string, object, string | null, string | null][] = [
  ["no model", { model: undefined }, "model", "missing_required_parameter"],
  ["no input", { input: undefined }, "input", "missing_required_parameter"],
  ["an empty input", { input: [] }, "input", null],
  ["messages", { messages: [user] }, "messages", "unknown_parameter"],
  ["stop, which responses do not have", { stop: ["x"] }, "stop", "unknown_parameter"],
  ["response_format, which is called otherwise", { response_format: {} }, "response_format", "unknown_parameter"],
  ["a name of Object.prototype", { constructor: 1 }, "constructor", "unknown_parameter"],
  ["a temperature below zero", { temperature: -1 }, "temperature", "invalid_value"],
  ["a limit that is too small", { max_output_tokens: 15 }, "max_output_tokens", "integer_below_min_value"],
  ["a stream that is no boolean", { stream: "yes" }, "stream", "invalid_value"],
  ["stream options without a stream", { stream_options: {} }, "stream_options", null],
  [
    "stream options of chat completions",
    { stream: true, stream_options: { include_usage: true } },
    "stream_options.include_usage",
    "unknown_parameter",
  ],
  ["something that cannot be included", { include: ["everything"] }, "include", "invalid_value"],
  [
    "an answer that nobody stored",
    { previous_response_id: "resp_1" },
    "previous_response_id",
    "previous_response_not_found",
  ],
  ["an answer in the background", { background: true }, "background", null],
  ["an unknown effort", { reasoning: { effort: "extreme" } }, "reasoning.effort", "invalid_value"],
  ["an unknown member of reasoning", { reasoning: { budget: 1 } }, "reasoning.budget", "unknown_parameter"],
  ["an item that is no object", { input: ["hello"] }, "input[0]", "invalid_type"],
  ["an item of no type", { input: [{}] }, "input[0].type", "missing_required_parameter"],
  ["an item of an unknown type", { input: [{ type: "thought" }] }, "input[0].type", "invalid_value"],
  ["an unknown role", { input: [{ role: "human", content: "" }] }, "input[0].role", "invalid_value"],
  ["a message without content", { input: [{ role: "user" }] }, "input[0].content", "missing_required_parameter"],
  [
    "a message with a member of another protocol",
    { input: [{ ...user, cache_control: {} }] },
    "input[0].cache_control",
    "unknown_parameter",
  ],
  [
    "a part of chat completions",
    { input: [{ role: "user", content: [{ type: "text", text: "x" }] }] },
    "input[0].content[0].type",
    "invalid_value",
  ],
  [
    "what the caller says in the model's parts",
    { input: [{ role: "user", content: [{ type: "output_text", text: "x" }] }] },
    "input[0].content[0].type",
    "invalid_value",
  ],
  [
    "what the model said in the caller's parts",
    { input: [user, { role: "assistant", content: [{ type: "input_text", text: "x" }] }] },
    "input[1].content[0].type",
    "invalid_value",
  ],
  [
    "an image of chat completions",
    { input: [{ role: "user", content: [{ type: "input_image", image_url: { url: "data:," } }] }] },
    "input[0].content[0].image_url",
    "invalid_value",
  ],
  [
    "an image from nowhere",
    { input: [{ role: "user", content: [{ type: "input_image" }] }] },
    "input[0].content[0]",
    null,
  ],
  [
    "a call with an identifier of another kind",
    { input: [user, { ...call, id: "call_1" }, result] },
    "input[1].id",
    "invalid_value",
  ],
  [
    "arguments that are no text",
    { input: [user, { ...call, arguments: {} }, result] },
    "input[1].arguments",
    "invalid_value",
  ],
  ["a call without its result", { input: [user, call, user] }, "input", null],
  ["a result without its call", { input: [user, result] }, "input", null],
  ["a result before its call", { input: [user, result, call] }, "input", null],
  [
    "reasoning that another provider sealed",
    { input: [user, { ...thought, encrypted_content: "gAAAAABo" }, call, result] },
    null,
    "invalid_encrypted_content",
  ],
  [
    "reasoning that was sealed for another family",
    { input: [user, { ...thought, encrypted_content: seal("redacted-thinking", "rs_mock_1_0") }, call, result] },
    null,
    "invalid_encrypted_content",
  ],
  [
    "reasoning whose seal was changed",
    { input: [user, { ...thought, encrypted_content: `${own}A` }, call, result] },
    null,
    "invalid_encrypted_content",
  ],
  [
    "reasoning without a summary",
    { input: [user, { type: "reasoning" }] },
    "input[1].summary",
    "missing_required_parameter",
  ],
  ["reasoning that leads to nothing", { input: [user, { ...thought, id: "rs_mock_1_0" }] }, "input", null],
  [
    "a tool of chat completions",
    { tools: [{ type: "function", function: { name: "f" } }] },
    "tools[0].name",
    "missing_required_parameter",
  ],
  ["a tool of no known type", { tools: [{ type: "gadget" }] }, "tools[0].type", "invalid_value"],
  ["a tool of Anthropic", { tools: [{ ...tool, input_schema: {} }] }, "tools[0].input_schema", "unknown_parameter"],
  ["two tools of one name", { tools: [tool, tool] }, "tools[1].name", null],
  [
    "a choice of chat completions",
    { tools: [tool], tool_choice: { type: "function", function: { name: "f" } } },
    "tool_choice.name",
    "missing_required_parameter",
  ],
  [
    "a choice of a tool that is not there",
    { tools: [tool], tool_choice: { type: "function", name: "g" } },
    "tool_choice",
    null,
  ],
  ["a choice without tools", { tool_choice: "required" }, "tool_choice", null],
  [
    "allowed tools that are not there",
    { tools: [tool], tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "g" }] } },
    "tool_choice.tools",
    null,
  ],
  [
    "a format as chat completions write it",
    { text: { format: { type: "json_schema", json_schema: { name: "n", schema: {} } } } },
    "text.format.name",
    "missing_required_parameter",
  ],
  ["an unknown format", { text: { format: { type: "xml" } } }, "text.format.type", "invalid_value"],
  [
    "a schema that nothing satisfies",
    { text: { format: { type: "json_schema", name: "n", schema: { type: "integer", minimum: 2, maximum: 1 } } } },
    "text.format.schema",
    null,
  ],
  ["a finish reason that responses do not have", { model: "m+finish=pause" }, "model", "mock_behaviour"],
  ["thinking that only Anthropic redacts", { model: "m+redacted" }, "model", "mock_behaviour"],
];

test.each(refused)("400 for %s", async (_, body, param, code) => {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { model: "m", input: "hello", ...body });
  expect(await response.json()).toEqual({
    error: { message: expect.any(String), type: "invalid_request_error", param, code },
  });
  expect(response.status).toBe(400);
  expect(response.headers.get("x-request-id")).toBe("req_mock_1");
});

const notFound: [string, object][] = [
  ["a conversation", { conversation: "conv_1" }],
  ["a stored prompt", { prompt: { id: "pmpt_1" } }],
  ["an item by reference", { input: [{ type: "item_reference", id: "msg_1" }] }],
  [
    "reasoning by its identifier, without storing",
    { store: false, input: [user, { type: "reasoning", id: "rs_mock_1_0", summary: [] }, call, result] },
  ],
  [
    "reasoning that another provider stored",
    { input: [user, { type: "reasoning", id: "rs_1", summary: [] }, call, result] },
  ],
];

test.each(notFound)("404 for %s", async (_, body) => {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { model: "m", input: "hello", ...body });
  expect(response.status).toBe(404);
});

const accepted: [string, object][] = [
  [
    "absent written as null",
    { previous_response_id: null, conversation: null, tools: null, text: null, reasoning: null },
  ],
  ["reasoning that it sealed", { store: false, input: [user, thought, call, result] }],
  ["reasoning that it stored", { input: [user, { type: "reasoning", id: "rs_mock_1_0", summary: [] }, call, result] }],
  [
    "parallel calls and their results in any order",
    { input: [user, call, { ...call, call_id: "c2" }, { ...result, call_id: "c2" }, result] },
  ],
  ["a message as clients write it, with a type and without", { input: [user, { type: "message", ...user }] }],
  [
    "images and files",
    {
      input: [
        {
          role: "user",
          content: [
            { type: "input_image", image_url: "data:," },
            { type: "input_file", file_data: "data:," },
          ],
        },
      ],
    },
  ],
  ["a result in parts", { input: [user, call, { ...result, output: [{ type: "input_text", text: "1" }] }] }],
  ["tools that OpenAI runs", { tools: [{ type: "web_search" }, tool], tool_choice: "none" }],
  ["items of tools that OpenAI runs", { input: [user, { type: "web_search_call", id: "ws_1" }, user] }],
  ["an empty text", { text: {} }],
  ["a member of another provider, where a test allows it", { model: "m+lenient", top_k: 3 }],
];

test.each(accepted)("200 for %s", async (_, body) => {
  const server = await mockForTest();
  const response = await postTo(server, PATH, { model: "m", input: "hello", ...body });
  expect(await response.json()).toMatchObject({ object: "response", status: "completed" });
});

test("counting takes what it counts and nothing else", async () => {
  const server = await mockForTest();
  const path = `${PATH}/input_tokens`;
  const body = { model: "m", input: [user], tools: [tool], instructions: "x".repeat(400) };
  const counted = (await (await postTo(server, path, body)).json()) as { input_tokens: number };
  expect(counted.input_tokens).toBeGreaterThan(100);
  expect((await postTo(server, path, { ...body, store: false })).status).toBe(400);
  expect((await postTo(server, path, { ...body, input: [call] })).status).toBe(400);
});

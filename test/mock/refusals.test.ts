import { expect, test } from "vitest";
import { HELLO, mockForTest, post } from "./start.ts";

const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const asked = [...HELLO, { role: "assistant", content: null, tool_calls: [call] }];

const refused: [string, object, string][] = [
  ["no model", { model: undefined }, "model"],
  ["a model that is no text", { model: 5 }, "model"],
  ["no messages", { messages: undefined }, "messages"],
  ["an empty conversation", { messages: [] }, "messages"],
  ["a message that is no object", { messages: ["hi"] }, "messages[0]"],
  ["an unknown role", { messages: [{ role: "human", content: "" }] }, "messages[0].role"],
  ["no content", { messages: [{ role: "user" }] }, "messages[0].content"],
  [
    "a part that the role does not have",
    { messages: [{ role: "system", content: [{ type: "image_url", image_url: { url: "" } }] }] },
    "messages[0].content[0].type",
  ],
  [
    "a text part without text",
    { messages: [{ role: "user", content: [{ type: "text" }] }] },
    "messages[0].content[0].text",
  ],
  [
    "an image without an address",
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: "x" }] }] },
    "messages[0].content[0].image_url",
  ],
  [
    "a tool result that answers nothing",
    { messages: [...HELLO, { role: "tool", tool_call_id: "c1", content: "" }] },
    "messages[1].tool_call_id",
  ],
  [
    "a tool result for another call",
    { messages: [...asked, { role: "tool", tool_call_id: "c2", content: "" }] },
    "messages[2].tool_call_id",
  ],
  ["a call without an answer", { messages: asked }, "messages"],
  ["a call without an answer, and then more", { messages: [...asked, ...HELLO] }, "messages[2]"],
  [
    "a call without an id",
    { messages: [{ role: "assistant", tool_calls: [{ ...call, id: undefined }] }] },
    "messages[0].tool_calls[0].id",
  ],
  [
    "a call without arguments",
    { messages: [{ role: "assistant", tool_calls: [{ ...call, function: { name: "f" } }] }] },
    "messages[0].tool_calls[0]",
  ],
  ["a member that OpenAI does not have", { provider: { only: ["x"] } }, "provider"],
  ["a name of Object.prototype", { constructor: 1 }, "constructor"],
  ["a temperature too high", { temperature: 2.1 }, "temperature"],
  ["n too high", { n: 129 }, "n"],
  ["max_tokens of zero", { max_tokens: 0 }, "max_tokens"],
  ["both limits", { max_tokens: 1, max_completion_tokens: 1 }, "max_tokens"],
  ["five stop sequences", { stop: ["a", "b", "c", "d", "e"] }, "stop"],
  ["stream that is no boolean", { stream: "yes" }, "stream"],
  ["stream options without a stream", { stream_options: {} }, "stream_options"],
  ["top_logprobs alone", { top_logprobs: 1 }, "top_logprobs"],
  ["an unknown effort", { reasoning_effort: "extreme" }, "reasoning_effort"],
  ["an unknown format", { response_format: { type: "xml" } }, "response_format.type"],
  [
    "a schema without a name",
    { response_format: { type: "json_schema", json_schema: { schema: {} } } },
    "response_format.json_schema.name",
  ],
  [
    "a format without a schema",
    { response_format: { type: "json_schema", json_schema: { name: "a" } } },
    "response_format.json_schema.schema",
  ],
  [
    "a schema that nothing satisfies",
    {
      response_format: {
        type: "json_schema",
        json_schema: { name: "a", schema: { type: "integer", minimum: 2, maximum: 1 } },
      },
    },
    "response_format",
  ],
  ["a tool without a type", { tools: [{ function: {} }] }, "tools[0].type"],
  ["a tool with a wrong name", { tools: [{ type: "function", function: { name: "a b" } }] }, "tools[0].function.name"],
  [
    "parameters that are no schema",
    { tools: [{ type: "function", function: { name: "f", parameters: 1 } }] },
    "tools[0].function.parameters",
  ],
  ["two tools of one name", { tools: [tool, tool] }, "tools[1]"],
  ["a choice without tools", { tool_choice: "required" }, "tool_choice"],
  [
    "a choice of a tool that is not there",
    { tools: [tool], tool_choice: { type: "function", function: { name: "g" } } },
    "tool_choice",
  ],
  [
    "allowed tools that are not there",
    {
      tools: [tool],
      tool_choice: { type: "allowed_tools", allowed_tools: { tools: [{ type: "function", function: { name: "g" } }] } },
    },
    "tool_choice.allowed_tools.tools",
  ],
  [
    "strict parameters that cannot be met",
    {
      tools: [
        {
          type: "function",
          function: { name: "f", strict: true, parameters: { type: "string", pattern: "^(foo|bar)x$" } },
        },
      ],
    },
    "tools",
  ],
  ["an unknown word", { model: "m+explode" }, "model"],
];

test.each(refused)("400 for %s", async (_, body, param) => {
  const server = await mockForTest();
  const response = await post(server, { model: "m", messages: HELLO, ...body });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    error: {
      message: expect.any(String),
      type: "invalid_request_error",
      param,
      code: expect.toSatisfy((code) => code === null || typeof code === "string"),
    },
  });
});

const accepted: [string, object][] = [
  ["absent written as null", { stop: null, n: null, stream_options: null, tools: null, max_tokens: null }],
  [
    "a whole tool loop",
    {
      tools: [tool],
      messages: [...asked, { role: "tool", tool_call_id: "c1", content: [{ type: "text", text: "1" }] }, ...HELLO],
    },
  ],
  ["an image", { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] }] }],
  ["a member of another provider, where a test allows it", { model: "m+lenient", top_k: 3 }],
  [
    "parameters that cannot be met, but are not strict",
    { tools: [{ type: "function", function: { name: "f", parameters: { type: "string", pattern: "^(foo|bar)x$" } } }] },
  ],
];

test.each(accepted)("200 for %s", async (_, body) => {
  const server = await mockForTest();
  const response = await post(server, { model: "m", messages: HELLO, ...body });
  expect(await response.json()).toMatchObject({ object: "chat.completion" });
});

test.each(["", "{", "[]", "null", '"text"'])("400 for the body %j", async (body) => {
  const server = await mockForTest();
  const response = await post(server, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: "The body must be a JSON object." } });
});

test("401 without a key, where a test asks for one", async () => {
  const server = await mockForTest();
  const body = { model: "m", messages: HELLO };
  const without = await post(server, body, { "x-mock": "require-auth" });
  expect(without.status).toBe(401);
  expect(await without.json()).toMatchObject({ error: { code: "invalid_api_key" } });
  const other = await post(server, body, { "x-mock": "require-auth", authorization: "Basic eDp5" });
  expect(other.status).toBe(401);
  const withKey = await post(server, body, { "x-mock": "require-auth", authorization: "Bearer k" });
  expect(withKey.status).toBe(200);
});

test("404 and 405 with what would be right", async () => {
  const server = await mockForTest();
  const nowhere = await fetch(`${server.url}/v1/nowhere`);
  expect(nowhere.status).toBe(404);
  expect(await nowhere.text()).toContain("POST …/chat/completions");
  const wrong = await fetch(`${server.url}/v1/chat/completions`);
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
  const log = await fetch(`${server.url}/mock/requests`, { method: "PUT" });
  expect([log.status, log.headers.get("allow")]).toEqual([405, "GET, DELETE"]);
});

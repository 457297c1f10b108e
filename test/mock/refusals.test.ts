import { describe, expect, test } from "vitest";
import { seal, sign } from "../../mock/model/signature.ts";
import { HELLO, mockForTest, post, postTo } from "./start.ts";

const strictTool = (parameters: object) => ({
  type: "function",
  function: { name: "f", strict: true, parameters },
});
const impossible = { type: "integer", minimum: 2, maximum: 1 };

const refused: [string, object, string][] = [
  ["no messages", { messages: undefined }, "messages"],
  ["an empty conversation", { messages: [] }, "messages"],
  [
    "a schema that nothing satisfies",
    { response_format: { type: "json_schema", json_schema: { name: "a", schema: impossible } } },
    "response_format",
  ],
  ["strict parameters that cannot be met", { tools: [strictTool(impossible)] }, "tools"],
  ["an unknown setting", { model: "m+explode" }, "model"],
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
  ["members that the protocol does not have", { top_k: 3, provider: {} }],
  [
    "absent written as null",
    { stop: null, n: null, stream_options: null, tools: null, max_tokens: null },
  ],
  [
    "values of another type",
    { n: "two", stop: 5, tools: {}, tool_choice: [], response_format: "json" },
  ],
  [
    "parameters that cannot be met, but are not strict",
    { tools: [{ type: "function", function: { name: "f", parameters: impossible } }] },
  ],
];

test.each(accepted)("200 for %s", async (_, body) => {
  const server = await mockForTest();
  const response = await post(server, { model: "m", messages: HELLO, ...body });
  expect(await response.json()).toMatchObject({ object: "chat.completion" });
});

/**
 * A request that carries reasoning of an answer before it, and what it says where no simulated
 * provider made the signature.
 */
type Signed = [
  protocol: string,
  path: string,
  body: (signature: string) => object,
  own: string,
  message: RegExp,
];

const signed: readonly Signed[] = [
  [
    "messages: thinking",
    "/v1/messages",
    (signature) => ({
      messages: [
        ...HELLO,
        { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature }] },
      ],
    }),
    sign("thinking", "hm"),
    /^messages\.1\.content\.0: Invalid `signature` in `thinking` block$/,
  ],
  [
    "messages: redacted thinking",
    "/v1/messages",
    (data) => ({
      messages: [...HELLO, { role: "assistant", content: [{ type: "redacted_thinking", data }] }],
    }),
    seal("redacted-thinking", "hm"),
    /^messages\.1\.content\.0: Invalid `data` in `redacted_thinking` block$/,
  ],
  [
    "responses: sealed reasoning",
    "/v1/responses",
    (sealed) => ({
      input: [...HELLO, { type: "reasoning", summary: [], encrypted_content: sealed }, ...HELLO],
    }),
    seal("encrypted-reasoning", "hm"),
    /^The encrypted content for the item at 'input\[1\]' could not be verified\./,
  ],
  [
    "Converse: reasoning",
    "/model/m/converse",
    (signature) => ({
      messages: [
        {
          role: "assistant",
          content: [{ reasoningContent: { reasoningText: { text: "hm", signature } } }],
        },
      ],
    }),
    sign("reasoning-content", "hm"),
    /Invalid `signature` in `thinking` block$/,
  ],
];

describe("reasoning of another provider", () => {
  test.each(signed)("is refused, and its own is taken: %s", async (_, path, body, own, message) => {
    const server = await mockForTest();
    const send = (signature: string): Promise<Response> =>
      postTo(server, path, { model: "m", ...body(signature) });
    const mistaken = (await (await send("EqQBCgYIAR")).json()) as {
      error?: { message: string };
      message?: string;
    };
    expect(mistaken.error?.message ?? mistaken.message).toMatch(message);
    expect((await send(own)).status).toBe(200);
  });
});

test.each(["", "{", "[]", "null", '"text"'])("400 for the body %j", async (body) => {
  const server = await mockForTest();
  const response = await post(server, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { message: "The body must be a JSON object." },
  });
});

test("401 without a key, where a test requests one", async () => {
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

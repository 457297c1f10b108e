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

const GEMINI = "/v1beta/models/m:generateContent";
const contents = [{ role: "user", parts: [{ text: "hello" }] }];
const conversation = { messages: [{ role: "user", content: [{ text: "hello" }] }] };
const invoked = { anthropic_version: "bedrock-2023-05-31", max_tokens: 9, messages: HELLO };
const bearer = { authorization: "Bearer k" };
const signed4 = { authorization: "AWS4-HMAC-SHA256 Credential=a" };

test.each<[string, object, number, Record<string, string>]>([
  ["/v1/chat/completions", { messages: HELLO }, 401, bearer],
  ["/v1/messages", { messages: HELLO, max_tokens: 9 }, 401, { "x-api-key": "k" }],
  ["/v2/chat", { messages: HELLO }, 401, bearer],
  [GEMINI, { contents }, 401, { "x-goog-api-key": "k" }],
  [GEMINI, { contents }, 401, bearer],
  ["/model/m/converse", conversation, 403, signed4],
  ["/model/claude/invoke", invoked, 403, bearer],
  [
    "/models/claude:rawPredict",
    { ...invoked, anthropic_version: "vertex-2023-10-16" },
    401,
    bearer,
  ],
])("without a key where one is required: %s", async (path, body, status, credentials) => {
  const server = await mockForTest();
  const send = (headers: Record<string, string>): Promise<Response> =>
    postTo(
      server,
      path,
      { model: "m", ...body },
      { "x-mock": "require-auth", "anthropic-version": "2023-06-01", ...headers },
    );
  expect((await send({})).status).toBe(status);
  expect((await send({ authorization: "Basic eDp5" })).status).toBe(status);
  expect((await send(credentials)).status).toBe(200);
});

test("a stream of Gemini is refused unless it is requested as events", async () => {
  const path = "/v1beta/models/m:streamGenerateContent";
  expect((await postTo(await mockForTest(), path, { contents })).status).toBe(400);
});

test("a signature of Gemini is invalid on another part than its own", async () => {
  const server = await mockForTest();
  const tools = [{ functionDeclarations: [{ name: "f" }, { name: "g" }] }];
  const path = "/v1beta/models/gemini-3-x:generateContent";
  const first = await (await postTo(server, path, { contents, tools })).json();
  const [part] = Object(first).candidates[0].content.parts;
  const answered = {
    role: "user",
    parts: [{ functionResponse: { name: "f", response: { output: "1" } } }],
  };
  const again = async (moved: object): Promise<number> => {
    const model = { role: "model", parts: [{ ...part, ...moved }] };
    const body = { tools, contents: [...contents, model, answered] };
    return (await postTo(server, path, body)).status;
  };
  expect(await again({})).toBe(200);
  expect(await again({ functionCall: { name: "g" } })).toBe(400);
  expect(await again({ thoughtSignature: undefined })).toBe(400);
  expect(await again({ thoughtSignature: "AAAA" })).toBe(400);
});

test("404 and 405 name the right path or method", async () => {
  const server = await mockForTest();
  const nowhere = await fetch(`${server.url}/v1/nowhere`);
  expect(nowhere.status).toBe(404);
  expect(await nowhere.text()).toContain("POST …/chat/completions");
  const wrong = await fetch(`${server.url}/v1/chat/completions`);
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
  const log = await fetch(`${server.url}/mock/requests`, { method: "PUT" });
  expect([log.status, log.headers.get("allow")]).toEqual([405, "GET, DELETE"]);
});

import { expect, test } from "vitest";
import { seal } from "../../mock/model/signature.ts";
import { CHAT, HELLO, mockForFile, post } from "./start.ts";

const server = await mockForFile();

const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  post(server, path, { model: "m", ...body }, { "anthropic-version": "2023-06-01", ...headers });

const MESSAGES = "/v1/messages";
const GEMINI = "/v1beta/models/gemini-3-x:generateContent";
const EMBED = "/v1/embeddings";
const INVOKE = "/model/m/invoke";
const many = (length: number): string[] => Array.from({ length }, () => "x");
const impossible = { type: "integer", minimum: 2, maximum: 1 };
const strict = { type: "function", function: { name: "f", strict: true, parameters: impossible } };
const format = { type: "json_schema", json_schema: { name: "a", schema: impossible } };
const ranked = { query: "red signal", truncation: true, documents: ["x"] };
const contents = [{ role: "user", parts: [{ text: "hello" }] }];
const thinking = { type: "thinking", thinking: "hm", signature: "EqQBCgYIAR" };
const redacted = { type: "redacted_thinking", data: "EqQBCgYIAR" };
const sealed = { type: "reasoning", summary: [], encrypted_content: "EqQBCgYIAR" };
const reasoned = { reasoningContent: { reasoningText: { text: "hm", signature: "EqQBCgYIAR" } } };
const after = (block: object): object => ({
  messages: [...HELLO, { role: "assistant", content: [block] }],
});

test.each<[string, string, object, RegExp]>([
  ["a stream of Gemini without events", "/models/m:streamGenerateContent", { contents }, /alt=sse/],
  [
    "foreign thinking",
    MESSAGES,
    after(thinking),
    /^messages\.1\.content\.0: Invalid `signature` in/,
  ],
  [
    "foreign redacted thinking",
    MESSAGES,
    after(redacted),
    /^messages\.1\.content\.0: Invalid `data`/,
  ],
  [
    "foreign sealed reasoning",
    "/v1/responses",
    { input: [...HELLO, sealed] },
    /'input\[1\]' could not/,
  ],
  ["foreign reasoning of Converse", "/model/m/converse", after(reasoned), /Invalid `signature` in/],
  ["objects to embed", EMBED, { input: [{ text: "x" }] }, /'input'/],
  ["too many texts of OpenAI", EMBED, { input: many(2_049) }, /At most 2048 .* 2049/],
  ["too many texts of Voyage", EMBED, { input: many(1_001), truncation: true }, /At most 1000 /],
  ["too many texts of Cohere", "/v2/embed", { texts: many(97) }, /^texts: At most 96 .* 97/],
  ["no texts of Gemini", "/models/m:batchEmbedContents", { requests: [] }, /requests/],
  ["no instances of Vertex", "/models/m:predict", { parameters: {} }, /instances/],
  ["a list for Titan", INVOKE, { inputText: ["x"] }, /^inputText: /],
  ["no parameters for Nova", INVOKE, { taskType: "SINGLE_EMBEDDING" }, /^singleEmbeddingParams\./],
  ["no documents of Cohere", "/v2/rerank", { ...ranked, documents: [] }, /^documents: /],
  ["objects for Voyage", "/v1/rerank", { ...ranked, documents: [{ text: "x" }] }, /'documents'/],
  ["no sources of Bedrock", "/rerank", { queries: [], sources: [] }, /^(sources|queries): /],
  ["numbers to moderate", "/v1/moderations", { input: [1] }, /'input'/],
])("400 for %s", async (_, path, body, message) => {
  const response = await send(path, body);
  expect(response.status).toBe(400);
  const answer = Object(await response.json());
  expect(answer.error?.message ?? answer.detail ?? answer.message).toMatch(message);
});

test.each<[string, object, string]>([
  ["no messages", {}, "messages"],
  ["an empty conversation", { messages: [] }, "messages"],
  ["an impossible schema", { messages: HELLO, response_format: format }, "response_format"],
  ["strict parameters that cannot be met", { messages: HELLO, tools: [strict] }, "tools"],
  ["an unknown setting", { model: "m+explode" }, "model"],
])("400 for %s, with all members of an error", async (_, body, param) => {
  const response = await send(CHAT, body);
  expect(response.status).toBe(400);
  const { error } = Object(await response.json());
  expect(Object.keys(error)).toEqual(["message", "type", "param", "code"]);
  expect(error).toMatchObject({ type: "invalid_request_error", param });
});

test("redacted thinking of a simulated provider is accepted", async () => {
  const own = { ...redacted, data: seal("redacted-thinking", "hm") };
  expect((await send(MESSAGES, after(own))).status).toBe(200);
});

test.each(["", "{", "[]", "null", '"text"'])("400 for the body %j", async (body) => {
  const response = await post(server, CHAT, body);
  expect(response.status).toBe(400);
  const message = "The body must be a JSON object.";
  expect(await response.json()).toMatchObject({ error: { message } });
});

const conversation = { messages: [{ role: "user", content: [{ text: "hello" }] }] };
const invoked = { anthropic_version: "bedrock-2023-05-31", max_tokens: 9, messages: HELLO };
const vertex = { ...invoked, anthropic_version: "vertex-2023-10-16" };
const bearer = { authorization: "Bearer k" };
const signed = { authorization: "AWS4-HMAC-SHA256 Credential=a" };

test.each<[string, object, number, Record<string, string>]>([
  [CHAT, { messages: HELLO }, 401, bearer],
  [MESSAGES, { messages: HELLO, max_tokens: 9 }, 401, { "x-api-key": "k" }],
  ["/v2/chat", { messages: HELLO }, 401, bearer],
  [GEMINI, { contents }, 401, { "x-goog-api-key": "k" }],
  [GEMINI, { contents }, 401, bearer],
  ["/model/m/converse", conversation, 403, signed],
  ["/model/claude/invoke", invoked, 403, bearer],
  ["/models/claude:rawPredict", vertex, 401, bearer],
])("without a key where one is required: %s", async (path, body, status, credentials) => {
  const statuses: number[] = [];
  for (const headers of [{}, { authorization: "Basic eDp5" }, credentials])
    statuses.push((await send(path, body, { "x-mock": "require-auth", ...headers })).status);
  expect(statuses).toEqual([status, status, 200]);
});

test("a signature of Gemini is invalid on another part than its own", async () => {
  const tools = [{ functionDeclarations: [{ name: "f" }, { name: "g" }] }];
  const first = await (await send(GEMINI, { contents, tools })).json();
  const [part] = Object(first).candidates[0].content.parts;
  const result = { functionResponse: { name: "f", response: { output: "1" } } };
  const statuses: number[] = [];
  for (const moved of [
    {},
    { functionCall: { name: "g" } },
    { thoughtSignature: undefined },
    { thoughtSignature: "AAAA" },
  ]) {
    const turns = [
      { role: "model", parts: [{ ...part, ...moved }] },
      { role: "user", parts: [result] },
    ];
    statuses.push((await send(GEMINI, { tools, contents: [...contents, ...turns] })).status);
  }
  expect(statuses).toEqual([200, 400, 400, 400]);
});

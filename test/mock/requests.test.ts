import fc from "fast-check";
import { expect, test } from "vitest";
import { seal } from "../../mock/model/signature.ts";
import { base64Of, vectorOf } from "../../mock/unary/embed/vector.ts";
import { codePoint } from "../support/code-point.ts";
import { BODY, CHAT, HELLO, eventsOf, mockForFile, post } from "./start.ts";

/*
 * Requests that the router never sends, and what no reader of the router sees of an answer:
 * `answers.test.ts` and `test/clients/` have the rest of the protocols.
 */

const server = await mockForFile();

const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  post(server, path, { model: "m", ...body }, headers);

const answer = async (path: string, body: object) =>
  JSON.parse(await (await send(path, body)).text());

/** The data of each event; `[DONE]` is left out. */
async function streamed(path: string, body: object) {
  const response = await send(path, { ...body, stream: true });
  const events = eventsOf(new Uint8Array(await response.arrayBuffer()));
  expect(events.pop()?.data).toBe("[DONE]");
  return events.map(({ data }) => JSON.parse(data ?? ""));
}

test("several choices of a chat are streamed in the order of OpenAI's chunks", async () => {
  const body = { messages: HELLO, n: 2, stream_options: { include_usage: true } };
  const { choices: whole } = await answer(CHAT, body);
  expect(whole[1].message.content).toBe("Simulated answer 2 of 2 from m to 1 message.");
  const chunks = await streamed(CHAT, { ...body, model: "m+chunks=2" });
  expect(chunks.pop()).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  expect(chunks.every(({ usage }) => usage === null)).toBe(true);
  const steps = chunks.map(({ choices: [{ index, delta, finish_reason: finish }] }) =>
    [index, delta.role ?? delta.content ?? finish].join(" "),
  );
  const sent = ["assistant", "signal", " block", "stop"];
  expect(steps).toEqual(sent.flatMap((step) => [`0 ${step}`, `1 ${step}`]));
  expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
});

type Choices = readonly { index: number; text: string; finish_reason: string | null }[];

/** The text of each choice, and how it ends. */
function textsOf(choices: Choices) {
  const texts: string[] = [];
  for (const { index, text, finish_reason: finish } of choices)
    texts[index] = (texts[index] ?? "") + text + (finish === null ? "" : ` (${finish})`);
  return texts;
}

const long = "averyverylongname-".repeat(9);
const PROMPTED = "Simulated answer from m to a prompt. (stop)";
const four = [1, 2, 3, 4].map((number) => PROMPTED.replace("answer", `answer ${number} of 4`));

test.each<[string, object, readonly unknown[]]>([
  ["an echo", { prompt: "Once:", echo: true, max_tokens: 1 }, ["Once:Simulated (length)"]],
  ["no token allowed", { max_tokens: 0 }, [" (length)"]],
  ["token numbers", { prompt: [1, 2] }, [PROMPTED]],
  ["two prompts of two choices", { prompt: ["a", "b"], n: 2 }, four],
  ["the usual limit", { model: long }, [expect.stringMatching(/averyvery.* \(length\)$/)]],
])("a legacy completion has %s", async (_, body, expected) => {
  const request = { prompt: "p", ...body };
  expect(textsOf((await answer("/v1/completions", request)).choices)).toEqual(expected);
  const chunks = await streamed("/v1/completions", request);
  expect(textsOf(chunks.flatMap(({ choices }) => choices))).toEqual(expected);
});

const { contents } = BODY;
const whole = { contents, systemInstruction: { parts: [{ text: "Be terse." }] } };
const COUNT = "/models/m:countTokens";

test.each<[string, object, object]>([
  ["/v1/responses/input_tokens", { input: "hello there" }, { input_tokens: 7 }],
  ["/v1/responses/input_tokens", { input: HELLO }, { input_tokens: 6 }],
  ["/v1/messages/count_tokens", { messages: HELLO }, { input_tokens: 6 }],
  [COUNT, { contents }, { totalTokens: 11 }],
  [COUNT, { generateContentRequest: { model: "models/m", ...whole } }, { totalTokens: 18 }],
  [`/v1/projects/p/locations/l/publishers/google${COUNT}`, whole, { totalTokens: 18 }],
])("tokens are counted at %s: %j", async (path, body, expected) => {
  expect(await answer(path, body)).toMatchObject(expected);
});

const MESSAGES = "/v1/messages";
const GEMINI = "/v1beta/models/gemini-3-x:generateContent";
const EMBED = "/v1/embeddings";
const INVOKE = "/model/m/invoke";
const many = (length: number): string[] => Array.from({ length }, () => "x");
const ranked = { query: "red signal", truncation: true, documents: ["x"] };
const signature = "EqQBCgYIAR";
const thinking = { type: "thinking", thinking: "hm", signature };
const redacted = { type: "redacted_thinking", data: signature };
const sealed = { type: "reasoning", summary: [], encrypted_content: signature };
const reasoned = { reasoningContent: { reasoningText: { text: "hm", signature } } };
const after = (...content: object[]) => ({ messages: [...HELLO, { role: "assistant", content }] });

test.each<[string, RegExp, object]>([
  ["/models/m:streamGenerateContent", /alt=sse/, { contents }],
  [MESSAGES, /"messages\.1\.content\.0: Invalid `signature` in/, after(thinking)],
  [MESSAGES, /"messages\.1\.content\.0: Invalid `data`/, after(redacted)],
  ["/v1/responses", /'input\[1\]' could not/, { input: [...HELLO, sealed] }],
  ["/model/m/converse", /Invalid `signature` in/, after(reasoned)],
  [EMBED, /'input'/, { input: [{ text: "x" }] }],
  [EMBED, /At most 2048 .* 2049/, { input: many(2_049) }],
  [EMBED, /At most 1000 /, { input: many(1_001), truncation: true }],
  ["/v2/embed", /"texts: At most 96 .* 97/, { texts: many(97) }],
  ["/models/m:batchEmbedContents", /requests/, { requests: [] }],
  ["/models/m:predict", /instances/, { parameters: {} }],
  [INVOKE, /"inputText: /, { inputText: ["x"] }],
  [INVOKE, /"singleEmbeddingParams\./, { taskType: "SINGLE_EMBEDDING" }],
  ["/v2/rerank", /"documents: /, { ...ranked, documents: [] }],
  ["/v1/rerank", /'documents'/, { ...ranked, documents: [{ text: "x" }] }],
  ["/rerank", /"(sources|queries): /, { queries: [], sources: [] }],
  ["/v1/moderations", /'input'/, { input: [1] }],
])("%s rejects a request with a message like %s", async (path, message, body) => {
  const response = await send(path, body);
  expect([response.status, await response.text()]).toEqual([400, expect.stringMatching(message)]);
});

test("redacted thinking of a simulated provider is accepted", async () => {
  const own = { ...redacted, data: seal("redacted-thinking", "hm") };
  expect((await send(MESSAGES, after(own))).status).toBe(200);
});

const schema = { type: "integer", minimum: 2, maximum: 1 };
const strict = { type: "function", function: { name: "f", strict: true, parameters: schema } };
const format = { type: "json_schema", json_schema: { name: "a", schema } };

test.each<[unknown, string | null]>([
  ["", null],
  ["{", null],
  [[], null],
  [{}, "messages"],
  [{ messages: [] }, "messages"],
  [{ messages: HELLO, response_format: format }, "response_format"],
  [{ messages: HELLO, tools: [strict] }, "tools"],
  [{ model: "m+explode" }, "model"],
])("400 for the chat %j, with all members of an error", async (body, param) => {
  const response = await post(server, CHAT, body);
  expect(response.status).toBe(400);
  const { error } = Object(await response.json());
  expect(Object.keys(error)).toEqual(["message", "type", "param", "code"]);
  expect(error).toMatchObject({ type: "invalid_request_error", param });
});

const bearer = { authorization: "Bearer k" };
const signed = { authorization: "AWS4-HMAC-SHA256 Credential=a" };

test.each<[string, number, Record<string, string>]>([
  [CHAT, 401, bearer],
  [MESSAGES, 401, { "x-api-key": "k" }],
  ["/v2/chat", 401, bearer],
  [GEMINI, 401, { "x-goog-api-key": "k" }],
  [GEMINI, 401, bearer],
  ["/model/m/converse", 403, signed],
  ["/model/claude/invoke", 403, bearer],
  ["/models/claude:rawPredict", 401, bearer],
])("without a key where one is required: %s", async (path, status, credentials) => {
  const statuses: number[] = [];
  for (const headers of [{}, { authorization: "Basic eDp5" }, credentials])
    statuses.push((await send(path, BODY, { "x-mock": "require-auth", ...headers })).status);
  expect(statuses).toEqual([status, status, 200]);
});

test("a signature of Gemini is invalid on another part than its own", async () => {
  const tools = [{ functionDeclarations: [{ name: "f" }, { name: "g" }] }];
  const { candidates } = await answer(GEMINI, { contents, tools });
  const [part] = candidates[0].content.parts;
  const result = { functionResponse: { name: "f", response: { output: "1" } } };
  const statuses: number[] = [];
  const other = { functionCall: { name: "g" } };
  for (const change of [{}, other, { thoughtSignature: undefined }, { thoughtSignature: "AAAA" }]) {
    const model = { role: "model", parts: [{ ...part, ...change }] };
    const turns = [...contents, model, { role: "user", parts: [result] }];
    statuses.push((await send(GEMINI, { tools, contents: turns })).status);
  }
  expect(statuses).toEqual([200, 400, 400, 400]);
});

test("vectors have unit length, the direction of a longer one's start, and one value in all encodings", () => {
  const texts = fc.string({ unit: codePoint });
  fc.assert(
    fc.property(texts, fc.integer({ min: 8, max: 400 }), (text, length) => {
      const vector = vectorOf(text, length);
      expect(vector).toHaveLength(length);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 3);
      expect(vectorOf(`${text}.`, length)).not.toEqual(vector);
      const start = vectorOf(text, 1_536).slice(0, length);
      const norm = Math.hypot(...start);
      const distances = start.map((value, index) => Math.abs(value / norm - (vector[index] ?? 9)));
      expect(Math.max(...distances)).toBeLessThan(0.001);
      const bytes = Buffer.from(base64Of(vector), "base64");
      const singles = vector.map((_, index) => bytes.readFloatLE(index * 4));
      expect(bytes).toHaveLength(length * 4);
      expect(singles).toEqual(vector.map(Math.fround));
      // Six digits are enough to find the number again, and none of them is too much.
      expect(singles.map((single) => Number(single.toPrecision(6)))).toEqual(vector);
    }),
    { numRuns: 50 },
  );
  // Negative zero is another number in base64 than in decimal text: a number here rounds to it.
  expect(vectorOf("d", 16_384).some((value) => Object.is(value, -0))).toBe(false);
});

test("token numbers have distinct vectors, one for each list", async () => {
  const embed = (input: unknown) => answer(EMBED, { input, dimensions: 4 });
  const [one, two] = (await embed([[1, 2], [12]])).data;
  expect(one.embedding).not.toEqual(two.embedding);
  expect((await embed([1, 2])).data).toEqual([one]);
});

interface Result {
  readonly index?: number;
  readonly embedding?: readonly number[] | string;
  readonly relevance_score?: number;
  readonly flagged?: boolean;
  readonly categories?: object;
  readonly category_scores?: object;
}

function numbersOf({ embedding, relevance_score: score, category_scores: scores }: Result) {
  if (typeof embedding !== "string") return embedding ?? Object.values(scores ?? { score });
  return [...new Float32Array(new Uint8Array(Buffer.from(embedding, "base64")).buffer)];
}

const RANK = "/v2/rerank";
const JUDGE = "/v1/moderations";
const TOO_MANY = "At most 2 can be sent in one request; this one has 3.";

/** Index and count of numbers of each result, with `!` where one of them is not finite. */
test.each<[string, string, string, object?]>([
  [EMBED, "dimensions=5", "0:5 1:5 2:5", { dimensions: null }],
  [EMBED, "permute", "2:4 1:4 0:4"],
  [EMBED, "short=2", "0:4"],
  [EMBED, "short=4", "mock: the instructions request at least 4 results, and this answer has 3"],
  [EMBED, "duplicate-index", "0:4 0:4 2:4"],
  [EMBED, "index-out-of-range", "0:4 1:4 3:4"],
  [EMBED, "no-index", "-:4 -:4 -:4"],
  [EMBED, "wrong-dimension", "0:4 1:4 2:3"],
  [EMBED, "nan", "0:4! 1:4 2:4"],
  [EMBED, "nan", "0:4! 1:4 2:4", { encoding_format: "base64" }],
  [EMBED, "fail-over=3", "0:4 1:4 2:4"],
  [EMBED, "fail-over=2", TOO_MANY],
  [RANK, "nan", "2:1! 0:1 1:1"],
  [RANK, "no-index", "-:1 -:1 -:1"],
  [RANK, "fail-over=2", `documents: ${TOO_MANY}`],
  [JUDGE, "nan", "-:13! -:13 -:13"],
  [JUDGE, "categories=other+nan", "-:11! -:11 -:11"],
  [JUDGE, "fail-over=2", TOO_MANY],
])("results of %s with the setting %s are %s", async (path, settings, expected, more = {}) => {
  const texts = ["a", "b", "c"];
  const inputs = { input: texts, dimensions: 4, query: "c", documents: texts, ...more };
  const answered = await answer(path, { ...inputs, model: `m+${settings}` });
  const { data, results = data, error, message } = answered;
  const shown = results?.map((result: Result) => {
    const numbers = numbersOf(result);
    return `${result.index ?? "-"}:${numbers.length}${numbers.every(Number.isFinite) ? "" : "!"}`;
  });
  expect(shown?.join(" ") ?? error?.message ?? message).toBe(expected);
});

test("documents are ranked by the terms that they share with the query, ties by index", async () => {
  const documents = ["A signal", "Nothing of it", "Red signal here", "the RED", "signal, red!"];
  const { results } = await answer(RANK, { query: "red signal", documents });
  const scores = results.map(({ index, relevance_score: score }: Result) => `${index}:${score}`);
  // In the order of the documents: 2/4, 0, 4/5, 2/4, 1.
  expect(scores).toEqual(["4:1", "2:0.8", "0:0.5", "3:0.5", "1:0"]);
  const { meta } = await answer(RANK, { query: "red", documents: many(101) });
  expect(meta).toMatchObject({ billed_units: { search_units: 2 } });
});

const judge = async (input: unknown, model = "m"): Promise<readonly Result[]> =>
  (await answer(JUDGE, { model, input })).results;

/** The names of those that are `true`. */
const flaggedIn = ({ categories = {} }: Result): string[] =>
  Object.entries(categories).flatMap(([name, is]) => (is === true ? [name] : []));

test("every text has a verdict, in order", async () => {
  const graphic = "simulated-violence-graphic and simulated-hate";
  const texts = ["harmless", "a simulated-violence.", graphic, "simulated-violences"];
  const verdicts = await judge(texts);
  expect(verdicts.map(({ flagged }) => flagged)).toEqual([false, true, true, false]);
  const flagged = [[], ["violence"], ["hate", "violence/graphic"], []];
  expect(verdicts.map(flaggedIn)).toEqual(flagged);
  const high = verdicts.map(({ category_scores: scores = {} }) =>
    Object.entries(scores).filter(([, score]) => score >= 0.001),
  );
  expect(high).toEqual(flagged.map((names) => names.map((name) => [name, 0.98])));
  const others = ["x", "simulated-violence", "simulated-violence-and-threats"];
  const flaggedByOther = (await judge(others, "m+categories=other")).map(flaggedIn);
  expect(flaggedByOther).toEqual([[], [], ["violence_and_threats"]]);
});

test("parts are judged together, pictures in some categories only", async () => {
  const names = ["violence-and", "sexual", "illicit"];
  const pictures = names.map((name) => ({ image_url: { url: `https://x/simulated-${name}.png` } }));
  const [verdict = {}] = await judge([{ type: "text", text: "simulated-hate" }, ...pictures]);
  expect(flaggedIn(verdict)).toEqual(["sexual", "hate"]);
  const types = { hate: ["text"], sexual: ["text", "image"] };
  expect(verdict).toMatchObject({ category_applied_input_types: types });
});

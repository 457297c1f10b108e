import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { base64Of, vectorOf } from "../../mock/unary/embed/vector.ts";
import { mockForTest, postTo } from "./start.ts";
import { ask, at, EMBED_WAYS, valuesIn } from "./unary-ways.ts";

const TEXTS = ["first text", "second text", "third text"];
const ways = EMBED_WAYS.map((way) => [way.name, way] as const);

describe("vectors", () => {
  test("of any text have unit length, and the same numbers in decimal text and in single precision", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.integer({ min: 1, max: 400 }),
        (text, length) => {
          const vector = vectorOf(text, length);
          expect(vector).toHaveLength(length);
          expect(Math.hypot(...vector)).toBeCloseTo(1, 3);
          expect(vectorOf(text, length)).toEqual(vector);
          const bytes = Buffer.from(base64Of(vector), "base64");
          expect(bytes).toHaveLength(length * 4);
          for (const [base, value] of vector.entries()) {
            const single = bytes.readFloatLE(base * 4);
            expect(single).toBe(Math.fround(value));
            // Six digits are enough to find the number again, and none of them is too much.
            expect(Number(single.toPrecision(6))).toBe(value);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test("have no negative zero, which is another number in base64 than in decimal text", () => {
    const numbers = ["a", "b", "c", "d", "e", "f", "g", "h"].flatMap((text) =>
      vectorOf(text, 16_384),
    );
    expect(numbers.includes(0)).toBe(true);
    expect(numbers.some((value) => Object.is(value, -0))).toBe(false);
  });

  test("of other texts are others; a short one points where the beginning of a long one does", () => {
    const long = vectorOf("a", 1_536);
    const other = vectorOf("b", 1_536);
    const product = long.reduce((sum, value, base) => sum + value * (other[base] ?? 0), 0);
    expect(Math.abs(product)).toBeLessThan(0.15);
    const short = vectorOf("a", 256);
    const norm = Math.hypot(...long.slice(0, 256));
    for (const [base, value] of short.entries())
      expect(value).toBeCloseTo((long[base] ?? 0) / norm, 4);
  });
});

describe.each(ways)("%s", (_, way) => {
  const texts = way.isSingle === true ? TEXTS.slice(0, 1) : TEXTS;

  test("gives each text the vector that every protocol gives it", async () => {
    const server = await mockForTest();
    const usual = await (await ask(server, way, "m", texts)).json();
    expect(valuesIn(way, usual)).toEqual(texts.map((text) => vectorOf(text, 1_536)));
    const configured = await (await ask(server, way, "m+dimensions=12", texts)).json();
    expect(valuesIn(way, configured)).toEqual(texts.map((text) => vectorOf(text, 12)));
    const requested = await (await ask(server, way, "m+dimensions=12", texts, 8)).json();
    expect(valuesIn(way, requested)).toEqual(texts.map((text) => vectorOf(text, 8)));
  });
});

test("InvokeModel counts in a header, OpenAI names the request", async () => {
  const server = await mockForTest();
  const [titan] = ways.filter(([name]) => name === "titan");
  const response = await ask(server, titan?.[1] ?? EMBED_WAYS[0]!, "m", ["eight ch"]);
  expect(response.headers.get("x-amzn-bedrock-input-token-count")).toBe("2");
  expect(response.headers.get("x-amzn-requestid")).toBe("mock-1");
  const openai = await ask(server, EMBED_WAYS[0]!, "m", ["x"]);
  expect(openai.headers.get("x-request-id")).toBe("req_mock_2");
});

test("token numbers have vectors of their own, one for each list", async () => {
  const server = await mockForTest();
  const embed = async (input: unknown): Promise<unknown> => {
    const answer = await (
      await postTo(server, "/v1/embeddings", { model: "m", input, dimensions: 4 })
    ).json();
    return valuesIn(EMBED_WAYS[0]!, answer);
  };
  const [one, two] = (await embed([[1, 2], [12]])) as unknown[];
  expect(one).not.toEqual(two);
  expect(await embed([1, 2])).toEqual([one]);
});

test("the official client decodes what it requests, in order", async () => {
  const server = await mockForTest();
  const client = new OpenAI({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, maxRetries: 0 });
  const { data, usage } = await client.embeddings.create({
    model: "m",
    input: TEXTS,
    dimensions: 8,
  });
  expect(server.requests[0]?.body).toMatchObject({ encoding_format: "base64" });
  expect(data.map(({ index, embedding }) => [index, embedding])).toEqual(
    TEXTS.map((text, index) => [index, vectorOf(text, 8).map(Math.fround)]),
  );
  expect(usage).toEqual({ prompt_tokens: 9, total_tokens: 9 });
  const floats = await client.embeddings.create({
    model: "m",
    input: "x",
    dimensions: 8,
    encoding_format: "float",
  });
  expect(floats.data[0]?.embedding).toEqual(vectorOf("x", 8));
});

const OPENAI = { model: "m", input: "x" };
const VOYAGE = { model: "m", input: "x", truncation: true };
const COHERE = { model: "m", texts: ["x"], input_type: "search_query" };
const many = (count: number): string[] => Array.from({ length: count }, () => "x");

const OPENAI_PATH = "/v1/embeddings";
const GEMINI_PATH = "/models/m:batchEmbedContents";
const VERTEX_PATH = "/models/m:predict";
const INVOKE_PATH = "/model/m/invoke";

const refused: [string, string, object, RegExp][] = [
  ["openai: no input", OPENAI_PATH, { model: "m" }, /'input'/],
  ["openai: objects", OPENAI_PATH, { ...OPENAI, input: [{ text: "x" }] }, /'input'/],
  ["openai: too many", OPENAI_PATH, { ...OPENAI, input: many(2_049) }, /At most 2048 .* 2049/],
  ["voyage: too many", OPENAI_PATH, { ...VOYAGE, input: many(1_001) }, /At most 1000 /],
  ["cohere: no texts", "/v2/embed", { ...COHERE, texts: [] }, /^texts: /],
  ["cohere: too many", "/v2/embed", { ...COHERE, texts: many(97) }, /^texts: At most 96 .* 97/],
  [
    "cohere at bedrock: too many",
    INVOKE_PATH,
    { texts: many(97), input_type: "search_query" },
    /^texts: At most 96 /,
  ],
  ["gemini: no requests", GEMINI_PATH, { requests: [] }, /requests/],
  [
    "gemini: too many",
    GEMINI_PATH,
    { requests: many(101).map((text) => ({ model: "models/m", content: { parts: [{ text }] } })) },
    /At most 100 /,
  ],
  ["vertex: no instances", VERTEX_PATH, { parameters: {} }, /instances/],
  [
    "vertex: too many",
    VERTEX_PATH,
    { instances: many(251).map((content) => ({ content })) },
    /At most 250 /,
  ],
  ["titan: a list", INVOKE_PATH, { inputText: ["x"] }, /^inputText: /],
  [
    "nova: no parameters",
    INVOKE_PATH,
    { taskType: "SINGLE_EMBEDDING" },
    /^singleEmbeddingParams\./,
  ],
];

test.each(refused)("400 for %s", async (_, path, body, message) => {
  const response = await postTo(await mockForTest(), path, body);
  expect(response.status).toBe(400);
  const answer: unknown = await response.json();
  const text = ["error.message", "detail", "message"].map((base) => at(answer, base)).find(Boolean);
  expect(text).toMatch(message);
});

test("what Anthropic's models are sent through InvokeModel is still theirs", async () => {
  const body = {
    anthropic_version: "bedrock-2023-05-31",
    max_tokens: 9,
    messages: [{ role: "user", content: "x" }],
  };
  const response = await postTo(await mockForTest(), INVOKE_PATH, body);
  expect(await response.json()).toMatchObject({ type: "message", role: "assistant" });
});

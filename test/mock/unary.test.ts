import fc from "fast-check";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { base64Of, vectorOf } from "../../mock/unary/embed/vector.ts";
import { mockForTest, postTo } from "./start.ts";
import { codePoint } from "../support/code-point.ts";

/*
 * `test/clients/unary.test.ts` has each protocol: its vectors, ranks and verdicts through the router.
 */

const EMBED = "/v1/embeddings";

test("vectors have unit length, and the same numbers in decimal text and in single precision", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: codePoint }),
      fc.integer({ min: 1, max: 400 }),
      (text, length) => {
        const vector = vectorOf(text, length);
        expect(vector).toHaveLength(length);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 3);
        expect(vectorOf(text, length)).toEqual(vector);
        const bytes = Buffer.from(base64Of(vector), "base64");
        expect(bytes).toHaveLength(length * 4);
        for (const [index, value] of vector.entries()) {
          const single = bytes.readFloatLE(index * 4);
          expect(single).toBe(Math.fround(value));
          // Six digits are enough to find the number again, and none of them is too much.
          expect(Number(single.toPrecision(6))).toBe(value);
          // Negative zero is another number in base64 than in decimal text.
          expect(Object.is(value, -0)).toBe(false);
        }
      },
    ),
    { numRuns: 50 },
  );
});

test("vectors of different texts differ; a short one has the direction of a long one's start", () => {
  const long = vectorOf("a", 1_536);
  const other = vectorOf("b", 1_536);
  const product = long.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
  expect(Math.abs(product)).toBeLessThan(0.15);
  const norm = Math.hypot(...long.slice(0, 256));
  for (const [index, value] of vectorOf("a", 256).entries())
    expect(value).toBeCloseTo((long[index] ?? 0) / norm, 4);
});

test("token numbers have distinct vectors, one for each list", async () => {
  const server = await mockForTest();
  const embed = async (input: unknown): Promise<readonly unknown[]> => {
    const body = { model: "m", input, dimensions: 4 };
    const answer = await (await postTo(server, EMBED, body)).json();
    return Object(answer).data.map(({ embedding }: { readonly embedding: unknown }) => embedding);
  };
  const [one, two] = await embed([[1, 2], [12]]);
  expect(one).not.toEqual(two);
  expect(await embed([1, 2])).toEqual([one]);
});

test("documents are ranked by the terms that they share with the query, ties by index", async () => {
  const documents = ["A signal", "Nothing of it", "Red signal here", "the RED", "signal, red!"];
  const body = { model: "m", query: "red signal", documents };
  const answer = await (await postTo(await mockForTest(), "/v2/rerank", body)).json();
  // Scores in the order of the documents: 2/4, 0, 4/5, 2/4, 1.
  expect(answer).toMatchObject({
    results: [
      { index: 4, relevance_score: 1 },
      { index: 2, relevance_score: 0.8 },
      { index: 0, relevance_score: 0.5 },
      { index: 3, relevance_score: 0.5 },
      { index: 1, relevance_score: 0 },
    ],
  });
});

test("a hundred and one documents are billed as two searches", async () => {
  const body = { model: "m", query: "red", documents: Array.from({ length: 101 }, () => "x") };
  const answer = await (await postTo(await mockForTest(), "/v2/rerank", body)).json();
  expect(answer).toMatchObject({ meta: { billed_units: { search_units: 2 } } });
});

/** The names of those that are `true`. */
function flaggedIn(result: { readonly categories: object } | undefined): string[] {
  return Object.entries(result?.categories ?? {}).flatMap(([name, flagged]) =>
    flagged === true ? [name] : [],
  );
}

test("the official client reads a verdict for every text, in order", async () => {
  const server = await mockForTest();
  const openai = new OpenAI({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, maxRetries: 0 });
  const input = [
    "harmless",
    "a simulated-violence.",
    "simulated-violence-graphic and simulated-hate",
    "simulated-violences",
  ];
  const { results } = await openai.moderations.create({ model: "omni-moderation-latest", input });
  expect(results.map((result) => [result.flagged, flaggedIn(result)])).toEqual([
    [false, []],
    [true, ["violence"]],
    [true, ["hate", "violence/graphic"]],
    [false, []],
  ]);
  for (const result of results)
    for (const [name, score] of Object.entries(result.category_scores))
      if (flaggedIn(result).includes(name)) expect(score).toBe(0.98);
      else expect(score).toBeLessThan(0.001);
});

test("parts are judged together, pictures in some categories only", async () => {
  const picture = (name: string) => ({
    type: "image_url",
    image_url: { url: `https://x.example/${name}.png` },
  });
  const input = [
    { type: "text", text: "simulated-hate" },
    picture("simulated-violence-and"),
    picture("simulated-sexual"),
    picture("simulated-illicit"),
  ];
  const answer = await (await postTo(await mockForTest(), "/v1/moderations", { input })).json();
  const [result] = Object(answer).results;
  expect(flaggedIn(result)).toEqual(["sexual", "hate"]);
  expect(result.category_applied_input_types).toMatchObject({
    hate: ["text"],
    sexual: ["text", "image"],
  });
});

test("verdicts have the categories of another provider on request", async () => {
  const body = {
    model: "m+categories=other",
    input: ["x", "simulated-violence", "simulated-violence-and-threats"],
  };
  const answer = await (await postTo(await mockForTest(), "/v1/moderations", body)).json();
  expect(Object(answer).results.map(flaggedIn)).toEqual([[], [], ["violence_and_threats"]]);
});

const many = (count: number): string[] => Array.from({ length: count }, () => "x");
const INVOKE = "/model/m/invoke";
const RANK = { model: "m", query: "red signal", documents: ["x"] };

test.each<[string, string, object, RegExp]>([
  ["openai: objects", EMBED, { input: [{ text: "x" }] }, /'input'/],
  ["openai: too many", EMBED, { model: "m", input: many(2_049) }, /At most 2048 .* 2049/],
  [
    "voyage: too many",
    EMBED,
    { model: "m", input: many(1_001), truncation: true },
    /At most 1000 /,
  ],
  [
    "cohere: too many",
    "/v2/embed",
    { model: "m", texts: many(97), input_type: "search_query" },
    /^texts: At most 96 .* 97/,
  ],
  ["gemini: no requests", "/models/m:batchEmbedContents", { requests: [] }, /requests/],
  ["vertex: no instances", "/models/m:predict", { parameters: {} }, /instances/],
  ["titan: a list", INVOKE, { inputText: ["x"] }, /^inputText: /],
  ["nova: no parameters", INVOKE, { taskType: "SINGLE_EMBEDDING" }, /^singleEmbeddingParams\./],
  ["cohere: no documents", "/v2/rerank", { ...RANK, documents: [] }, /^documents: /],
  [
    "voyage: objects",
    "/v1/rerank",
    { ...RANK, truncation: true, documents: [{ text: "x" }] },
    /'documents'/,
  ],
  ["bedrock: no sources", "/rerank", { queries: [], sources: [] }, /^(sources|queries): /],
  ["moderations: numbers", "/v1/moderations", { input: [1] }, /'input'/],
])("400 for %s", async (_, path, body, message) => {
  const response = await postTo(await mockForTest(), path, body);
  expect(response.status).toBe(400);
  const answer = Object(await response.json());
  expect(answer.error?.message ?? answer.detail ?? answer.message).toMatch(message);
});

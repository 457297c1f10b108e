import { describe, expect, test } from "vitest";
import { mockForTest, postTo } from "./start.ts";
import { ask, at, RANK_WAYS, resultsIn } from "./unary-ways.ts";

/** By the query "red signal": 2/4, 0, 4/5, 2/4, 1. */
const DOCUMENTS = ["A signal", "Nothing of it", "Red signal here", "the RED", "signal, red!"];
const RANKING = [
  [4, 1],
  [2, 0.8],
  [0, 0.5],
  [3, 0.5],
  [1, 0],
];

test.each(RANK_WAYS.map((way) => [way.name, way] as const))(
  "%s: best first, ties by index",
  async (_, way) => {
    const answer = await (await ask(await mockForTest(), way, "m", DOCUMENTS)).json();
    expect(
      resultsIn(way, answer).map((result) => [at(result, "index"), at(result, way.value)]),
    ).toEqual(RANKING);
  },
);

const BODY = { model: "m", query: "red signal", documents: DOCUMENTS };
const BEDROCK = {
  queries: [{ type: "TEXT", textQuery: { text: "red signal" } }],
  sources: [
    { type: "INLINE", inlineDocumentSource: { type: "TEXT", textDocument: { text: "red" } } },
  ],
  rerankingConfiguration: {
    type: "BEDROCK_RERANKING_MODEL",
    bedrockRerankingConfiguration: {
      modelConfiguration: {
        modelArn: "arn:aws:bedrock:us-east-1::foundation-model/cohere.rerank-v3-5:0",
      },
    },
  },
};

function configured(configuration: object): object {
  const inner = {
    ...BEDROCK.rerankingConfiguration.bedrockRerankingConfiguration,
    ...configuration,
  };
  return {
    ...BEDROCK,
    rerankingConfiguration: {
      ...BEDROCK.rerankingConfiguration,
      bedrockRerankingConfiguration: inner,
    },
  };
}

const best = { index: 4, relevance_score: 1 };

const shapes: [string, string, object, object][] = [
  [
    "cohere",
    "/v2/rerank",
    { ...BODY, top_n: 1, max_tokens_per_doc: 100, priority: 1 },
    {
      id: "mock-1",
      results: [best],
      meta: { api_version: { version: "2" }, billed_units: { search_units: 1 } },
    },
  ],
  [
    "jina, which repeats documents",
    "/v1/rerank",
    { ...BODY, documents: [...DOCUMENTS.slice(0, 4), { text: "signal, red!" }], top_n: 1 },
    {
      model: "m",
      usage: { total_tokens: 30, prompt_tokens: 30 },
      results: [{ ...best, document: { text: "signal, red!" } }],
    },
  ],
  [
    "jina, without documents",
    "/any/prefix/rerank",
    { ...BODY, top_n: 1, return_documents: false },
    { model: "m", usage: { total_tokens: 30, prompt_tokens: 30 }, results: [best] },
  ],
  [
    "voyage",
    "/v1/rerank",
    { ...BODY, top_k: 1 },
    { object: "list", data: [best], model: "m", usage: { total_tokens: 30 } },
  ],
  [
    "voyage, with documents",
    "/v1/rerank",
    { ...BODY, top_k: 1, return_documents: true, truncation: false },
    {
      object: "list",
      data: [{ ...best, document: "signal, red!" }],
      model: "m",
      usage: { total_tokens: 30 },
    },
  ],
  [
    "voyage, where a member is null",
    "/v1/rerank",
    { ...BODY, documents: ["red"], top_k: null },
    {
      object: "list",
      data: [{ index: 0, relevance_score: 0.666667 }],
      model: "m",
      usage: { total_tokens: 4 },
    },
  ],
  [
    "bedrock's agent runtime",
    "/rerank",
    BEDROCK,
    { results: [{ index: 0, relevanceScore: 0.666667 }] },
  ],
  [
    "cohere at bedrock",
    "/model/cohere.rerank-v3-5%3A0/invoke",
    { query: "red signal", documents: DOCUMENTS, top_n: 1, api_version: 2 },
    { results: [best] },
  ],
];

test.each(shapes)("the shape of %s", async (_, path, body, expected) => {
  const response = await postTo(await mockForTest(), path, body);
  expect([response.status, await response.json()]).toEqual([200, expected]);
});

test("a hundred and one documents are two searches", async () => {
  const documents = Array.from({ length: 101 }, () => "x");
  const answer = await (
    await postTo(await mockForTest(), "/v2/rerank", { ...BODY, documents })
  ).json();
  expect(answer).toMatchObject({ meta: { billed_units: { search_units: 2 } } });
});

test("as many as are requested, and no more than there are", async () => {
  const server = await mockForTest();
  for (const [numberOfResults, count] of [
    [3, 1],
    [1, 1],
  ]) {
    const answer: unknown = await (
      await postTo(server, "/rerank", configured({ numberOfResults }))
    ).json();
    expect(at(answer, "results")).toHaveLength(count ?? 0);
  }
});

const VOYAGE = { ...BODY, truncation: true };

const refused: [string, string, object, RegExp][] = [
  ["cohere: no documents", "/v2/rerank", { ...BODY, documents: [] }, /^documents: /],
  ["cohere: objects", "/v2/rerank", { ...BODY, documents: [{ text: "x" }] }, /^documents: /],
  ["voyage: objects", "/v1/rerank", { ...VOYAGE, documents: [{ text: "x" }] }, /'documents'/],
  [
    "voyage: too many",
    "/v1/rerank",
    { ...VOYAGE, documents: Array.from({ length: 1_001 }, () => "x") },
    /At most 1000 .* 1001/,
  ],
  ["bedrock: no sources", "/rerank", { ...BEDROCK, sources: [] }, /^sources: /],
];

describe("refusals", () => {
  test.each(refused)("400 for %s", async (_, path, body, message) => {
    const response = await postTo(await mockForTest(), path, body);
    expect(response.status).toBe(400);
    const answer: unknown = await response.json();
    const text = ["error.message", "detail", "message"]
      .map((base) => at(answer, base))
      .find(Boolean);
    expect(text).toMatch(message);
  });
});

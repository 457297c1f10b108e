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

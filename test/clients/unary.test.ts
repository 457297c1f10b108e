import { OpenAIEmbeddings } from "@langchain/openai";
import { CohereClient, CohereClientV2 } from "cohere-ai";
import OpenAI from "openai";
import { VoyageAIClient } from "voyageai";
import { beforeAll, describe, expect, it } from "vitest";
import { STARTING } from "./fixture.ts";
import {
  DIMENSION,
  EMBED_ROUTES,
  RERANK_ROUTES,
  startUnaryFixture,
  type UnaryFixture,
} from "./unary-fixture.ts";

let fixture: UnaryFixture;

beforeAll(async () => {
  fixture = await startUnaryFixture();
}, STARTING);

function openai(key = fixture.key): OpenAI {
  return new OpenAI({ baseURL: `${fixture.url}/v1`, apiKey: key, maxRetries: 0 });
}

const TEXTS = Array.from(
  { length: 120 },
  (_, index) => `The ${index}th train leaves from platform ${index % 7}.`,
);

/** What every endpoint answers for the texts; the vectors of the first endpoint that was called. */
async function expectedVectors(): Promise<readonly (readonly number[])[]> {
  const { data } = await openai().embeddings.create({
    model: "openai",
    input: TEXTS,
    encoding_format: "float",
  });
  return data.map(({ embedding }) => embedding);
}

describe.each(EMBED_ROUTES)("vectors over %s", (route) => {
  it("reach the openai client whole and in order, in its default encoding, as numbers, and one by one", async () => {
    const expected = await expectedVectors();
    // Its own default requests base64 and reads the numbers back.
    const usual = await openai().embeddings.create({ model: route, input: TEXTS });
    expect(usual.data.map(({ index }) => index)).toEqual(TEXTS.map((_, index) => index));
    expect(usual.data.map(({ embedding }) => [...embedding].map(Math.fround))).toEqual(
      expected.map((vector) => vector.map(Math.fround)),
    );
    const floats = await openai().embeddings.create({
      model: route,
      input: TEXTS,
      encoding_format: "float",
    });
    expect(floats.data.map(({ embedding }) => embedding.map(Math.fround))).toEqual(
      expected.map((vector) => vector.map(Math.fround)),
    );
    const one = await openai().embeddings.create({
      model: route,
      input: TEXTS[3] ?? "",
      encoding_format: "float",
    });
    expect(one.data.map(({ embedding }) => embedding.map(Math.fround))).toEqual([
      expected[3]?.map(Math.fround),
    ]);
  });

  it("have the length requested", async () => {
    const { data } = await openai().embeddings.create({ model: route, input: "a", dimensions: 4 });
    expect(data[0]?.embedding).toHaveLength(4);
  });

  it("reach LangChain", async () => {
    const langchain = new OpenAIEmbeddings({
      model: route,
      apiKey: fixture.key,
      batchSize: 50,
      configuration: { baseURL: `${fixture.url}/v1` },
    });
    const vectors = await langchain.embedDocuments(TEXTS);
    expect(vectors).toHaveLength(TEXTS.length);
    expect(vectors.every((vector) => vector.length === DIMENSION)).toBe(true);
    expect(await langchain.embedQuery(TEXTS[5] ?? "")).toEqual(vectors[5]);
  });
});

describe("vectors", () => {
  it.each(["voyage", "openai", "cohere"])(
    "reach Voyage's client over %s, in its own format",
    async (route) => {
      const client = new VoyageAIClient({ apiKey: fixture.key, environment: `${fixture.url}/v1` });
      const { data, usage } = await client.embed({ model: route, input: TEXTS, truncation: true });
      expect(data?.map(({ index }) => index)).toEqual(TEXTS.map((_, index) => index));
      expect(data?.[0]?.embedding).toHaveLength(DIMENSION);
      expect(usage?.totalTokens).toBeGreaterThan(0);
    },
  );

  it("are computed for their purpose where the protocol has it, and refused by name otherwise", async () => {
    const client = new VoyageAIClient({ apiKey: fixture.key, environment: `${fixture.url}/v1` });
    for (const route of ["voyage", "cohere", "gemini"]) {
      const { data } = await client.embed({ model: route, input: ["a"], inputType: "query" });
      expect(data).toHaveLength(1);
    }
    await expect(
      client.embed({ model: "openai", input: ["a"], inputType: "query" }),
    ).rejects.toMatchObject({
      statusCode: 400,
      body: { error: { param: "input_type", code: "feature_not_supported" } },
    });
  });

  it("arrive in order from a provider that permutes them, and are refused from one that loses some", async () => {
    const expected = await expectedVectors();
    const permuted = await openai().embeddings.create({
      model: "openai.permuted",
      input: TEXTS,
      encoding_format: "float",
    });
    expect(permuted.data.map(({ embedding }) => embedding)).toEqual(expected);
    await expect(
      openai().embeddings.create({ model: "openai.short", input: TEXTS }),
    ).rejects.toMatchObject({
      status: 502,
      code: "result_count",
    });
  });

  it("fall back to another protocol of the same model, and are the same", async () => {
    const expected = await expectedVectors();
    const input = [...TEXTS.slice(0, 5), "simulated-poison"];
    const { data } = await openai().embeddings.create({
      model: "openai.saved",
      input,
      encoding_format: "float",
    });
    expect(data.slice(0, 5).map(({ embedding }) => embedding.map(Math.fround))).toEqual(
      expected.slice(0, 5).map((vector) => vector.map(Math.fround)),
    );
  });

  it("are denied with DIMENSIONS_NOT_APPROVED where neither length nor window is approved", async () => {
    await expect(
      openai(fixture.poorKey).embeddings.create({ model: "openai", input: "a" }),
    ).rejects.toMatchObject({
      status: 403,
      code: "DIMENSIONS_NOT_APPROVED",
    });
  });
});

const QUERY = "which train leaves platform three";
const DOCUMENTS = [
  "Coffee is sold in the hall.",
  "The train on platform three leaves at noon.",
  "Tickets can be bought on board.",
  "This train leaves from another platform.",
];

describe.each(RERANK_ROUTES)("ranks over %s", (route) => {
  it("reach both of Cohere's clients and Voyage's, best first", async () => {
    const settings = { token: fixture.key, environment: fixture.url, maxRetries: 0 };
    const first = await new CohereClient(settings).rerank({
      model: route,
      query: QUERY,
      documents: DOCUMENTS,
      topN: 2,
      returnDocuments: true,
    });
    expect(first.results.map(({ index }) => index)).toEqual([1, 3]);
    expect(first.results.map(({ document }) => document?.text)).toEqual([
      DOCUMENTS[1],
      DOCUMENTS[3],
    ]);
    const second = await new CohereClientV2(settings).rerank({
      model: route,
      query: QUERY,
      documents: DOCUMENTS,
    });
    expect(second.results.map(({ index }) => index).slice(0, 2)).toEqual([1, 3]);
    expect(second.results).toHaveLength(DOCUMENTS.length);
    const scores = second.results.map(({ relevanceScore }) => relevanceScore);
    expect(scores).toEqual(scores.toSorted((left, right) => right - left));
    expect(JSON.stringify(second)).not.toContain("Coffee");
    const voyage = await new VoyageAIClient({
      apiKey: fixture.key,
      environment: `${fixture.url}/v1`,
    }).rerank({
      model: route,
      query: QUERY,
      documents: DOCUMENTS,
    });
    expect(voyage.data?.map(({ index }) => index)).toEqual(
      second.results.map(({ index }) => index),
    );
  });
});

describe("verdicts", () => {
  it("are given by the workspace's own route where the request names none", async () => {
    const { results } = await openai().moderations.create({
      input: ["a kind text", "simulated-violence"],
    });
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true]);
    expect(results[1]?.categories.violence).toBe(true);
    expect(results[1]?.category_scores.violence).toBeGreaterThan(0.5);
  });

  it("are one for all parts together", async () => {
    const { results } = await openai().moderations.create({
      model: "judge",
      input: [
        { type: "text", text: "what is this" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      ],
    });
    expect(results).toHaveLength(1);
  });

  it("of another vendor's categories are mapped to the known ones by routes.yaml", async () => {
    const { results } = await openai().moderations.create({
      model: "judge.other",
      input: "simulated-violence-and-threats",
    });
    expect(results[0]?.flagged).toBe(true);
    expect(results[0]?.categories.violence).toBe(true);
    expect(results[0]?.categories.sexual).toBe(false);
    // What the model does not judge is not said to have been judged.
    expect(results[0]?.category_applied_input_types["self-harm/intent"]).toEqual([]);
  });
});

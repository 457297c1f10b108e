import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../src/canon/json.ts";
import { contextOf } from "../../../support/dialects.ts";
import { accepted, answered, answerOf, task } from "./target.ts";

const NOTED = { text: "two", title: "t", pages: 2 };
const BODY: JsonObject = { model: "r", query: "what", documents: ["one", NOTED, "three"] };
const RANKED = [
  [1, 0.75],
  [2, 0.5],
  [0, 0.25],
] as const;
const LIST = RANKED.map(([index, score]) => ({ index, relevance_score: score }));

describe("the answer", () => {
  it("is Cohere's, with the known members only", () => {
    const { answer, body } = answered(
      { ...BODY, top_n: 3 },
      "bedrock",
      answerOf("bedrock", RANKED),
    );
    expect(body).toEqual({
      id: "rerank_1",
      model: "upstream-model",
      results: LIST,
      meta: { api_version: { version: "2" } },
    });
    expect(answer).toMatchObject({ dropped: [], gaps: 0 });
  });

  it("reports the provider's counts and its name of the model", () => {
    const meta = { billed_units: { search_units: 3 }, tokens: { input_tokens: 12 } };
    const { body } = answered({ ...BODY, top_n: 3 }, "cohere", {
      ...answerOf("cohere", RANKED),
      model: "rerank-x",
      meta,
    });
    expect(body).toEqual({
      id: "rerank_1",
      model: "rerank-x",
      results: LIST,
      meta: {
        api_version: { version: "2" },
        billed_units: { search_units: 3 },
        tokens: { input_tokens: 12 },
      },
      usage: { total_tokens: 12 },
    });
  });

  it("has the caller's documents where it requested them, never the provider's", () => {
    const forged = { results: LIST.map((entry) => ({ ...entry, document: { text: "forged" } })) };
    const { body } = answered({ ...BODY, return_documents: true, top_n: 2 }, "jina", forged);
    expect(body.results).toEqual([
      { index: 1, relevance_score: 0.75, document: NOTED },
      { index: 2, relevance_score: 0.5, document: { text: "three" } },
    ]);
    for (const more of [{}, { return_documents: false }, { return_documents: null }]) {
      expect(answered({ ...BODY, ...more }, "jina", forged).body.results).toEqual(LIST);
    }
  });

  it.each([{}, { top_k: 3 }, { top_k: null }, { truncation: true }, { truncation: null }])(
    "has Voyage's list too for requests that may be its clients': %j",
    (more) => {
      const { answer, body } = answered({ ...BODY, ...more, return_documents: true }, "voyage", {
        ...answerOf("voyage", RANKED),
        usage: { total_tokens: 9 },
      });
      expect(body).toMatchObject({ object: "list", usage: { total_tokens: 9 } });
      expect(body.data).toEqual(
        LIST.map((entry, position) => ({ ...entry, document: ["two", "three", "one"][position] })),
      );
      expect(body.results).toMatchObject([
        { document: NOTED },
        { document: { text: "three" } },
        {},
      ]);
      expect(answer.dropped).toEqual([]);
      const plain = answered({ ...BODY, ...more }, "voyage", answerOf("voyage", RANKED));
      expect(plain.body.data).toEqual(LIST);
    },
  );

  it("has total_tokens 0 for Voyage's client, which requires it, and records that no count was reported", () => {
    const { answer, body } = answered(
      { ...BODY, top_k: null },
      "bedrock",
      answerOf("bedrock", RANKED),
    );
    expect(body.usage).toEqual({ total_tokens: 0 });
    expect(body.meta).toEqual({ api_version: { version: "2" } });
    expect(answer.dropped).toEqual(["usage_unknown"]);
  });

  it("cannot be rendered without a result", () => {
    const made = task(BODY, ["cohere"]);
    expect(() => made.answer([], contextOf(accepted(BODY)))).toThrow("without a result");
  });
});

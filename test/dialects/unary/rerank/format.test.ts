import { describe, expect, it } from "vitest";
import type { RerankRequest } from "../../../../src/canon/unary.ts";
import type { UnaryFormat } from "../../../../src/dialects/dialect.ts";
import { canon, targetOf, TARGET_NAMES, TARGETS, rerankerOf, type TargetName } from "./target.ts";

function formatted(name: TargetName, request: RerankRequest): UnaryFormat {
  const made = rerankerOf(name).format(request, targetOf(name));
  if ("code" in made) throw new Error(made.message);
  return made;
}

const TEXTS = ["a", "b", "c"];

describe("the requests of each protocol", () => {
  const plain: Readonly<Record<TargetName, readonly [string, object]>> = {
    cohere: ["/v2/rerank", { model: "rerank-v3.5", query: "q", documents: TEXTS }],
    invoke: [
      "/model/cohere.rerank-v3-5%3A0/invoke",
      { query: "q", documents: TEXTS, api_version: 2 },
    ],
    jina: [
      "/rerank",
      { model: "jina-reranker-v3", query: "q", documents: TEXTS, return_documents: false },
    ],
    voyage: [
      "/rerank",
      {
        model: "rerank-2.5",
        query: "q",
        documents: TEXTS,
        truncation: false,
        return_documents: false,
      },
    ],
    bedrock: [
      "/rerank",
      {
        queries: [{ type: "TEXT", textQuery: { text: "q" } }],
        sources: TEXTS.map((text) => ({
          type: "INLINE",
          inlineDocumentSource: { type: "TEXT", textDocument: { text } },
        })),
        rerankingConfiguration: {
          type: "BEDROCK_RERANKING_MODEL",
          bedrockRerankingConfiguration: {
            modelConfiguration: { modelArn: TARGETS.bedrock.upstreamModel },
            numberOfResults: 3,
          },
        },
      },
    ],
  };
  it.each(TARGET_NAMES)("%s: a request has its path and only the requested members", (name) => {
    const [path, body] = plain[name];
    expect(formatted(name, canon())).toEqual({ path, body, dropped: [] });
  });

  const limits: Readonly<Record<TargetName, readonly string[]>> = {
    cohere: ["top_n"],
    invoke: ["top_n"],
    jina: ["top_n"],
    voyage: ["top_k"],
    bedrock: ["rerankingConfiguration", "bedrockRerankingConfiguration", "numberOfResults"],
  };
  function limitOf(name: TargetName, topN: number): unknown {
    let value: unknown = formatted(name, canon({ topN })).body;
    for (const member of limits[name]) value = Object(value)[member];
    return value;
  }
  // Bedrock refuses to be requested more results than there are documents.
  it.each(TARGET_NAMES)(
    "%s is requested as many results as wanted, never for more than there are",
    (name) => {
      expect([1, 2, 3, 4, 1_000].map((topN) => limitOf(name, topN))).toEqual([1, 2, 3, 3, 3]);
    },
  );

  it("Cohere itself gets the limit of documents and the priority", () => {
    const { body, dropped } = formatted("cohere", canon({ maxTokensPerDocument: 64, priority: 0 }));
    expect(body).toMatchObject({ max_tokens_per_doc: 64, priority: 0 });
    expect(dropped).toEqual([]);
  });

  it.each(TARGET_NAMES.slice(1))(
    "%s: the priority is dropped on record, and the limit of documents refused",
    (name) => {
      const { body, dropped } = formatted(name, canon({ priority: 3 }));
      expect(body).toEqual(formatted(name, canon()).body);
      expect(dropped).toEqual(["hint_dropped"]);
      expect(
        rerankerOf(name).format(canon({ maxTokensPerDocument: 64 }), targetOf(name)),
      ).toMatchObject({
        status: 400,
        code: "feature_not_supported",
        param: "max_tokens_per_doc",
      });
    },
  );

  it("Voyage always gets whether it may cut", () => {
    for (const [mayTruncate, truncation] of [
      [null, false],
      [false, false],
      [true, true],
    ] as const) {
      expect(formatted("voyage", canon({ mayTruncate }))).toMatchObject({
        body: { truncation },
        dropped: [],
      });
    }
  });

  it.each(TARGET_NAMES.filter((name) => name !== "voyage"))(
    "%s has no member for truncation: the caller's wish is recorded",
    (name) => {
      const { body } = formatted(name, canon());
      for (const mayTruncate of [true, false]) {
        expect(formatted(name, canon({ mayTruncate }))).toMatchObject({
          body,
          dropped: ["truncation_unspoken"],
        });
      }
    },
  );

  it("Jina's shape excludes documents from the answer, where the provider has the member", () => {
    expect(formatted("jina", canon()).body).toMatchObject({ return_documents: false });
    const formattedForOther = rerankerOf("jina").format(
      canon(),
      targetOf("jina", null, ["no_return_documents"]),
    );
    if ("code" in formattedForOther) throw new Error(formattedForOther.message);
    expect(formattedForOther.body).not.toHaveProperty("return_documents");
  });

  it("Jina's shape is sent to a deployment where the provider has them, with the API version", () => {
    const deployed = targetOf("jina", "2026-01-01", ["deployment_paths"]);
    expect(rerankerOf("jina").format(canon(), deployed)).toMatchObject({
      path: "/deployments/jina-reranker-v3/rerank?api-version=2026-01-01",
    });
    expect(rerankerOf("jina").format(canon(), targetOf("jina", "v 1"))).toMatchObject({
      path: "/rerank?api-version=v%201",
    });
  });
});

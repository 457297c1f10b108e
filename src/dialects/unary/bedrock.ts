import type { EmbedPurpose } from "../../canon/unary.ts";
import { faultyAnswer } from "../answer-ends.ts";
import { bedrockErrorIn, readConverseError } from "../bedrock-converse/read-answer.ts";
import type { Dialect, Target } from "../dialect.ts";
import { countIn, listIn, memberIn } from "../json.ts";
import {
  droppedPriority,
  droppedTruncation,
  foreignRefusal,
  rankingReader,
  wantedResults,
} from "./ranking.ts";
import { droppedPurpose, formatPurpose, onlyText, vectorReader } from "./vectors.ts";

/** Path of Bedrock's InvokeModel, after the host of its runtime. */
export function invokePath({ endpoint }: Target): string {
  return `/model/${encodeURIComponent(endpoint.upstreamModel)}/invoke`;
}

/** Amazon's Titan text embeddings over Bedrock's InvokeModel: one text a call, never cut. */
export const titanEmbed: Dialect = {
  embed: {
    format: (request, target) => {
      const text = onlyText(request);
      if (typeof text !== "string") return text;
      // The protocol has no purposes.
      const refusal = formatPurpose(request, {});
      if (typeof refusal === "object") return refusal;
      return {
        path: invokePath(target),
        // `normalize` is left out: the second version of the model normalises by default, the first
        // refuses every member but the text.
        body: { inputText: text, dimensions: request.dimensions ?? undefined },
        dropped: droppedTruncation(request),
      };
    },
    parseAnswer: vectorReader((body) =>
      body.embedding === undefined
        ? (bedrockErrorIn(body) ?? "missing_results")
        : {
            entries: [body.embedding],
            inputTokens: countIn(body, "inputTextTokenCount"),
          },
    ),
    readError: readConverseError,
  },
};

/**
 * Nova's values of purposes. The model has several for queries; this one finds vectors of every
 * kind.
 */
const NOVA_PURPOSES: Readonly<Record<EmbedPurpose, string>> = {
  document: "GENERIC_INDEX",
  query: "GENERIC_RETRIEVAL",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
};

/**
 * Amazon's Nova embeddings over Bedrock's InvokeModel: one text a call. Tokens are counted in a
 * header only, which readers of answers do not get.
 */
export const novaEmbed: Dialect = {
  embed: {
    format: (request, target) => {
      const text = onlyText(request);
      if (typeof text !== "string") return text;
      const { purpose, dimensions, mayTruncate } = request;
      const singleEmbeddingParams = {
        embeddingPurpose: NOVA_PURPOSES[purpose ?? "document"],
        embeddingDimension: dimensions ?? undefined,
        text: { value: text, truncationMode: mayTruncate === true ? "END" : "NONE" },
      };
      return {
        path: invokePath(target),
        body: { taskType: "SINGLE_EMBEDDING", singleEmbeddingParams },
        dropped: droppedPurpose(request),
      };
    },
    parseAnswer: vectorReader((body) => {
      const embeddings = listIn(body, "embeddings");
      if (embeddings === null) return bedrockErrorIn(body) ?? "missing_results";
      return {
        entries: embeddings.map((item) => memberIn(item, "embedding")),
        inputTokens: null,
      };
    }),
    readError: readConverseError,
  },
};

/** Rerank of the agent runtime of Amazon Bedrock, for models of every vendor. */
export const bedrockRerank: Dialect = {
  rerank: {
    format: (request, { endpoint }) => {
      const refusal = foreignRefusal(request);
      if (refusal !== null) return refusal;
      const body = {
        queries: [{ type: "TEXT", textQuery: { text: request.query } }],
        sources: request.documents.map((text) => ({
          type: "INLINE",
          inlineDocumentSource: { type: "TEXT", textDocument: { text } },
        })),
        rerankingConfiguration: {
          type: "BEDROCK_RERANKING_MODEL",
          bedrockRerankingConfiguration: {
            modelConfiguration: { modelArn: endpoint.upstreamModel },
            // Always sent: the protocol does not define the default.
            numberOfResults: wantedResults(request),
          },
        },
      };
      const dropped = [...droppedPriority(request), ...droppedTruncation(request)];
      return { path: "/rerank", body, dropped };
    },
    parseAnswer: rankingReader((answer) => {
      const { results, nextToken } = answer;
      const error = results === undefined ? bedrockErrorIn(answer) : null;
      if (error !== null) return error;
      // Better results may be on the next page.
      if (nextToken != null) return faultyAnswer("result_count");
      return { results, inputTokens: null, searchUnits: null, model: null };
    }, "relevanceScore"),
    readError: readConverseError,
  },
};

import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { RerankRequest } from "../../canon/unary.ts";
import { faultyAnswer } from "../answer-ends.ts";
import { bedrockErrorIn, readConverseError } from "../bedrock-converse/read-error.ts";
import type { Dialect, FormattedRequest, Target } from "../dialect.ts";
import {
  droppedPriority,
  droppedTruncation,
  foreignRefusal,
  rankingReader,
  wantedResults,
  type FoundRanking,
} from "../unary/ranking.ts";

/** Where the agent runtime answers, after its base URL. */
const PATH = "/rerank";

/** Rerank as the agent runtime of Amazon Bedrock speaks it, for models of every vendor. */
export const dialect: Dialect = {
  rerank: {
    format: formatBedrock,
    parseAnswer: rankingReader(find, "relevanceScore"),
    readError: readConverseError,
  },
};

function formatBedrock(
  request: RerankRequest,
  { endpoint }: Target,
): FormattedRequest | ServiceError {
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
        // Always said: the protocol does not define the default.
        numberOfResults: wantedResults(request),
      },
    },
  };
  return {
    path: PATH,
    body,
    headers: [],
    dropped: [...droppedPriority(request), ...droppedTruncation(request)],
  };
}

function find(answer: JsonObject): FoundRanking | UpstreamFailure {
  const { results, nextToken } = answer;
  const error = results === undefined ? bedrockErrorIn(answer) : null;
  if (error !== null) return error;
  // There is a next page, and better results may stand on it.
  if (nextToken != null) return faultyAnswer("result_count");
  return { results, inputTokens: null, searchUnits: null, model: null };
}

import type { Dialect } from "../dialect-facts.ts";
import { voyageEmbedder } from "./embed.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { RerankRequest, RerankResult } from "../../canon/unary.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { countIn, textIn } from "../json.ts";
import { readChatError, failureIn } from "../openai-chat/read-error.ts";
import type { UnaryUpstream } from "../unary/surface.ts";
import {
  droppedPriority,
  foreignRefusal,
  rankingReader,
  type FoundRanking,
  wantedResults,
} from "../unary/ranking.ts";

/** Where providers answer, after their base URL. */
const PATH = "/rerank";

/** Rerank as Voyage AI speaks it. */
const voyageReranker: UnaryUpstream<RerankRequest, RerankResult> = {
  format: formatVoyage,
  parseAnswer: rankingReader(find),
  // Its errors are a text under `detail` and no code; where the protocol is served by others,
  // theirs are OpenAI's.
  readError: readChatError,
};

/** Voyage AI's protocol as providers speak it. */
export const dialect: Dialect = { embed: voyageEmbedder, rerank: voyageReranker };

function formatVoyage(
  request: RerankRequest,
  { endpoint }: Target,
): FormattedRequest | ServiceError {
  const refusal = foreignRefusal(request);
  if (refusal !== null) return refusal;
  const { query, documents, topN, mayTruncate } = request;
  const body = {
    model: endpoint.upstreamModel,
    query,
    documents,
    ...(topN === null ? {} : { top_k: wantedResults(request) }),
    // Texts that are too long are cut in silence unless the request says otherwise.
    truncation: mayTruncate ?? false,
    return_documents: false,
  };
  return { path: PATH, body, headers: [], dropped: droppedPriority(request) };
}

function find(answer: JsonObject): FoundRanking | UpstreamFailure {
  return (
    failureIn(answer) ?? {
      results: answer["data"],
      inputTokens: countIn(answer["usage"], "total_tokens"),
      searchUnits: null,
      model: textIn(answer, "model"),
    }
  );
}

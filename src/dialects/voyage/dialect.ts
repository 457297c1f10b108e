import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { EmbedRequest, EmbedResult, RerankRequest, RerankResult } from "../../canon/unary.ts";
import type { Dialect, FormattedRequest, Target, UnaryUpstream } from "../dialect.ts";
import { countIn, textIn } from "../json.ts";
import { INPUT_TYPES, readOpenAiList } from "../openai-chat/embeddings-upstream.ts";
import { failureIn, readChatError } from "../openai-chat/ending.ts";
import type { AnswerBytes } from "../unary/answer-bytes.ts";
import {
  droppedPriority,
  foreignRefusal,
  rankingReader,
  wantedResults,
  type FoundRanking,
} from "../unary/ranking.ts";
import { formatPurpose, textsOf, vectorFromBase64 } from "../unary/vectors.ts";

/** Where providers answer, after their base URL. */
const RERANK_PATH = "/rerank";

/** Rerank as Voyage AI speaks it. */
const voyageReranker: UnaryUpstream<RerankRequest, RerankResult> = {
  format: formatVoyage,
  parseAnswer: rankingReader(find),
  // Its errors are a text under `detail` and no code; where the protocol is served by others,
  // theirs are OpenAI's.
  readError: readChatError,
};

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
    top_k: topN === null ? undefined : wantedResults(request),
    // Texts that are too long are cut in silence unless the request says otherwise.
    truncation: mayTruncate ?? false,
    return_documents: false,
  };
  return { path: RERANK_PATH, body, headers: [], dropped: droppedPriority(request) };
}

function find(answer: JsonObject): FoundRanking | UpstreamFailure {
  return (
    failureIn(answer) ?? {
      results: answer.data,
      inputTokens: countIn(answer.usage, "total_tokens"),
      searchUnits: null,
      model: textIn(answer, "model"),
    }
  );
}

/** Where Voyage answers, after its base URL. */
const EMBED_PATH = "/embeddings";

/**
 * Voyage's embeddings: OpenAI's answer with another count of tokens, to a request with members of
 * its own (docs/protocols.md#embeddings).
 */
const voyageEmbedder: UnaryUpstream<EmbedRequest, EmbedResult> = {
  format,
  parseAnswer,
  readError: readChatError,
};

function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const { isScalar, purpose, mayTruncate, dimensions, encoding } = request;
  const inputType = purpose === null ? null : formatPurpose(purpose, INPUT_TYPES);
  if (inputType !== null && typeof inputType !== "string") return inputType;
  const [first] = texts;
  const body = {
    model: target.endpoint.upstreamModel,
    input: isScalar && first !== undefined ? first : texts,
    input_type: inputType ?? undefined,
    // The provider cuts what is too long unless the request says not to.
    truncation: mayTruncate ?? false,
    output_dimension: dimensions ?? undefined,
    // Numbers are the default and need no member.
    ...(encoding === "base64" ? { encoding_format: "base64" } : {}),
  };
  return { path: EMBED_PATH, body, headers: [], dropped: [] };
}

function parseAnswer(
  bytes: AnswerBytes,
  request: EmbedRequest,
  target: Target,
): EmbedResult | UpstreamFailure {
  const list = readOpenAiList(bytes, request, target, (value, vectorAt) =>
    typeof value === "string" ? vectorFromBase64(value, "float32") : vectorAt(value),
  );
  if ("kind" in list) return list;
  const { body, vectors } = list;
  const inputTokens = countIn(body.usage, "total_tokens");
  return {
    operation: "embed",
    vectors,
    inputTokens,
    model: textIn(body, "model"),
    isVerbatim: false,
  };
}

/** Voyage AI's protocol as providers speak it. */
export const dialect: Dialect = { embed: voyageEmbedder, rerank: voyageReranker };

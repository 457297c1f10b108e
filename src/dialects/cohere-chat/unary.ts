import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type {
  EmbedPurpose,
  EmbedRequest,
  EmbedResult,
  RerankRequest,
  RerankResult,
} from "../../canon/unary.ts";
import type { AnswerFault } from "../answer-ends.ts";
import { bedrockErrorIn, invokePath, readConverseError } from "../bedrock-converse/read-error.ts";
import type { FormattedRequest, Target, UnaryUpstream } from "../dialect.ts";
import { countIn, listIn, memberIn, textIn } from "../json.ts";
import {
  documentLimitRefusal,
  droppedPriority,
  droppedTruncation,
  rankingReader,
  wantedResults,
  type FoundRanking,
} from "../unary/ranking.ts";
import { readInOrder, textsOf, type FoundVectors } from "../unary/vectors.ts";

/** Where Cohere itself answers, after its base URL. */
const EMBED_PATH = "/v2/embed";

/** Cohere's embeddings, at Cohere and at its models on Bedrock (docs/protocols.md#embeddings). */
export const cohereEmbedder: UnaryUpstream<EmbedRequest, EmbedResult> = {
  format,
  parseAnswer: (bytes, request, target) => readInOrder(bytes, request, target, findVectors),
  readError: readConverseError,
};

const INPUT_TYPES: Readonly<Record<EmbedPurpose, string>> = {
  document: "search_document",
  query: "search_query",
  classification: "classification",
  clustering: "clustering",
};

function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const { purpose, dimensions, mayTruncate } = request;
  const isInvoked = target.provider.flags.includes("bedrock_invoke");
  const body = {
    ...(isInvoked ? {} : { model: target.endpoint.upstreamModel }),
    texts,
    input_type: INPUT_TYPES[purpose ?? "document"],
    embedding_types: ["float"],
    // Cohere itself cuts what is too long unless the request says not to.
    truncate: mayTruncate === true ? "END" : "NONE",
    output_dimension: dimensions ?? undefined,
  };
  return {
    path: isInvoked ? invokePath(target) : EMBED_PATH,
    body,
    headers: [],
    dropped: purpose === null ? ["input_purpose_defaulted"] : [],
  };
}

/**
 * Vectors stand below the kind of their numbers, or, where older models of Bedrock do not know
 * kinds, at once in the list.
 */
function findVectors(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const entries = listIn(body, "embeddings") ?? listIn(body.embeddings, "float");
  if (entries === null) return bedrockErrorIn(body) ?? "missing_results";
  return {
    entries: entries,
    inputTokens: countIn(memberIn(body.meta, "billed_units"), "input_tokens"),
    model: null,
  };
}

/** Where providers answer, after their base URL. */
const RERANK_PATH = "/v2/rerank";

/** Version of the protocol that Bedrock expects. */
const INVOKE_VERSION = 2;

/** Rerank as Cohere speaks it, at Cohere or through Bedrock's InvokeModel. */
export const cohereReranker: UnaryUpstream<RerankRequest, RerankResult> = {
  format: (request, target) =>
    target.provider.flags.includes("bedrock_invoke")
      ? formatInvoke(request, target)
      : formatOwn(request, target),
  parseAnswer: rankingReader(findRanking),
  readError: readConverseError,
};

function formatOwn(request: RerankRequest, { endpoint }: Target): FormattedRequest {
  const { query, documents, topN, maxTokensPerDocument, priority, extras } = request;
  const body = {
    ...extras,
    model: endpoint.upstreamModel,
    query,
    documents,
    top_n: topN === null ? undefined : wantedResults(request),
    max_tokens_per_doc: maxTokensPerDocument ?? undefined,
    priority: priority ?? undefined,
  };
  return { path: RERANK_PATH, body, headers: [], dropped: droppedTruncation(request) };
}

function formatInvoke(request: RerankRequest, target: Target): FormattedRequest | ServiceError {
  const refusal = documentLimitRefusal(request);
  if (refusal !== null) return refusal;
  const { query, documents, topN, extras } = request;
  const body = {
    ...extras,
    query,
    documents,
    top_n: topN === null ? undefined : wantedResults(request),
    api_version: INVOKE_VERSION,
  };
  const dropped = [...droppedPriority(request), ...droppedTruncation(request)];
  return { path: invokePath(target), body, headers: [], dropped };
}

function findRanking(answer: JsonObject): FoundRanking | UpstreamFailure {
  const { results, meta } = answer;
  const error = results === undefined ? bedrockErrorIn(answer) : null;
  return (
    error ?? {
      results,
      inputTokens: countIn(memberIn(meta, "tokens"), "input_tokens"),
      searchUnits: countIn(memberIn(meta, "billed_units"), "search_units"),
      model: textIn(answer, "model"),
    }
  );
}

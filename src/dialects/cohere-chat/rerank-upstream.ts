import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { RerankRequest, RerankResult } from "../../canon/unary.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { countIn, textIn, memberIn } from "../json.ts";
import { bedrockErrorIn, invokePath, readConverseError } from "../bedrock-converse/read-error.ts";
import {
  documentLimitRefusal,
  droppedPriority,
  droppedTruncation,
  rankingReader,
  type FoundRanking,
  wantedResults,
} from "../unary/ranking.ts";
import type { UnaryUpstream } from "../unary/surface.ts";

/** Where providers answer, after their base URL. */
const PATH = "/v2/rerank";

/** What Bedrock wants to know of the protocol's version: the second of today. */
const INVOKE_VERSION = 2;

/** Rerank as Cohere speaks it, at Cohere or through Bedrock's InvokeModel. */
export const cohereReranker: UnaryUpstream<RerankRequest, RerankResult> = {
  format: (request, target) =>
    target.provider.flags.includes("bedrock_invoke")
      ? formatInvoke(request, target)
      : formatOwn(request, target),
  parseAnswer: rankingReader(find),
  readError: readConverseError,
};

function formatOwn(request: RerankRequest, { endpoint }: Target): FormattedRequest {
  const { query, documents, topN, maxTokensPerDocument, priority, extras } = request;
  const body = {
    ...extras,
    model: endpoint.upstreamModel,
    query,
    documents,
    ...(topN === null ? {} : { top_n: wantedResults(request) }),
    ...(maxTokensPerDocument === null ? {} : { max_tokens_per_doc: maxTokensPerDocument }),
    ...(priority === null ? {} : { priority }),
  };
  return { path: PATH, body, headers: [], dropped: droppedTruncation(request) };
}

function formatInvoke(request: RerankRequest, target: Target): FormattedRequest | ServiceError {
  const refusal = documentLimitRefusal(request);
  if (refusal !== null) return refusal;
  const { query, documents, topN, extras } = request;
  const body = {
    ...extras,
    query,
    documents,
    ...(topN === null ? {} : { top_n: wantedResults(request) }),
    api_version: INVOKE_VERSION,
  };
  const dropped = [...droppedPriority(request), ...droppedTruncation(request)];
  return { path: invokePath(target), body, headers: [], dropped };
}

function find(answer: JsonObject): FoundRanking | UpstreamFailure {
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

import type { AnswerBytes } from "../unary/answer-bytes.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject } from "../../canon/json.ts";
import type { RerankRequest, RerankResult } from "../../canon/unary/rerank.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { parseAnswerBytes, countIn, textIn } from "../json.ts";
import { deploymentHost } from "./family.ts";
import { errorIn, readChatError, readErrorFrame } from "./read-error.ts";
import { faultyAnswer } from "../answer-failure.ts";
import { droppedPriority, droppedTruncation, foreignRefusal, readRanking, wantedResults } from "../unary/ranking.ts";
import type { UnaryUpstream } from "../unary/surface.ts";

/** Where providers answer, after their base URL. */
const PATH = "/rerank";

const hosted = deploymentHost(readChatError);

/** Rerank as Jina speaks it, and with it most who serve OpenAI's protocols beside. */
export const jinaReranker: UnaryUpstream<RerankRequest, RerankResult> = {
  format: formatJina,
  parseAnswer,
  readError: readChatError,
};

function formatJina(request: RerankRequest, target: Target): FormattedRequest | ServiceError {
  const refusal = foreignRefusal(request);
  if (refusal !== null) return refusal;
  const { query, documents, topN } = request;
  const body = {
    model: target.endpoint.upstreamModel,
    query,
    documents,
    ...(topN === null ? {} : { top_n: wantedResults(request) }),
    // Documents come back unless the request says otherwise.
    ...(target.provider.flags.includes("no_return_documents") ? {} : { return_documents: false }),
  };
  const plain = { path: PATH, body, headers: [] };
  return {
    ...plain,
    path: (hosted(plain, target) ?? plain).path,
    dropped: [...droppedPriority(request), ...droppedTruncation(request)],
  };
}

function parseAnswer({ whole: bytes }: AnswerBytes, request: RerankRequest): RerankResult | UpstreamFailure {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return faultyAnswer("not_json");
  const error = errorIn(answer, null);
  if (error !== null) return readErrorFrame(error);
  const { usage } = answer;
  return readRanking(answer["results"] ?? answer["data"], "relevance_score", request, {
    // The model makes no text, so the total is what it read.
    inputTokens: countIn(usage, "prompt_tokens") ?? countIn(usage, "total_tokens"),
    searchUnits: countIn(usage, "search_units"),
    model: textIn(answer, "model"),
  });
}

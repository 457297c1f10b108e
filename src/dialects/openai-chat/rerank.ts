import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { RerankRequest, RerankResult } from "../../canon/unary.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { countIn, textIn } from "../json.ts";
import { deploymentPath } from "./family.ts";
import { readChatError, failureIn } from "./read-error.ts";
import {
  droppedPriority,
  droppedTruncation,
  foreignRefusal,
  rankingReader,
  type FoundRanking,
  wantedResults,
} from "../unary/ranking.ts";
import type { UnaryUpstream } from "../unary/surface.ts";

/** Where providers answer, after their base URL. */
const PATH = "/rerank";

/** Rerank as Jina speaks it, and with it most who serve OpenAI's protocols beside. */
export const jinaReranker: UnaryUpstream<RerankRequest, RerankResult> = {
  format: formatJina,
  parseAnswer: rankingReader(find),
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
  const dropped = [...droppedPriority(request), ...droppedTruncation(request)];
  return { path: deploymentPath(PATH, target), body, headers: [], dropped };
}

function find(answer: JsonObject): FoundRanking | UpstreamFailure {
  const { usage } = answer;
  return (
    failureIn(answer) ?? {
      results: answer["results"] ?? answer["data"],
      // The model makes no text, so the total is what it read.
      inputTokens: countIn(usage, "prompt_tokens") ?? countIn(usage, "total_tokens"),
      searchUnits: countIn(usage, "search_units"),
      model: textIn(answer, "model"),
    }
  );
}

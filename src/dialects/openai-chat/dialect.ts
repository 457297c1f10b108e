import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { RerankRequest, RerankResult } from "../../canon/unary.ts";
import type {
  Dialect,
  FormattedRequest,
  Surface,
  Target,
  UnaryUpstream,
  Upstream,
} from "../dialect.ts";
import { fitting } from "../fit-request.ts";
import { countIn, textIn } from "../json.ts";
import {
  CHAT_COMPLETION,
  CHAT_COMPLETIONS_SCHEMA,
  CHAT_EXAMPLES,
  CHAT_STREAM,
} from "./contract.ts";
import { openAiEmbedder } from "./embeddings-upstream.ts";
import { failureIn, readChatError } from "./ending.ts";
import { OPENAI_CHAT } from "./facts.ts";
import { OPENAI_FAMILY, deploymentHost, deploymentPath } from "./family.ts";
import { formatChat } from "./format.ts";
import { moderationsUpstream } from "./moderations-upstream.ts";
import { CHAT_FIELDS, CHAT_REQUESTS } from "./parse-request.ts";
import { parseChatAnswer, parseChatStream, readingOfChat } from "./read-answer.ts";
import { editChatRequest, observeChatStream, readChatAnswer } from "./relay.ts";
import { renderChatAnswer, renderChatStream } from "./render.ts";
import { refusingUnknown } from "../request-reading.ts";
import {
  droppedPriority,
  droppedTruncation,
  foreignRefusal,
  rankingReader,
  wantedResults,
  type FoundRanking,
} from "../unary/ranking.ts";

/** Where providers answer, after their base URL. */
const PATH = "/chat/completions";

/** Chat completions as products speak them to us. */
export const chatSurface: Surface = {
  kind: "generate",
  dialect: "openai-chat",
  parse: CHAT_REQUESTS.parse,
  refuseUnknown: refusingUnknown(CHAT_FIELDS, "chat completions"),
  relay: {
    path: () => PATH,
    edit: editChatRequest,
    observe: observeChatStream,
    readAnswer: readChatAnswer,
    reading: readingOfChat,
  },
  translation: {
    toCanon: CHAT_REQUESTS.toCanon,
    renderStream: renderChatStream,
    renderAnswer: renderChatAnswer,
  },
  family: OPENAI_FAMILY,
  contract: {
    body: CHAT_COMPLETIONS_SCHEMA,
    answer: CHAT_COMPLETION,
    examples: CHAT_EXAMPLES,
    stream: CHAT_STREAM,
  },
};

/** Chat completions as providers speak them. */
export const chatUpstream: Upstream = {
  format: fitting(formatChat, OPENAI_CHAT.requires),
  parseStream: parseChatStream,
  parseAnswer: parseChatAnswer,
  readError: readChatError,
  host: deploymentHost(readChatError),
};

/** Rerank as Jina speaks it, and with it most who serve OpenAI's protocols beside. */
const jinaReranker: UnaryUpstream<RerankRequest, RerankResult> = {
  format: formatJina,
  parseAnswer: rankingReader(find),
  readError: readChatError,
};

/** Where providers answer, after their base URL. */
const RERANK_PATH = "/rerank";

function formatJina(request: RerankRequest, target: Target): FormattedRequest | ServiceError {
  const refusal = foreignRefusal(request);
  if (refusal !== null) return refusal;
  const { query, documents, topN } = request;
  const body = {
    model: target.endpoint.upstreamModel,
    query,
    documents,
    top_n: topN === null ? undefined : wantedResults(request),
    // Documents come back unless the request says otherwise.
    ...(target.provider.flags.includes("no_return_documents") ? {} : { return_documents: false }),
  };
  const dropped = [...droppedPriority(request), ...droppedTruncation(request)];
  return { path: deploymentPath(RERANK_PATH, target), body, headers: [], dropped };
}

function find(answer: JsonObject): FoundRanking | UpstreamFailure {
  const { usage } = answer;
  return (
    failureIn(answer) ?? {
      results: answer.results ?? answer.data,
      // The model makes no text, so the total is what it read.
      inputTokens: countIn(usage, "prompt_tokens") ?? countIn(usage, "total_tokens"),
      searchUnits: countIn(usage, "search_units"),
      model: textIn(answer, "model"),
    }
  );
}

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = {
  generate: chatUpstream,
  embed: openAiEmbedder,
  rerank: jinaReranker,
  moderate: moderationsUpstream,
};

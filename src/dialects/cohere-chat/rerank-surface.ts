import type { ServiceError } from "../../canon/error.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { RankedDocument, RerankResult } from "../../canon/unary.ts";
import { OPENAI_FAMILY } from "../openai-chat/family.ts";
import { refusingUnknown } from "../fields.ts";
import {
  singlePartTask,
  type PartEnd,
  type UnaryAnswer,
  type UnaryOptions,
  type UnarySurface,
  type UnaryTask,
} from "../unary/surface.ts";
import {
  type AnswerForm,
  parseRerankRequest,
  readRerankRequest,
  RERANK_FIELDS,
} from "./read-rerank-request.ts";
import { RERANK_EXAMPLES, RERANK_SCHEMA, RERANKING } from "./rerank-schema.ts";
import { AnswerBytes } from "../unary/answer-bytes.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { AnswerContext } from "../dialect.ts";
import { upstreamFor } from "../exchange-plan.ts";

/**
 * Rerank for clients: Cohere's request and answer, and the spellings of Jina and Voyage
 * (docs/protocols.md#rerank).
 */
export const rerankSurface: UnarySurface = {
  kind: "unary",
  dialect: "cohere-chat",
  parse: parseRerankRequest,
  refuseUnknown: refusingUnknown(RERANK_FIELDS, "rerank"),
  open: openRerank,
  family: OPENAI_FAMILY,
  contract: { body: RERANK_SCHEMA, answer: RERANKING, examples: RERANK_EXAMPLES },
};

/** One part whatever its size: only documents that were ranked together can be put in one order. */
function openRerank({ body }: InferenceRequest, options: UnaryOptions): UnaryTask | ServiceError {
  const read = readRerankRequest(body, options.unknownFields, options.edits);
  if ("code" in read) return read;
  const { form } = read;
  // All documents are one input: only together have they an answer.
  return singlePartTask(
    read,
    1,
    options.targets,
    ({ endpoint }) => upstreamFor("rerank", endpoint.dialect),
    (ends, context) => renderRerank(resultOf(ends), form, context),
  );
}

function resultOf([end]: readonly PartEnd[]): RerankResult {
  if (end === undefined || "failure" in end) throw new Error("rerank: an answer without a result");
  if (end.result.operation !== "rerank") throw new Error("rerank: the result of another operation");
  return end.result;
}

/** The version of Cohere's protocol whose answer this is. */
const API_VERSION = "2";

/**
 * Cohere's answer with the members of Jina's that it lacks; callers that may be Voyage's clients
 * get what those read beside it. Documents are the caller's own, and only where it requested them.
 */
function renderRerank(result: RerankResult, form: AnswerForm, context: AnswerContext): UnaryAnswer {
  const { results, inputTokens, searchUnits } = result;
  const { documents, isVoyage, mayBeVoyage } = form;
  const dropped: DroppedField[] = [];
  // Voyage's client for Python reads the count without asking whether there is one.
  if (isVoyage && inputTokens === null) dropped.push("usage_unknown");
  const totalTokens = isVoyage ? (inputTokens ?? 0) : inputTokens;
  const body: JsonObject = {
    id: `rerank_${context.answerId}`,
    ...(mayBeVoyage ? { object: "list" } : {}),
    model: result.model ?? context.model,
    results: results.map((ranked) => entryOf(ranked, documents, asObject)),
    ...(mayBeVoyage ? { data: results.map((ranked) => entryOf(ranked, documents, asText)) } : {}),
    meta: {
      api_version: { version: API_VERSION },
      ...(searchUnits === null ? {} : { billed_units: { search_units: searchUnits } }),
      ...(inputTokens === null ? {} : { tokens: { input_tokens: inputTokens } }),
    },
    ...(totalTokens === null ? {} : { usage: { total_tokens: totalTokens } }),
  };
  return { bytes: new AnswerBytes([encoder.encode(JSON.stringify(body))]), dropped, gaps: 0 };
}

const encoder = new TextEncoder();

function entryOf(
  { index, score }: RankedDocument,
  documents: readonly JsonValue[] | null,
  print: (document: JsonValue) => JsonValue,
): JsonObject {
  const document = documents?.[index];
  return {
    index,
    relevance_score: score,
    ...(document === undefined ? {} : { document: print(document) }),
  };
}

/** As both of Cohere's clients and Jina's read it. */
function asObject(document: JsonValue): JsonValue {
  return typeof document === "string" ? { text: document } : document;
}

/** As Voyage's clients read it. */
function asText(document: JsonValue): JsonValue {
  return isJsonObject(document) ? (document["text"] ?? null) : document;
}

import { AnswerBytes } from "../../unary/answer-bytes.ts";
import type { DroppedField } from "../../../canon/generate/dropped-field.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { RankedDocument, RerankResult } from "../../../canon/unary/rerank.ts";
import type { AnswerContext } from "../../dialect.ts";
import type { UnaryAnswer } from "../../unary/surface.ts";
import type { AnswerForm } from "./read-request.ts";

/** The version of Cohere's protocol whose answer this is. */
const API_VERSION = "2";

/**
 * Cohere's answer with the members of Jina's that it lacks; callers that may be Voyage's clients get what those read beside it. Documents are the
 * caller's own, and only where it asked for them.
 */
export function renderRerank(result: RerankResult, form: AnswerForm, context: AnswerContext): UnaryAnswer {
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
  return { bytes: new AnswerBytes([encoder.encode(JSON.stringify(body))]), dropped, inputTokens, gaps: 0 };
}

const encoder = new TextEncoder();

function entryOf(
  { index, score }: RankedDocument,
  documents: readonly JsonValue[] | null,
  print: (document: JsonValue) => JsonValue,
): JsonObject {
  const document = documents?.[index];
  return { index, relevance_score: score, ...(document === undefined ? {} : { document: print(document) }) };
}

/** As both of Cohere's clients and Jina's read it. */
function asObject(document: JsonValue): JsonValue {
  return typeof document === "string" ? { text: document } : document;
}

/** As Voyage's clients read it. */
function asText(document: JsonValue): JsonValue {
  return isJsonObject(document) ? (document["text"] ?? null) : document;
}

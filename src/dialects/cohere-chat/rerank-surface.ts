import type { DroppedField } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { COUNT, NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { BodyReader } from "../../canon/request.ts";
import type { RankedDocument, RerankRequest, RerankResult } from "../../canon/unary.ts";
import { ASCII_PER_TOKEN, PLAIN_BODY } from "../body-reader.ts";
import {
  MODEL,
  NO_UNKNOWN,
  NULL,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  OBJECT,
  ONLY_NULL,
  PREFERENCES,
  arrayOf,
  nullableInteger,
  objectOf,
} from "../contract-schemas.ts";
import type { AnswerContext } from "../dialect.ts";
import { upstreamFor } from "../exchange-plan.ts";
import { flagOrNull, listOf, memberIn, numberOrNull, textOf } from "../json.ts";
import {
  CORE,
  HINT,
  IDENTITY,
  ROUTER,
  hasUnknownMember,
  type FieldRegistry,
  type RequestReading,
} from "../request-reading.ts";
import { AnswerBytes } from "../unary/answer-bytes.ts";
import {
  callTo,
  resultOf,
  singlePartTask,
  unarySurface,
  type UnaryAnswer,
} from "../unary/surface.ts";

/**
 * Most documents of one request: Cohere's limit, which is the largest. Providers with a lower limit
 * refuse the request themselves, so a change of theirs needs no release.
 */
const MAXIMUM_DOCUMENTS = 10_000;

const limit = nullableInteger(1);

/**
 * JSON Schema (2020-12) of the body of POST /v1/rerank: Cohere's request in both its versions, and
 * the members of Jina's and Voyage's that differ (docs/protocols.md#rerank). It validates requests
 * and is part of /openapi.json.
 */
const RERANK_SCHEMA = {
  title: "CreateRerankRequest",
  type: "object",
  required: ["model", "query", "documents"],
  parserRules: NO_UNKNOWN,
  properties: {
    model: MODEL,
    query: {
      type: "string",
      parserRules: { minLength: 1 },
      description: "What to rank the documents by; at least one character.",
    },
    documents: {
      type: "array",
      minItems: 1,
      maxItems: MAXIMUM_DOCUMENTS,
      items: {
        description:
          "A text, or an object whose `text` is ranked; other members of it go nowhere, and come back with `return_documents`. Images are refused.",
        anyOf: [TEXT, objectOf({ text: TEXT })],
      },
    },
    top_n: { ...limit, description: "Maximum number of results; all by default." },
    top_k: { ...limit, description: "The same, as Voyage's clients write it." },
    return_documents: {
      ...NULLABLE_FLAG,
      description:
        "Whether results include the caller's documents; `false` by default. They never come from a provider.",
    },
    max_tokens_per_doc: {
      ...limit,
      description: "Longer documents are cut to this; refused where a protocol does not have it.",
    },
    truncation: {
      ...NULLABLE_FLAG,
      description:
        "Whether a query or documents that are too long for the model may be cut; `false` by default. Few protocols support it; where one does not, the evidence records it.",
    },
    rank_fields: {
      anyOf: [arrayOf(TEXT), NULL],
      parserRules: { enum: [["text"], null] },
      description: 'Only `["text"]`, which is the default.',
    },
    max_chunks_per_doc: {
      type: ["integer", "null"],
      ...ONLY_NULL,
      description: "Refused: send `max_tokens_per_doc` instead.",
    },
    relevant_spans: {
      ...NULLABLE_OBJECT,
      parserRules: { required: ["mode"], properties: { mode: { const: "disabled" } } },
      description:
        "Refused unless its `mode` is `disabled`: only one protocol returns the passages that counted.",
    },
    priority: {
      ...nullableInteger(0),
      description:
        "How early a provider handles the request; left out where a protocol does not have it.",
    },
    user: NULLABLE_TEXT,
    provider: PREFERENCES,
  },
} as const;

/** Estimates for limits. The query is read once with every document. */
const RERANK_BODY: BodyReader = {
  ...PLAIN_BODY,
  inputAllowance: (body, needs) => PLAIN_BODY.inputAllowance(body, needs) + repeatedQuery(body),
  likelyInput: (body, needs) =>
    PLAIN_BODY.likelyInput(body, needs) + Math.ceil(repeatedQuery(body) / ASCII_PER_TOKEN),
};

function repeatedQuery({ query, documents }: JsonObject): number {
  if (typeof query !== "string" || !Array.isArray(documents)) return 0;
  return Buffer.byteLength(query) * documents.length;
}

/** Every known top-level member of a rerank request. */
const RERANK_FIELDS: FieldRegistry = {
  model: CORE,
  query: CORE,
  documents: CORE,
  top_n: CORE,
  top_k: CORE,
  return_documents: CORE,
  max_tokens_per_doc: { uses: "document_limit" },
  truncation: CORE,
  rank_fields: CORE,
  max_chunks_per_doc: CORE,
  relevant_spans: CORE,
  priority: HINT,
  user: IDENTITY,
  provider: ROUTER,
};

function readRerank(body: JsonObject, reading: RequestReading, extras: JsonObject): RerankRequest {
  const { query, documents, top_n: topN, top_k: topK, rank_fields: fields } = body;
  if (query === "") reading.refuseMember("empty_input", "query", "must not be an empty text");
  if (typeof topN === "number" && typeof topK === "number" && topN !== topK) {
    reading.refuseMember(
      "conflicting_fields",
      "top_k",
      "and top_n say different limits; send one of them",
    );
  }
  // The chunking of the protocol's first version, which no current provider has.
  if (fields != null && JSON.stringify(fields) !== '["text"]') {
    const fix = 'must be ["text"]: write all that is to be ranked into each document\'s `text`';
    reading.refuseMember("unsupported_value", "rank_fields", fix);
  }
  if (body.max_chunks_per_doc != null) {
    reading.refuseMember(
      "unsupported_parameter",
      "max_chunks_per_doc",
      "is not offered: send max_tokens_per_doc instead",
    );
  }
  // No other protocol returns the passages that counted; forwarded, they would miss in the answer.
  const { relevant_spans: spans } = body;
  if (spans != null && memberIn(spans, "mode") !== "disabled")
    reading.refuseMember("unsupported_parameter", "relevant_spans", "is not offered: leave it out");
  return {
    query: textOf(query),
    documents: listOf(documents).map((document, index) =>
      readDocument(document, `documents[${index}]`, reading),
    ),
    topN: numberOrNull(topN ?? topK),
    maxTokensPerDocument: numberOrNull(body.max_tokens_per_doc),
    mayTruncate: flagOrNull(body.truncation),
    priority: numberOrNull(body.priority),
    extras,
  };
}

/**
 * Members for images of documents, in any protocol. Beside a text they are refused too: a caller
 * who sends one wants it ranked.
 */
const IMAGES = ["image", "image_url", "image_base64"];

/**
 * The text of a document. One without a text is refused with its position: a document that is left
 * out would shift the indices of all that follow.
 */
function readDocument(document: JsonValue, path: string, reading: RequestReading): string {
  if (typeof document === "string") return readText(document, path, reading);
  if (!isJsonObject(document) || JSON.isRawJSON(document)) {
    reading.refuseMember("invalid_type", path, "must be a text, or an object with a text");
    return "";
  }
  const image = imageIn(document);
  if (image !== null) {
    reading.refuseMember(
      "unsupported_value",
      `${path}.${image}`,
      "cannot be ranked: documents are texts here; send the document's text without its images",
    );
    return "";
  }
  const { text } = document;
  if (typeof text === "string") {
    if (hasUnknownMember(document, ["text"])) reading.dropped.add("document_members_dropped");
    return readText(text, `${path}.text`, reading);
  }
  reading.refuseMember("missing_field", `${path}.text`, "is required and must be a text");
  return "";
}

function readText(text: string, path: string, reading: RequestReading): string {
  if (text === "") reading.refuseMember("empty_input", path, "must not be an empty text");
  return text;
}

/** The member that has a document's image; a list of content parts is how some write one. */
function imageIn(document: JsonObject): string | null {
  const image = IMAGES.find((name) => document[name] != null);
  return image ?? (Array.isArray(document.content) ? "content" : null);
}

const rankedSchema = {
  type: "array",
  description: "Best first, ties by index.",
  items: objectOf(
    {
      index: { ...COUNT, description: "Index of the document in the request." },
      relevance_score: { type: "number" },
      document: { description: "The caller's own document, if `return_documents` is true." },
    },
    "index",
    "relevance_score",
  ),
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
const RERANKING = {
  title: "Reranking",
  type: "object",
  required: ["id", "model", "results", "meta"],
  properties: {
    id: TEXT,
    model: TEXT,
    results: rankedSchema,
    object: { const: "list" },
    data: {
      ...rankedSchema,
      description: "The same, as Voyage's clients read it; not where `top_n` was sent.",
    },
    meta: OBJECT,
    usage: objectOf({ total_tokens: COUNT }),
  },
} as const;

/** Requests of the contract, in the order to try them. */
const RERANK_EXAMPLES = {
  plain: {
    model: "rerank",
    query: "When is rent due?",
    documents: ["Rent is due on the first of a month.", "Pets are allowed."],
    top_n: 1,
    return_documents: true,
  },
} as const;

/**
 * Rerank for clients: Cohere's request and answer, and the spellings of Jina and Voyage
 * (docs/protocols.md#rerank).
 */
export const rerankSurface = unarySurface({
  operation: "rerank",
  dialect: "cohere-chat",
  registry: RERANK_FIELDS,
  reader: RERANK_BODY,
  read: readRerank,
  // One part, and its documents one input: only documents that were ranked together have one order.
  plan: (request, options, body) =>
    singlePartTask(
      1,
      options,
      (target) => callTo(upstreamFor("rerank", target.endpoint.dialect), request, target),
      ([end], context) => renderRerank(resultOf(end, "rerank"), body, context),
    ),
  contract: { body: RERANK_SCHEMA, answer: RERANKING, examples: RERANK_EXAMPLES },
});

/** Version of Cohere's protocol. */
const API_VERSION = "2";

/**
 * Cohere's answer with the members of Jina's that it lacks; callers that may be Voyage's clients
 * also get the members that those read. Documents are the caller's own, if requested.
 */
function renderRerank(
  { results, inputTokens, searchUnits, model }: RerankResult,
  request: JsonObject,
  context: AnswerContext,
): UnaryAnswer {
  const documents = request.return_documents === true ? listOf(request.documents) : null;
  // Voyage's clients for Python send both members always, as `null` by default.
  const isVoyage = Object.hasOwn(request, "top_k") || Object.hasOwn(request, "truncation");
  // Clients that send this member do not read Voyage's.
  const mayBeVoyage = !Object.hasOwn(request, "top_n");
  const dropped: DroppedField[] = [];
  // Voyage's client for Python reads the count without asking whether there is one.
  if (isVoyage && inputTokens === null) dropped.push("usage_unknown");
  const totalTokens = isVoyage ? (inputTokens ?? 0) : inputTokens;
  const body = {
    id: `rerank_${context.answerId}`,
    object: mayBeVoyage ? "list" : undefined,
    model: model ?? context.model,
    results: results.map((ranked) => entryOf(ranked, documents, asObject)),
    data: mayBeVoyage ? results.map((ranked) => entryOf(ranked, documents, asText)) : undefined,
    meta: {
      api_version: { version: API_VERSION },
      billed_units: searchUnits === null ? undefined : { search_units: searchUnits },
      tokens: inputTokens === null ? undefined : { input_tokens: inputTokens },
    },
    usage: totalTokens === null ? undefined : { total_tokens: totalTokens },
  };
  return { bytes: AnswerBytes.of(JSON.stringify(body)), dropped, gaps: 0 };
}

function entryOf(
  { index, score }: RankedDocument,
  documents: readonly JsonValue[] | null,
  print: (document: JsonValue) => JsonValue,
): JsonObject {
  const document = documents?.[index];
  return {
    index,
    relevance_score: score,
    document: document === undefined ? undefined : print(document),
  };
}

/** For Cohere's and Jina's clients. */
function asObject(document: JsonValue): JsonValue {
  return typeof document === "string" ? { text: document } : document;
}

/** For Voyage's clients. */
function asText(document: JsonValue): JsonValue {
  return isJsonObject(document) ? (document.text ?? null) : document;
}

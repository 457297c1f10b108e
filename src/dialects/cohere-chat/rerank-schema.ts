import { COUNT, TEXT } from "../../canon/json/schema.ts";
import { NO_UNKNOWN, ONLY_NULL, MODEL, PREFERENCES, nullableInteger } from "../request-members.ts";

/**
 * The most documents of one request: what Cohere's protocol takes, and more than any other does.
 * Providers that take fewer say so themselves, so a number of theirs that changes needs no release
 * of ours.
 */
export const MAXIMUM_DOCUMENTS = 10_000;

const limit = nullableInteger(1);

/**
 * JSON Schema (2020-12) of the body of POST /v1/rerank: Cohere's request in both its versions, and
 * the members of Jina's and Voyage's that differ (docs/protocols.md#rerank). It validates requests
 * and is part of /openapi.json.
 */
export const RERANK_SCHEMA = {
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
        anyOf: [{ type: "string" }, { type: "object", properties: { text: { type: "string" } } }],
      },
    },
    top_n: { ...limit, description: "Maximum number of results; all by default." },
    top_k: { ...limit, description: "The same, as Voyage's clients write it." },
    return_documents: {
      type: ["boolean", "null"],
      description:
        "Whether results include the caller's documents; `false` by default. They never come from a provider.",
    },
    max_tokens_per_doc: {
      ...limit,
      description: "Longer documents are cut to this; refused where a protocol does not have it.",
    },
    truncation: {
      type: ["boolean", "null"],
      description:
        "Whether a query or documents that are too long for the model may be cut; `false` by default. Few protocols support it; where one does not, the evidence records it.",
    },
    rank_fields: {
      anyOf: [{ type: "array", items: { type: "string" } }, { type: "null" }],
      parserRules: { enum: [["text"], null] },
      description: 'Only `["text"]`, which is the default.',
    },
    max_chunks_per_doc: {
      type: ["integer", "null"],
      ...ONLY_NULL,
      description: "Refused: send `max_tokens_per_doc` instead.",
    },
    relevant_spans: {
      type: ["object", "null"],
      parserRules: { required: ["mode"], properties: { mode: { const: "disabled" } } },
      description:
        "Refused unless its `mode` is `disabled`: only one protocol returns the passages that counted.",
    },
    priority: {
      ...nullableInteger(0),
      description:
        "How early a provider handles the request; left out where a protocol does not have it.",
    },
    user: { type: ["string", "null"] },
    provider: PREFERENCES,
  },
} as const;

const ranked = {
  type: "array",
  description: "Best first, ties by index.",
  items: {
    type: "object",
    required: ["index", "relevance_score"],
    properties: {
      index: { ...COUNT, description: "Index of the document in the request." },
      relevance_score: { type: "number" },
      document: { description: "The caller's own document, if `return_documents` is true." },
    },
  },
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const RERANKING = {
  title: "Reranking",
  type: "object",
  required: ["id", "model", "results", "meta"],
  properties: {
    id: TEXT,
    model: TEXT,
    results: ranked,
    object: { const: "list" },
    data: {
      ...ranked,
      description: "The same, as Voyage's clients read it; not where `top_n` was sent.",
    },
    meta: { type: "object" },
    usage: { type: "object", properties: { total_tokens: COUNT } },
  },
} as const;

/** Requests of the contract, in the order to try them. */
export const RERANK_EXAMPLES = {
  plain: {
    model: "rerank",
    query: "When is rent due?",
    documents: ["Rent is due on the first of a month.", "Pets are allowed."],
    top_n: 1,
    return_documents: true,
  },
} as const;

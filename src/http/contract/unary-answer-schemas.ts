/** JSON Schemas of the answers of embeddings, rerank and moderations, for /openapi.json; tests validate real answers against them. */
const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

export const EMBEDDING_LIST = {
  title: "EmbeddingList",
  type: "object",
  required: ["object", "data", "model", "usage"],
  properties: {
    object: { const: "list" },
    data: {
      type: "array",
      description:
        "One vector for each input, in the order of the request; with `on_partial: report`, those that there are.",
      items: {
        type: "object",
        required: ["object", "index", "embedding"],
        properties: {
          object: { const: "embedding" },
          index: count,
          embedding: {
            description: "Numbers, or base64 of little-endian single-precision numbers, as `encoding_format` asked.",
            anyOf: [{ type: "array", minItems: 1, items: { type: "number" } }, text],
          },
        },
      },
    },
    model: text,
    usage: {
      type: "object",
      required: ["prompt_tokens", "total_tokens"],
      properties: { prompt_tokens: count, total_tokens: count },
    },
    errors: {
      type: "array",
      description: "With `on_partial: report`: the inputs that have no vector.",
      items: {
        type: "object",
        required: ["index", "code", "message"],
        properties: { index: count, code: text, message: text },
      },
    },
  },
} as const;

const ranked = {
  type: "array",
  description: "Best first, ties by index.",
  items: {
    type: "object",
    required: ["index", "relevance_score"],
    properties: {
      index: { ...count, description: "Place of the document in the request." },
      relevance_score: { type: "number" },
      document: { description: "The caller's own document, where `return_documents` asked for it." },
    },
  },
} as const;

export const RERANKING = {
  title: "Reranking",
  type: "object",
  required: ["id", "model", "results", "meta"],
  properties: {
    id: text,
    model: text,
    results: ranked,
    object: { const: "list" },
    data: { ...ranked, description: "The same, as Voyage's clients read it; not where `top_n` was sent." },
    meta: { type: "object" },
    usage: { type: "object", properties: { total_tokens: count } },
  },
} as const;

export const MODERATION = {
  title: "Moderation",
  type: "object",
  required: ["id", "model", "results"],
  properties: {
    id: text,
    model: text,
    results: {
      type: "array",
      description: "One for each text of the request, or one for all its parts together.",
      items: {
        type: "object",
        required: ["flagged", "categories", "category_scores"],
        properties: {
          flagged: { type: "boolean" },
          categories: { type: "object", additionalProperties: { type: ["boolean", "null"] } },
          category_scores: { type: "object", additionalProperties: { type: ["number", "null"] } },
          category_applied_input_types: { type: "object", additionalProperties: { type: "array", items: text } },
        },
      },
    },
  },
} as const;

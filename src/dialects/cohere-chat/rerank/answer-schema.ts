const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

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

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
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

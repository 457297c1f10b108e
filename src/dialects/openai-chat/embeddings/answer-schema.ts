const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
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

const text = { type: "string" } as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
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

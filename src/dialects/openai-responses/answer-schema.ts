const text = { type: "string" } as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const RESPONSE = {
  title: "Response",
  type: "object",
  description:
    "The whole resource of the Open Responses specification; streams are its events, then [DONE]. `store` is always false.",
  required: [
    "id",
    "object",
    "created_at",
    "status",
    "error",
    "incomplete_details",
    "model",
    "output",
    "usage",
    "store",
  ],
  properties: {
    id: text,
    object: { const: "response" },
    created_at: { type: "integer" },
    status: { enum: ["completed", "incomplete", "failed"] },
    error: { type: ["object", "null"] },
    incomplete_details: { type: ["object", "null"] },
    model: text,
    output: { type: "array", items: { type: "object" } },
    usage: { type: ["object", "null"] },
    store: { const: false },
    request_id: {
      type: "string",
      description:
        "The same as the header x-request-id. Resources that the router prints have it; a provider's whole resource is passed on byte for byte, without it.",
    },
  },
} as const;

const text = { type: "string" } as const;
const nullableText = { type: ["string", "null"] } as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const MESSAGE = {
  title: "Message",
  type: "object",
  description: "As the provider answered, or translated; streams are message events, the last of them message_stop.",
  required: ["id", "type", "role", "model", "content", "stop_reason", "usage"],
  properties: {
    id: text,
    type: { const: "message" },
    role: { const: "assistant" },
    model: text,
    content: { type: "array", items: { type: "object" } },
    stop_reason: nullableText,
    stop_sequence: nullableText,
    usage: { type: "object" },
  },
} as const;

export const TOKEN_COUNT = {
  title: "TokenCount",
  type: "object",
  required: ["input_tokens"],
  properties: { input_tokens: { type: "integer", minimum: 0 } },
} as const;

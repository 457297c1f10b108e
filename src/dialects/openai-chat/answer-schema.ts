const text = { type: "string" } as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const CHAT_COMPLETION = {
  title: "ChatCompletion",
  type: "object",
  description: "As the provider answered; streams are chat.completion.chunk events, then [DONE].",
  required: ["choices"],
  properties: { id: text, object: text, model: text, choices: { type: "array" }, usage: { type: ["object", "null"] } },
} as const;

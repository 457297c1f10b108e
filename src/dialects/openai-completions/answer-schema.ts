const text = { type: "string" } as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const COMPLETION = {
  title: "Completion",
  type: "object",
  description: "As the provider answered, or translated; streams are text_completion chunks, then [DONE].",
  required: ["choices"],
  properties: { id: text, object: text, model: text, choices: { type: "array" }, usage: { type: ["object", "null"] } },
} as const;

const text = { type: "string" } as const;
const list = { type: "array", minItems: 1 } as const;

/** Parts may have members besides: those are judged by the route's mode for unknown members, like those of the body. */
const part = {
  anyOf: [
    { type: "object", required: ["type", "text"], properties: { type: { const: "text" }, text } },
    {
      type: "object",
      required: ["type", "image_url"],
      properties: {
        type: { const: "image_url" },
        image_url: { type: "object", required: ["url"], properties: { url: text } },
      },
    },
  ],
} as const;

/** JSON Schema (2020-12) of what POST /v1/moderations takes (protocols.md §3.5). It validates requests and stands in /openapi.json. */
export const MODERATIONS_SCHEMA = {
  type: "object",
  required: ["input"],
  properties: {
    input: {
      description:
        "A text or a list of texts, each judged by itself; or a list of parts, texts and images, that are judged together.",
      anyOf: [text, { ...list, items: text }, { ...list, items: part }],
    },
    model: {
      type: ["string", "null"],
      minLength: 1,
      maxLength: 256,
      description: "The workspace's default moderation route unless set.",
    },
    user: { type: ["string", "null"] },
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
  },
} as const;

import { STREAMING_RULES } from "../contract/parser-rules.ts";

/**
 * JSON Schema (2020-12) of the body of POST /v1/completions (docs/protocols.md#completions). It validates requests and is part of /openapi.json. The field
 * registry (`fields.ts`) decides about members that it does not list, by the setting of the route.
 */
const text = { type: "string" } as const;
const token = { type: "integer", minimum: 0 } as const;
const nullableNumber = (minimum: number, maximum: number) => ({ type: ["number", "null"], minimum, maximum }) as const;
const nullableInteger = (minimum: number, maximum?: number) =>
  ({ type: ["integer", "null"], minimum, ...(maximum === undefined ? {} : { maximum }) }) as const;

export const COMPLETIONS_SCHEMA = {
  title: "CreateCompletionRequest",
  type: "object",
  required: ["model", "prompt"],
  parserRules: STREAMING_RULES,
  properties: {
    model: { type: "string", minLength: 1, maxLength: 256 },
    prompt: {
      description: "A text, a list of texts, a list of tokens, or a list of lists of tokens.",
      anyOf: [
        text,
        { type: "array", minItems: 1, items: text },
        { type: "array", minItems: 1, items: token },
        { type: "array", minItems: 1, items: { type: "array", minItems: 1, items: token } },
      ],
    },
    stream: { type: ["boolean", "null"] },
    stream_options: {
      type: ["object", "null"],
      properties: {
        include_usage: { type: ["boolean", "null"] },
        include_obfuscation: { type: ["boolean", "null"] },
      },
    },
    suffix: { type: ["string", "null"] },
    echo: { type: ["boolean", "null"] },
    best_of: nullableInteger(0, 20),
    n: nullableInteger(1, 128),
    logprobs: nullableInteger(0, 5),
    max_tokens: nullableInteger(0),
    temperature: nullableNumber(0, 2),
    top_p: nullableNumber(0, 1),
    frequency_penalty: nullableNumber(-2, 2),
    presence_penalty: nullableNumber(-2, 2),
    logit_bias: { type: ["object", "null"], additionalProperties: { type: "number" } },
    seed: { type: ["integer", "null"] },
    stop: { anyOf: [text, { type: "null" }, { type: "array", items: text }] },
    user: { type: ["string", "null"] },
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
  },
} as const;

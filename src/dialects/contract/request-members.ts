import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { JsonObject } from "../../canon/json.ts";
import { ONLY_NULL } from "./parser-rules.ts";

/** What schemas of requests are most often made of. Clients that print whole objects send members that they do not use as null. */
export const NULLABLE_FLAG = { type: ["boolean", "null"] } as const;
export const NULLABLE_OBJECT = { type: ["object", "null"] } as const;

export const nullableNumber = (minimum: number, maximum: number) =>
  ({ type: ["number", "null"], minimum, maximum }) as const;

export const nullableInteger = (minimum: number, maximum?: number) =>
  ({ type: ["integer", "null"], minimum, ...(maximum === undefined ? {} : { maximum }) }) as const;

export const nullable = <Schema extends JsonObject>(schema: Schema) => ({ anyOf: [schema, { type: "null" }] }) as const;

/** The first member of every body, and the last. */
export const MODEL = { type: "string", minLength: 1, maxLength: 256 } as const;
export const PREFERENCES = { $ref: "#/components/schemas/ProviderPreferences" } as const;

/** Of all three protocols of the OpenAI family. */
export const SAMPLING_MEMBERS = {
  temperature: nullableNumber(0, 2),
  top_p: nullableNumber(0, 1),
  frequency_penalty: nullableNumber(-2, 2),
  presence_penalty: nullableNumber(-2, 2),
  user: NULLABLE_TEXT,
} as const;

/** Of chat completions and responses. */
export const CONVERSATION_MEMBERS = {
  ...SAMPLING_MEMBERS,
  parallel_tool_calls: NULLABLE_FLAG,
  top_logprobs: nullableInteger(0, 20),
  service_tier: NULLABLE_TEXT,
  prompt_cache_key: NULLABLE_TEXT,
  prompt_cache_retention: NULLABLE_TEXT,
  prompt_cache_options: { ...NULLABLE_OBJECT, properties: { comparison_response_id: ONLY_NULL } },
  metadata: NULLABLE_OBJECT,
  safety_identifier: NULLABLE_TEXT,
} as const;

/** Of chat completions and legacy completions. */
export const COMPLETION_MEMBERS = {
  stream: NULLABLE_FLAG,
  stream_options: {
    ...NULLABLE_OBJECT,
    properties: { include_usage: NULLABLE_FLAG, include_obfuscation: NULLABLE_FLAG },
  },
  logit_bias: { ...NULLABLE_OBJECT, additionalProperties: { type: "number" } },
  max_tokens: nullableInteger(0),
  n: nullableInteger(1, 128),
  seed: { type: ["integer", "null"] },
  stop: { anyOf: [TEXT, { type: "null" }, { type: "array", items: TEXT }] },
} as const;

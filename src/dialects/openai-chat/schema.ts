import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { JsonObject } from "../../canon/json.ts";
import { NEVER_SET, ONLY_NULL, STREAMING_RULES } from "../contract/parser-rules.ts";

/**
 * JSON Schema (2020-12) of the body of POST /v1/chat/completions (docs/protocols.md#chat-completions). It validates requests and is part of /openapi.json.
 * Members that it does not list are judged by the field registry (`fields.ts`), which knows the route; nested unknown members travel
 * to providers of the same protocol untouched.
 */
const nullableNumber = (minimum: number, maximum: number) => ({ type: ["number", "null"], minimum, maximum }) as const;
const nullableInteger = (minimum: number, maximum?: number) =>
  ({ type: ["integer", "null"], minimum, ...(maximum === undefined ? {} : { maximum }) }) as const;

/** Clients that print whole objects send members of other kinds as null. */
const nullable = <Schema extends JsonObject>(schema: Schema) => ({ anyOf: [schema, { type: "null" }] }) as const;

const contentPart = {
  type: "object",
  required: ["type"],
  properties: {
    type: TEXT,
    text: NULLABLE_TEXT,
    image_url: {
      anyOf: [
        { type: "object", required: ["url"], properties: { url: TEXT, detail: NULLABLE_TEXT } },
        { type: ["string", "null"] },
      ],
    },
    input_audio: nullable({ type: "object", properties: { data: TEXT, format: TEXT } }),
    file: nullable({
      type: "object",
      properties: { file_data: NULLABLE_TEXT, file_id: NULLABLE_TEXT, filename: NULLABLE_TEXT },
    }),
  },
} as const;

const toolCall = {
  type: "object",
  required: ["id"],
  properties: {
    id: TEXT,
    type: NULLABLE_TEXT,
    function: nullable({
      type: "object",
      required: ["name", "arguments"],
      properties: { name: TEXT, arguments: TEXT },
    }),
    custom: nullable({ type: "object", required: ["name", "input"], properties: { name: TEXT, input: TEXT } }),
  },
} as const;

const message = {
  type: "object",
  required: ["role"],
  properties: {
    role: { enum: ["developer", "system", "user", "assistant", "tool", "function"] },
    content: { anyOf: [TEXT, { type: "null" }, { type: "array", items: contentPart }] },
    name: { type: ["string", "null"] },
    refusal: { type: ["string", "null"] },
    tool_calls: { anyOf: [{ type: "null" }, { type: "array", items: toolCall }] },
    tool_call_id: { type: ["string", "null"] },
  },
} as const;

const functionDefinition = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 1 },
    description: { type: ["string", "null"] },
    parameters: { type: ["object", "null"] },
    strict: { type: ["boolean", "null"] },
  },
} as const;

/** Some speakers of the protocol leave `type` out of a function. */
const tool = {
  type: "object",
  properties: {
    type: { type: "string", minLength: 1 },
    function: functionDefinition,
    custom: { type: "object", required: ["name"], properties: { name: TEXT } },
  },
  if: { properties: { type: { const: "function" } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["function"] },
} as const;

const responseFormat = {
  anyOf: [
    { type: "null" },
    {
      type: "object",
      required: ["type"],
      properties: {
        type: { enum: ["text", "json_object", "json_schema"] },
        json_schema: {
          type: "object",
          properties: {
            name: TEXT,
            schema: { type: ["object", "null"] },
            strict: { type: ["boolean", "null"] },
            description: { type: ["string", "null"] },
          },
        },
      },
    },
  ],
} as const;

export const CHAT_COMPLETIONS_SCHEMA = {
  title: "CreateChatCompletionRequest",
  type: "object",
  required: ["model", "messages"],
  parserRules: STREAMING_RULES,
  properties: {
    model: { type: "string", minLength: 1, maxLength: 256 },
    messages: { type: "array", minItems: 1, items: message },
    stream: { type: ["boolean", "null"] },
    stream_options: {
      type: ["object", "null"],
      properties: {
        include_usage: { type: ["boolean", "null"] },
        include_obfuscation: { type: ["boolean", "null"] },
      },
    },
    tools: { anyOf: [{ type: "null" }, { type: "array", items: tool }] },
    tool_choice: { anyOf: [TEXT, { type: "null" }, { type: "object" }] },
    parallel_tool_calls: { type: ["boolean", "null"] },
    functions: { anyOf: [{ type: "null" }, { type: "array", items: functionDefinition }] },
    function_call: { anyOf: [TEXT, { type: "null" }, { type: "object" }] },
    response_format: responseFormat,
    temperature: nullableNumber(0, 2),
    top_p: nullableNumber(0, 1),
    frequency_penalty: nullableNumber(-2, 2),
    presence_penalty: nullableNumber(-2, 2),
    logit_bias: { type: ["object", "null"], additionalProperties: { type: "number" } },
    logprobs: { type: ["boolean", "null"] },
    top_logprobs: nullableInteger(0, 20),
    max_tokens: nullableInteger(0),
    max_completion_tokens: nullableInteger(0),
    n: nullableInteger(1, 128),
    seed: { type: ["integer", "null"] },
    stop: { anyOf: [TEXT, { type: "null" }, { type: "array", items: TEXT }] },
    reasoning_effort: {
      enum: [null, "none", "minimal", "low", "medium", "high", "xhigh", "max", "default"],
    },
    verbosity: { type: ["string", "null"] },
    modalities: { anyOf: [{ type: "null" }, { type: "array", items: TEXT }] },
    audio: { type: ["object", "null"] },
    prediction: { type: ["object", "null"] },
    web_search_options: { type: ["object", "null"] },
    service_tier: { type: ["string", "null"] },
    prompt_cache_key: { type: ["string", "null"] },
    prompt_cache_retention: { type: ["string", "null"] },
    prompt_cache_options: { type: ["object", "null"], properties: { comparison_response_id: ONLY_NULL } },
    store: { type: ["boolean", "null"], ...NEVER_SET },
    metadata: { type: ["object", "null"] },
    user: { type: ["string", "null"] },
    safety_identifier: { type: ["string", "null"] },
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
  },
} as const;

import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import {
  NO_UNKNOWN,
  ONLY_NULL,
  MODEL,
  PREFERENCES,
  nullable,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  LARGEST_COUNT,
  nullableInteger,
  nullableNumber,
} from "../request-members.ts";

/**
 * JSON Schemas (2020-12) of the bodies of POST /api/v1/messages and …/count_tokens
 * (docs/protocols.md#messages). They validate requests and are part of /openapi.json. The field
 * registry (`fields.ts`) decides about members that they do not list, by the setting of the route;
 * unknown nested members go to providers of the same protocol unchanged.
 */
const nullableShare = nullableNumber(0, 1);

/** What an object of one type must have. */
const demands = (type: string, ...required: readonly string[]) =>
  ({
    if: { type: "object", required: ["type"], properties: { type: { const: type } } },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { required },
  }) as const;

const cacheControl = {
  type: ["object", "null"],
  required: ["type"],
  properties: { type: TEXT, ttl: NULLABLE_TEXT },
} as const;

const citations = { anyOf: [{ type: "null" }, { type: "array" }, { type: "object" }] } as const;

const source = {
  type: "object",
  required: ["type"],
  properties: { type: TEXT, media_type: TEXT, data: TEXT, url: TEXT, file_id: TEXT },
  allOf: [
    demands("base64", "media_type", "data"),
    demands("text", "data"),
    demands("url", "url"),
    demands("content", "content"),
    demands("file", "file_id"),
  ],
} as const;

const block = {
  type: "object",
  required: ["type"],
  properties: {
    type: TEXT,
    text: TEXT,
    thinking: TEXT,
    signature: NULLABLE_TEXT,
    data: TEXT,
    id: TEXT,
    name: TEXT,
    tool_use_id: TEXT,
    is_error: NULLABLE_FLAG,
    title: NULLABLE_TEXT,
    context: NULLABLE_TEXT,
    cache_control: cacheControl,
    citations,
  },
  allOf: [
    demands("text", "text"),
    demands("image", "source"),
    demands("document", "source"),
    demands("thinking", "thinking"),
    demands("redacted_thinking", "data"),
    demands("tool_use", "id", "name", "input"),
    demands("tool_result", "tool_use_id"),
    {
      // `source` is a name in search results and an object in images and documents.
      if: { type: "object", properties: { type: { enum: ["image", "document"] } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { source } },
    },
    {
      if: { type: "object", properties: { type: { const: "tool_use" } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { input: { type: "object" } } },
    },
  ],
} as const;

const toolResult = {
  if: { type: "object", properties: { type: { const: "tool_result" } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: {
    properties: { content: { anyOf: [TEXT, { type: "null" }, { type: "array", items: block }] } },
  },
} as const;

const message = {
  type: "object",
  required: ["role"],
  properties: {
    role: { enum: ["user", "assistant", "system"] },
    content: {
      anyOf: [TEXT, { type: "null" }, { type: "array", items: { allOf: [block, toolResult] } }],
    },
  },
  if: { type: "object", properties: { role: { enum: ["user", "assistant"] } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["content"] },
} as const;

const tool = {
  type: "object",
  properties: {
    type: NULLABLE_TEXT,
    name: { type: "string", minLength: 1 },
    description: NULLABLE_TEXT,
    input_schema: { type: "object" },
    strict: NULLABLE_FLAG,
    defer_loading: NULLABLE_FLAG,
    eager_input_streaming: NULLABLE_FLAG,
    cache_control: cacheControl,
  },
  if: { type: "object", properties: { type: { enum: [null, "custom"] } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["name", "input_schema"] },
} as const;

const outputFormat = {
  type: ["object", "null"],
  required: ["type"],
  properties: { type: TEXT, schema: { type: "object" } },
  ...demands("json_schema", "schema"),
} as const;

const thinking = {
  type: ["object", "null"],
  required: ["type"],
  properties: { type: TEXT, budget_tokens: nullableInteger(1024), display: NULLABLE_TEXT },
  ...demands("enabled", "budget_tokens"),
} as const;

/** What both operations take. */
const shared = {
  model: MODEL,
  messages: { type: "array", minItems: 1, items: message },
  system: { anyOf: [TEXT, { type: "null" }, { type: "array", items: block }] },
  tools: { anyOf: [{ type: "null" }, { type: "array", items: tool }] },
  tool_choice: nullable({
    type: "object",
    required: ["type"],
    properties: { type: TEXT, name: TEXT, disable_parallel_tool_use: NULLABLE_FLAG },
    ...demands("tool", "name"),
  }),
  thinking,
  output_config: {
    type: ["object", "null"],
    properties: { effort: NULLABLE_TEXT, format: outputFormat, task_budget: NULLABLE_OBJECT },
  },
  output_format: outputFormat,
  cache_control: cacheControl,
  context_management: {
    type: ["object", "null"],
    properties: {
      edits: nullable({
        type: "array",
        items: { type: "object", required: ["type"], properties: { type: TEXT } },
      }),
    },
  },
  compaction: NULLABLE_OBJECT,
  mcp_servers: nullable({ type: "array", items: { type: "object" } }),
  speed: NULLABLE_TEXT,
  provider: PREFERENCES,
} as const;

export const MESSAGES_SCHEMA = {
  title: "CreateMessageRequest",
  type: "object",
  required: ["model", "max_tokens", "messages"],
  parserRules: NO_UNKNOWN,
  properties: {
    ...shared,
    max_tokens: {
      type: "integer",
      minimum: 0,
      maximum: LARGEST_COUNT,
      description: "Tokens. 0 reads the prompt into the provider's cache and answers nothing.",
    },
    stream: NULLABLE_FLAG,
    stop_sequences: nullable({ type: "array", items: TEXT }),
    temperature: { ...nullableShare, description: "Not under anthropic-version 2026-10-21." },
    top_p: { ...nullableShare, description: "Not under anthropic-version 2026-10-21." },
    top_k: { ...nullableInteger(0), description: "Not under anthropic-version 2026-10-21." },
    service_tier: NULLABLE_TEXT,
    metadata: { type: ["object", "null"], properties: { user_id: NULLABLE_TEXT } },
    user_profile_id: NULLABLE_TEXT,
    diagnostics: {
      type: ["object", "null"],
      properties: { previous_message_id: { ...NULLABLE_TEXT, ...ONLY_NULL } },
    },
    container: { anyOf: [TEXT, { type: "null" }, { type: "object" }] },
    thread: NULLABLE_OBJECT,
    fallbacks: {
      anyOf: [TEXT, { type: "null" }, { type: "array" }],
      parserRules: { type: ["array", "null"], maxItems: 0 },
    },
    billing_policy: { ...NULLABLE_OBJECT, parserRules: NO_UNKNOWN },
    fallback_credit_token: { ...NULLABLE_TEXT, ...ONLY_NULL },
    inference_geo: { ...NULLABLE_TEXT, ...ONLY_NULL },
  },
} as const;

/** Counting makes nothing, so it has no output limit and no sampling. */
export const COUNT_TOKENS_SCHEMA = {
  title: "CountMessageTokensRequest",
  type: "object",
  required: ["model", "messages"],
  parserRules: NO_UNKNOWN,
  properties: {
    ...shared,
    user_profile_id: NULLABLE_TEXT,
    inference_geo: { ...NULLABLE_TEXT, ...ONLY_NULL },
  },
} as const;

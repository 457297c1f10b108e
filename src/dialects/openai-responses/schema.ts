import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import {
  NEVER_SET,
  NO_UNKNOWN,
  ONLY_NULL,
  MODEL,
  PREFERENCES,
  CONVERSATION_MEMBERS,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  nullableInteger,
} from "../request-members.ts";

const contentPart = {
  type: "object",
  required: ["type"],
  properties: {
    type: TEXT,
    text: NULLABLE_TEXT,
    refusal: NULLABLE_TEXT,
    detail: NULLABLE_TEXT,
    file_data: NULLABLE_TEXT,
    file_url: NULLABLE_TEXT,
    filename: NULLABLE_TEXT,
    annotations: { type: ["array", "null"] },
    logprobs: { type: ["array", "null"] },
  },
} as const;

const summaryPart = {
  type: "object",
  required: ["text"],
  properties: { type: NULLABLE_TEXT, text: TEXT },
} as const;

/**
 * A message may leave `type` out. Items of hosted tools have members of their own, which are the
 * provider's business.
 */
const item = {
  type: "object",
  properties: {
    type: NULLABLE_TEXT,
    id: NULLABLE_TEXT,
    role: NULLABLE_TEXT,
    phase: NULLABLE_TEXT,
    content: { anyOf: [TEXT, { type: "null" }, { type: "array", items: contentPart }] },
    summary: { anyOf: [{ type: "null" }, { type: "array", items: summaryPart }] },
    encrypted_content: NULLABLE_TEXT,
    call_id: NULLABLE_TEXT,
    name: NULLABLE_TEXT,
    namespace: NULLABLE_TEXT,
  },
} as const;

/** Kinds of tools are judged by the parser, which knows what each one needs. */
const tool = {
  type: "object",
  required: ["type"],
  properties: {
    type: { type: "string", minLength: 1 },
    name: TEXT,
    description: NULLABLE_TEXT,
    strict: NULLABLE_FLAG,
  },
  if: { properties: { type: { const: "function" } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: {
    required: ["name"],
    properties: { name: { type: "string", minLength: 1 }, parameters: NULLABLE_OBJECT },
  },
} as const;

const schemaMembers = {
  name: NULLABLE_TEXT,
  description: NULLABLE_TEXT,
  schema: NULLABLE_OBJECT,
  strict: NULLABLE_FLAG,
} as const;

const formatType = { enum: ["text", "json_object", "json_schema"] } as const;

const textFormat = {
  anyOf: [
    { type: "null" },
    { type: "object", required: ["type"], properties: { type: formatType, ...schemaMembers } },
  ],
} as const;

const responseFormat = {
  description:
    "The chat completions spelling of `text.format`, whole or flattened. If both are given, they must be equal.",
  anyOf: [
    { type: "null" },
    {
      type: "object",
      required: ["type"],
      properties: {
        type: formatType,
        ...schemaMembers,
        json_schema: { type: ["object", "null"], properties: schemaMembers },
      },
    },
  ],
} as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/responses (docs/protocols.md#responses). It
 * validates requests and is part of /openapi.json. The field registry (`fields.ts`) decides about
 * members that it does not list, by the setting of the route; unknown nested members go to
 * providers of the same protocol unchanged.
 */
export const RESPONSES_SCHEMA = {
  title: "CreateResponseRequest",
  type: "object",
  required: ["model", "input"],
  parserRules: NO_UNKNOWN,
  properties: {
    model: MODEL,
    input: { anyOf: [TEXT, { type: "array", minItems: 1, items: item }] },
    instructions: NULLABLE_TEXT,
    stream: NULLABLE_FLAG,
    stream_options: {
      type: ["object", "null"],
      properties: { include_obfuscation: NULLABLE_FLAG },
    },
    tools: { anyOf: [{ type: "null" }, { type: "array", items: tool }] },
    tool_choice: {
      anyOf: [
        TEXT,
        { type: "null" },
        { type: "object", required: ["type"], properties: { type: TEXT } },
      ],
    },
    max_tool_calls: nullableInteger(0),
    max_output_tokens: nullableInteger(16),
    reasoning: {
      type: ["object", "null"],
      properties: {
        effort: { enum: [null, "none", "minimal", "low", "medium", "high", "xhigh", "max"] },
        summary: { enum: [null, "auto", "concise", "detailed"] },
        generate_summary: { enum: [null, "auto", "concise", "detailed"] },
        context: NULLABLE_TEXT,
        mode: NULLABLE_TEXT,
      },
    },
    text: {
      type: ["object", "null"],
      properties: { format: textFormat, verbosity: NULLABLE_TEXT },
    },
    response_format: responseFormat,
    include: { anyOf: [{ type: "null" }, { type: "array", items: TEXT }] },
    truncation: { enum: [null, "auto", "disabled"] },
    store: { ...NULLABLE_FLAG, ...NEVER_SET },
    background: { ...NULLABLE_FLAG, ...NEVER_SET },
    background_options: { ...NULLABLE_OBJECT, ...ONLY_NULL },
    moderation: NULLABLE_OBJECT,
    access_programs: NULLABLE_OBJECT,
    image: NULLABLE_OBJECT,
    previous_response_id: { ...NULLABLE_TEXT, ...ONLY_NULL },
    conversation: { type: ["string", "object", "null"], ...ONLY_NULL },
    prompt: { ...NULLABLE_OBJECT, ...ONLY_NULL },
    context_management: { type: ["array", "null"], parserRules: { maxItems: 0 } },
    client_metadata: NULLABLE_OBJECT,
    ...CONVERSATION_MEMBERS,
    provider: PREFERENCES,
  },
} as const;

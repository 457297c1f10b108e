import type { JsonObject } from "../../canon/json.ts";
import { COUNT, NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import {
  COMPLETION_MEMBERS,
  CONVERSATION_MEMBERS,
  MODEL,
  NEVER_SET,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  PREFERENCES,
  STREAMING_RULES,
  nullable,
  nullableInteger,
  nullableList,
  type EventStream,
} from "../contract-schemas.ts";
import { OPENAI_ERROR } from "./family.ts";
import { WEATHER } from "../protocol-family.ts";

const contentPart = {
  type: "object",
  required: ["type"],
  properties: {
    type: TEXT,
    text: NULLABLE_TEXT,
    image_url: {
      anyOf: [
        { type: "object", required: ["url"], properties: { url: TEXT, detail: NULLABLE_TEXT } },
        NULLABLE_TEXT,
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
    custom: nullable({
      type: "object",
      required: ["name", "input"],
      properties: { name: TEXT, input: TEXT },
    }),
  },
} as const;

const message = {
  type: "object",
  required: ["role"],
  properties: {
    role: { enum: ["developer", "system", "user", "assistant", "tool", "function"] },
    content: { anyOf: [TEXT, { type: "null" }, { type: "array", items: contentPart }] },
    name: NULLABLE_TEXT,
    refusal: NULLABLE_TEXT,
    tool_calls: nullableList(toolCall),
    tool_call_id: NULLABLE_TEXT,
  },
} as const;

const functionDefinition = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 1 },
    description: NULLABLE_TEXT,
    parameters: NULLABLE_OBJECT,
    strict: NULLABLE_FLAG,
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
            schema: NULLABLE_OBJECT,
            strict: NULLABLE_FLAG,
            description: NULLABLE_TEXT,
          },
        },
      },
    },
  ],
} as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/chat/completions
 * (docs/protocols.md#chat-completions). It validates requests and is part of /openapi.json. Members
 * that it does not list are judged by the field registry (`CHAT_FIELDS`), which knows the route;
 * nested unknown members travel to providers of the same protocol untouched.
 */
export const CHAT_COMPLETIONS_SCHEMA = {
  title: "CreateChatCompletionRequest",
  type: "object",
  required: ["model", "messages"],
  parserRules: STREAMING_RULES,
  properties: {
    model: MODEL,
    messages: { type: "array", minItems: 1, items: message },
    ...COMPLETION_MEMBERS,
    tools: nullableList(tool),
    tool_choice: { anyOf: [TEXT, { type: "null" }, { type: "object" }] },
    functions: nullableList(functionDefinition),
    function_call: { anyOf: [TEXT, { type: "null" }, { type: "object" }] },
    response_format: responseFormat,
    logprobs: NULLABLE_FLAG,
    max_completion_tokens: nullableInteger(0),
    reasoning_effort: {
      enum: [null, "none", "minimal", "low", "medium", "high", "xhigh", "max", "default"],
    },
    verbosity: NULLABLE_TEXT,
    modalities: nullableList(TEXT),
    audio: NULLABLE_OBJECT,
    prediction: NULLABLE_OBJECT,
    moderation: NULLABLE_OBJECT,
    web_search_options: NULLABLE_OBJECT,
    store: { ...NULLABLE_FLAG, ...NEVER_SET },
    ...CONVERSATION_MEMBERS,
    provider: PREFERENCES,
  },
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const CHAT_COMPLETION = {
  title: "ChatCompletion",
  type: "object",
  description: "As the provider answered; streams are chat.completion.chunk events, then [DONE].",
  required: ["choices"],
  properties: {
    id: TEXT,
    object: TEXT,
    model: TEXT,
    choices: { type: "array" },
    usage: NULLABLE_OBJECT,
  },
} as const;

/** Requests of the contract, in the order to try them. */
export const CHAT_EXAMPLES = {
  plain: { model: "chat-small", messages: [{ role: "user", content: "Say hello." }] },
  streamed: {
    model: "chat-small",
    messages: [{ role: "user", content: "Say hello." }],
    stream: true,
    stream_options: { include_usage: true },
  },
  tools: {
    model: "chat-small",
    messages: [{ role: "user", content: "What is the weather in Lisbon?" }],
    tools: [
      {
        type: "function",
        function: { name: "weather", description: "Of a city, now.", parameters: WEATHER },
      },
    ],
  },
  preferences: {
    model: "chat-large",
    messages: [{ role: "user", content: "Say hello." }],
    max_completion_tokens: 100,
    provider: { region: "eu", data_collection: "deny" },
  },
} as const;

/**
 * One event of a stream. Providers leave out what they have nothing to say in, and a provider of
 * the same protocol is relayed as it speaks.
 *
 * @param members what each choice has beside its index and the reason of its end.
 */
export function chunkSchema(title: string, members: JsonObject, description?: string) {
  const choice = { index: COUNT, ...members, finish_reason: NULLABLE_TEXT };
  return {
    title,
    type: "object",
    required: ["choices"],
    properties: {
      id: TEXT,
      object: TEXT,
      created: { type: "integer" },
      model: TEXT,
      usage: NULLABLE_OBJECT,
      choices: {
        type: "array",
        ...(description === undefined ? {} : { description }),
        items: { type: "object", required: ["index"], properties: choice },
      },
    },
  } as const;
}

const CHAT_COMPLETION_CHUNK = chunkSchema(
  "ChatCompletionChunk",
  { delta: NULLABLE_OBJECT },
  "Empty in a chunk that has the usage alone.",
);

/** JSON Schema of the events; tests validate real streams against it. */
const CHAT_COMPLETION_EVENT = {
  title: "ChatCompletionEvent",
  description: "A chunk of the answer, or an error.",
  anyOf: [CHAT_COMPLETION_CHUNK, OPENAI_ERROR],
} as const;

/** How an answer streams. */
export const CHAT_STREAM: EventStream = {
  events: CHAT_COMPLETION_EVENT,
  isNamed: false,
  hasDone: true,
  ends: "Every choice has had its `finish_reason`, and `data: [DONE]` is the last event. An event with `error` means that the answer is not whole; `[DONE]` follows it too.",
};

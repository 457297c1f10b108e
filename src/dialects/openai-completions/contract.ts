import { TEXT } from "../../canon/json/schema.ts";
import type { EventStream } from "../contract/event-stream.ts";
import { OPENAI_ERROR } from "../openai-family/family.ts";
import { CHAT_STREAM, CHUNK_MEMBERS } from "../openai-chat/contract.ts";
import { STREAMING_RULES } from "../contract/parser-rules.ts";

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const COMPLETION = {
  title: "Completion",
  type: "object",
  description: "As the provider answered, or translated; streams are text_completion chunks, then [DONE].",
  required: ["choices"],
  properties: { id: TEXT, object: TEXT, model: TEXT, choices: { type: "array" }, usage: { type: ["object", "null"] } },
} as const;

/** Requests of the contract, in the order to try them. */
export const COMPLETIONS_EXAMPLES = {
  plain: { model: "chat-small", prompt: "Say hello.", max_tokens: 20 },
  streamed: { model: "chat-small", prompt: "Say hello.", max_tokens: 20, stream: true },
} as const;

const COMPLETION_CHUNK = {
  title: "CompletionChunk",
  type: "object",
  required: ["choices"],
  properties: {
    ...CHUNK_MEMBERS,
    choices: {
      type: "array",
      items: {
        type: "object",
        required: ["index"],
        properties: {
          index: { type: "integer", minimum: 0 },
          text: { type: ["string", "null"] },
          finish_reason: { type: ["string", "null"] },
        },
      },
    },
  },
} as const;

/** JSON Schema of the events; tests validate real streams against it. */
const COMPLETION_EVENT = {
  title: "CompletionEvent",
  description: "A chunk of the answer, or an error.",
  anyOf: [COMPLETION_CHUNK, OPENAI_ERROR],
} as const;

/** How an answer streams. */
export const COMPLETION_STREAM: EventStream = { ...CHAT_STREAM, events: COMPLETION_EVENT };

const token = { type: "integer", minimum: 0 } as const;
const nullableNumber = (minimum: number, maximum: number) => ({ type: ["number", "null"], minimum, maximum }) as const;
const nullableInteger = (minimum: number, maximum?: number) =>
  ({ type: ["integer", "null"], minimum, ...(maximum === undefined ? {} : { maximum }) }) as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/completions (docs/protocols.md#completions). It validates requests and is part of /openapi.json. The field
 * registry (`fields.ts`) decides about members that it does not list, by the setting of the route.
 */
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
        TEXT,
        { type: "array", minItems: 1, items: TEXT },
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
    stop: { anyOf: [TEXT, { type: "null" }, { type: "array", items: TEXT }] },
    user: { type: ["string", "null"] },
    provider: { $ref: "#/components/schemas/ProviderPreferences" },
  },
} as const;

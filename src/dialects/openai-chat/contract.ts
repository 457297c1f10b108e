import type { JsonObject } from "../../canon/json.ts";
import { COUNT, NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import { NULLABLE_OBJECT } from "../request-members.ts";
import { WEATHER } from "../protocol-family.ts";
import type { EventStream } from "../event-stream.ts";
import { OPENAI_ERROR } from "./family.ts";

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

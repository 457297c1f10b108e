import { TEXT } from "../../canon/json/schema.ts";
import { WEATHER } from "../contract/error-members.ts";
import type { EventStream } from "../contract/event-stream.ts";
import { OPENAI_ERROR } from "../openai-family/family.ts";

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const CHAT_COMPLETION = {
  title: "ChatCompletion",
  type: "object",
  description: "As the provider answered; streams are chat.completion.chunk events, then [DONE].",
  required: ["choices"],
  properties: { id: TEXT, object: TEXT, model: TEXT, choices: { type: "array" }, usage: { type: ["object", "null"] } },
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
    tools: [{ type: "function", function: { name: "weather", description: "Of a city, now.", parameters: WEATHER } }],
  },
  preferences: {
    model: "chat-large",
    messages: [{ role: "user", content: "Say hello." }],
    max_completion_tokens: 100,
    provider: { region: "eu", data_collection: "deny" },
  },
} as const;

const usage = { type: ["object", "null"] } as const;

/** Members of every chunk. Providers leave out what they have nothing to say in, and a provider of the same protocol is relayed as it speaks. */
export const CHUNK_MEMBERS = { id: TEXT, object: TEXT, created: { type: "integer" }, model: TEXT, usage } as const;

const CHAT_COMPLETION_CHUNK = {
  title: "ChatCompletionChunk",
  type: "object",
  required: ["choices"],
  properties: {
    ...CHUNK_MEMBERS,
    choices: {
      type: "array",
      description: "Empty in a chunk that has the usage alone.",
      items: {
        type: "object",
        required: ["index"],
        properties: {
          index: { type: "integer", minimum: 0 },
          delta: { type: ["object", "null"] },
          finish_reason: { type: ["string", "null"] },
        },
      },
    },
  },
} as const;

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

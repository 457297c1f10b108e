import { ERROR } from "../document/error-schemas.ts";

/** JSON Schemas of the events of POST /v1/chat/completions and /v1/completions; tests validate real streams against them. */
const text = { type: "string" } as const;
const usage = { type: ["object", "null"] } as const;

/** Providers leave out what they have nothing to say in, and a provider of the same protocol is relayed as it speaks. */
const chunk = { id: text, object: text, created: { type: "integer" }, model: text, usage } as const;

const CHAT_COMPLETION_CHUNK = {
  title: "ChatCompletionChunk",
  type: "object",
  required: ["choices"],
  properties: {
    ...chunk,
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

const COMPLETION_CHUNK = {
  title: "CompletionChunk",
  type: "object",
  required: ["choices"],
  properties: {
    ...chunk,
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

const description = "A chunk of the answer, or what has gone wrong.";

export const CHAT_COMPLETION_EVENT = {
  title: "ChatCompletionEvent",
  description,
  anyOf: [CHAT_COMPLETION_CHUNK, ERROR],
} as const;

export const COMPLETION_EVENT = {
  title: "CompletionEvent",
  description,
  anyOf: [COMPLETION_CHUNK, ERROR],
} as const;

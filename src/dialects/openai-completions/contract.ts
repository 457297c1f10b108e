import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { EventStream } from "../event-stream.ts";
import { OPENAI_ERROR } from "../openai-chat/family.ts";
import { CHAT_STREAM, chunkSchema } from "../openai-chat/contract.ts";
import {
  STREAMING_RULES,
  MODEL,
  PREFERENCES,
  COMPLETION_MEMBERS,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  nullableInteger,
  SAMPLING_MEMBERS,
  TOKEN,
} from "../request-members.ts";

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const COMPLETION = {
  title: "Completion",
  type: "object",
  description:
    "As the provider answered, or translated; streams are text_completion chunks, then [DONE].",
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
export const COMPLETIONS_EXAMPLES = {
  plain: { model: "chat-small", prompt: "Say hello.", max_tokens: 20 },
  streamed: { model: "chat-small", prompt: "Say hello.", max_tokens: 20, stream: true },
} as const;

const COMPLETION_CHUNK = chunkSchema("CompletionChunk", { text: NULLABLE_TEXT });

/** JSON Schema of the events; tests validate real streams against it. */
const COMPLETION_EVENT = {
  title: "CompletionEvent",
  description: "A chunk of the answer, or an error.",
  anyOf: [COMPLETION_CHUNK, OPENAI_ERROR],
} as const;

/** How an answer streams. */
export const COMPLETION_STREAM: EventStream = { ...CHAT_STREAM, events: COMPLETION_EVENT };

/**
 * JSON Schema (2020-12) of the body of POST /v1/completions (docs/protocols.md#completions). It
 * validates requests and is part of /openapi.json. The field registry (`fields.ts`) decides about
 * members that it does not list, by the setting of the route.
 */
export const COMPLETIONS_SCHEMA = {
  title: "CreateCompletionRequest",
  type: "object",
  required: ["model", "prompt"],
  parserRules: STREAMING_RULES,
  properties: {
    model: MODEL,
    prompt: {
      description: "A text, a list of texts, a list of tokens, or a list of lists of tokens.",
      anyOf: [
        { type: "null" },
        TEXT,
        { type: "array", minItems: 1, items: TEXT },
        { type: "array", minItems: 1, items: TOKEN },
        { type: "array", minItems: 1, items: { type: "array", minItems: 1, items: TOKEN } },
      ],
    },
    ...COMPLETION_MEMBERS,
    suffix: NULLABLE_TEXT,
    echo: NULLABLE_FLAG,
    best_of: nullableInteger(0, 20),
    logprobs: nullableInteger(0, 5),
    ...SAMPLING_MEMBERS,
    provider: PREFERENCES,
  },
} as const;

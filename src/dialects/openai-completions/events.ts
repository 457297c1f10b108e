import type { EventStream } from "../contract/event-stream.ts";
import { OPENAI_ERROR } from "../openai-family/family.ts";
import { CHAT_STREAM, CHUNK_MEMBERS } from "../openai-chat/events.ts";

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
  description: "A chunk of the answer, or what has gone wrong.",
  anyOf: [COMPLETION_CHUNK, OPENAI_ERROR],
} as const;

/** How an answer streams. */
export const COMPLETION_STREAM: EventStream = { ...CHAT_STREAM, events: COMPLETION_EVENT };

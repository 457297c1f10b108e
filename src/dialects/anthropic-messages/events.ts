import type { JsonObject } from "../../canon/json.ts";
import type { EventStream } from "../contract/event-stream.ts";
import { ANTHROPIC_ERROR } from "./family.ts";
import { eventSchema, eventUnion, type EventFacts } from "../contract/event-union.ts";

/** JSON Schema of the events of POST /api/v1/messages; tests validate real streams against it. */
const text = { type: "string" } as const;
const index = { type: "integer", minimum: 0, description: "Index of the content block." } as const;
const typed = { type: "object", required: ["type"], properties: { type: text } } as const;

const EVENTS: Readonly<Record<string, EventFacts>> = {
  message_start: {
    title: "MessageStartEvent",
    description: "The message, with empty content.",
    members: { message: { type: "object", required: ["id", "role", "content"] } },
  },
  content_block_start: {
    title: "ContentBlockStartEvent",
    description: "A content block begins.",
    members: { index, content_block: typed },
  },
  content_block_delta: {
    title: "ContentBlockDeltaEvent",
    description: "More of a content block.",
    members: { index, delta: typed },
  },
  content_block_stop: {
    title: "ContentBlockStopEvent",
    description: "A content block is whole.",
    members: { index },
  },
  message_delta: {
    title: "MessageDeltaEvent",
    description: "Why the message ended, and its usage.",
    members: {
      delta: { type: "object", required: ["stop_reason"], properties: { stop_reason: { type: ["string", "null"] } } },
    },
  },
  message_stop: { title: "MessageStopEvent", description: "The answer is whole.", members: {} },
  ping: { title: "PingEvent", description: "Keeps the connection open.", members: {} },
};

const BY_TYPE: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(Object.entries(EVENTS).map(([type, facts]) => [type, eventSchema(type, facts)])),
  error: ANTHROPIC_ERROR,
};

const MESSAGE_EVENT = eventUnion("MessageEvent", BY_TYPE);

/** How an answer streams. */
export const MESSAGE_STREAM: EventStream = {
  events: MESSAGE_EVENT,
  isNamed: true,
  hasDone: false,
  ends: "`message_stop`. A stream that ends with `error`, or with nothing, is not whole.",
};

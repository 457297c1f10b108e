import { NULLABLE_TEXT, TEXT, complete } from "../../canon/json/schema.ts";
import { WEATHER } from "../protocol-family.ts";
import type { JsonObject } from "../../canon/json.ts";
import { type EventStream, type EventFacts, eventSchema, eventUnion } from "../event-stream.ts";
import { ANTHROPIC_ERROR } from "./family.ts";
import { BETA_HEADER, NO_HEADERS, type ProtocolHeaders } from "../../canon/request.ts";
import type { IncomingHeaders, SurfaceHeaders } from "../dialect.ts";
import { textOrNull } from "../json.ts";

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const MESSAGE = {
  title: "Message",
  type: "object",
  description:
    "As the provider answered, or translated; streams are message events, the last of them message_stop.",
  required: ["id", "type", "role", "model", "content", "stop_reason", "usage"],
  properties: {
    id: TEXT,
    type: { const: "message" },
    role: { const: "assistant" },
    model: TEXT,
    content: { type: "array", items: { type: "object" } },
    stop_reason: NULLABLE_TEXT,
    stop_sequence: NULLABLE_TEXT,
    usage: { type: "object" },
  },
} as const;

export const TOKEN_COUNT = {
  title: "TokenCount",
  ...complete({ input_tokens: { type: "integer", minimum: 0 } }),
} as const;

/** Requests of the contract, in the order to try them. */
export const MESSAGES_EXAMPLES = {
  plain: {
    model: "claude-sonnet-4-6",
    max_tokens: 100,
    messages: [{ role: "user", content: "Say hello." }],
  },
  streamed: {
    model: "claude-sonnet-4-6",
    max_tokens: 100,
    messages: [{ role: "user", content: "Say hello." }],
    stream: true,
  },
  tools: {
    model: "claude-sonnet-4-6",
    max_tokens: 500,
    system: "Answer in one sentence.",
    messages: [{ role: "user", content: "What is the weather in Lisbon?" }],
    tools: [{ name: "weather", description: "Of a city, now.", input_schema: WEATHER }],
  },
} as const;

/** Requests of the contract, in the order to try them. */
export const COUNT_EXAMPLES = {
  plain: { model: "claude-sonnet-4-6", messages: [{ role: "user", content: "Say hello." }] },
} as const;

/** JSON Schema of the events of POST /api/v1/messages; tests validate real streams against it. */
const index = { type: "integer", minimum: 0, description: "Index of the content block." } as const;
const typed = complete({ type: TEXT });

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
      delta: complete({ stop_reason: { type: ["string", "null"] } }),
    },
  },
  message_stop: { title: "MessageStopEvent", description: "The answer is whole.", members: {} },
  ping: { title: "PingEvent", description: "Keeps the connection open.", members: {} },
};

const BY_TYPE: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(
    Object.entries(EVENTS).map(([type, facts]) => [type, eventSchema(type, facts)]),
  ),
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

/** Most beta flags that are looked at; coding agents send about ten. */
const MAXIMUM_BETAS = 64;

/** Headers of messages requests. */
export const MESSAGES_HEADERS: SurfaceHeaders = {
  read,
  facts: [
    {
      name: "anthropic-version",
      description: "The protocol's version.",
      schema: { type: "string" },
    },
    {
      name: BETA_HEADER,
      description:
        "Beta flags, separated by commas; a provider gets those that routes.yaml lists for it.",
      schema: { type: "string" },
    },
  ],
};

/**
 * The only headers of a client that a provider may receive, each through its dialect's own
 * allow-list (docs/protocols.md#headers-of-the-client).
 */
function read(headers: IncomingHeaders): ProtocolHeaders {
  const version = headers["anthropic-version"];
  const value = headers[BETA_HEADER];
  if (version === undefined && value === undefined) return NO_HEADERS;
  const given = value === undefined ? [] : String(value).split(",");
  const betas = given
    .map((beta) => beta.trim())
    .filter((beta) => /^[a-z0-9][a-z0-9.-]{0,126}$/.test(beta))
    .slice(0, MAXIMUM_BETAS);
  return {
    version: textOrNull(version),
    betas,
    ...(betas.length < given.length && { unsent: [BETA_HEADER] }),
  };
}

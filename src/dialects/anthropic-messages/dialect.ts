import { fitting } from "../fit-request.ts";
import { ANTHROPIC_MESSAGES } from "./facts.ts";
import type { Dialect, Surface, SurfaceHeaders } from "../dialect.ts";
import { refusingUnknown } from "../request-reading.ts";
import {
  COUNT_PATH,
  COUNT_TOKENS_FIELDS,
  MESSAGES_FIELDS,
  MESSAGES_PATH,
} from "./request-facts.ts";
import { hostMessages } from "./host.ts";
import {
  editMessagesRequest,
  MessagesObserver,
  readCountAnswer,
  readMessagesAnswer,
} from "./relay.ts";
import { COUNT_REQUESTS, MESSAGES_REQUESTS } from "./parse-request.ts";
import {
  ANTHROPIC_ERROR,
  ANTHROPIC_FAMILY,
  MessagesRenderer,
  renderCount,
  renderMessagesAnswer,
} from "./render.ts";
import { formatMessages } from "./format.ts";
import { parseMessagesAnswer, parseMessagesStream, readMessagesError } from "./read-answer.ts";
import type { Capability, Feature } from "../../canon/capability.ts";
import type { JsonObject } from "../../canon/json.ts";
import { complete, COUNT, NULLABLE_COUNT, NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { Operation } from "../../canon/operation.ts";
import { BETA_HEADER, NO_HEADERS } from "../../canon/request.ts";
import { EFFORTS } from "./reasoning.ts";
import {
  anyOf,
  arrayOf,
  conditional,
  eventSchemas,
  type EventStream,
  type EventTable,
  eventUnion,
  LARGEST_COUNT,
  MODEL,
  NO_UNKNOWN,
  NULL,
  nullable,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  nullableInteger,
  nullableList,
  nullableNumber,
  OBJECT,
  objectOf,
  ONLY_NULL,
  PREFERENCES,
} from "../contract-schemas.ts";
import { textOrNull } from "../json.ts";
import { WEATHER } from "../protocol-family.ts";

/**
 * JSON Schemas (2020-12) of the bodies of POST /api/v1/messages and …/count_tokens
 * (docs/protocols.md#messages). They validate requests and are part of /openapi.json. Members that
 * they do not list are treated by the field registry (`request-facts.ts`) and the setting of the
 * route; unknown nested members are sent unchanged to providers of the same protocol.
 */
const nullableShare = nullableNumber(0, 1);

/** Required members of one type. */
const demands = (type: string, ...required: readonly string[]) =>
  conditional(objectOf({ type: { const: type } }, "type"), { required });

const cacheControl = {
  ...NULLABLE_OBJECT,
  required: ["type"],
  properties: { type: TEXT, ttl: NULLABLE_TEXT },
} as const;

const source = {
  ...objectOf({ type: TEXT, media_type: TEXT, data: TEXT, url: TEXT, file_id: TEXT }, "type"),
  allOf: [
    demands("base64", "media_type", "data"),
    demands("text", "data"),
    demands("url", "url"),
    demands("content", "content"),
    demands("file", "file_id"),
  ],
};

const block = {
  ...objectOf(
    {
      type: TEXT,
      text: TEXT,
      thinking: TEXT,
      signature: NULLABLE_TEXT,
      data: TEXT,
      id: TEXT,
      name: TEXT,
      tool_use_id: TEXT,
      is_error: NULLABLE_FLAG,
      title: NULLABLE_TEXT,
      context: NULLABLE_TEXT,
      cache_control: cacheControl,
      citations: anyOf(NULL, { type: "array" }, OBJECT),
    },
    "type",
  ),
  allOf: [
    demands("text", "text"),
    demands("image", "source"),
    demands("document", "source"),
    demands("thinking", "thinking"),
    demands("redacted_thinking", "data"),
    demands("tool_use", "id", "name", "input"),
    demands("tool_result", "tool_use_id"),
    // `source` is a name in search results and an object in images and documents.
    conditional(objectOf({ type: { enum: ["image", "document"] } }), { properties: { source } }),
    conditional(objectOf({ type: { const: "tool_use" } }), { properties: { input: OBJECT } }),
  ],
};

const toolResult = conditional(objectOf({ type: { const: "tool_result" } }), {
  properties: { content: anyOf(TEXT, NULL, arrayOf(block)) },
});

const message = {
  ...objectOf(
    {
      role: { enum: ["user", "assistant", "system"] },
      content: anyOf(TEXT, NULL, arrayOf({ allOf: [block, toolResult] })),
    },
    "role",
  ),
  ...conditional(objectOf({ role: { enum: ["user", "assistant"] } }), { required: ["content"] }),
};

const tool = {
  ...objectOf({
    type: NULLABLE_TEXT,
    name: { type: "string", minLength: 1 },
    description: NULLABLE_TEXT,
    input_schema: OBJECT,
    strict: NULLABLE_FLAG,
    defer_loading: NULLABLE_FLAG,
    eager_input_streaming: NULLABLE_FLAG,
    cache_control: cacheControl,
  }),
  ...conditional(objectOf({ type: { enum: [null, "custom"] } }), {
    required: ["name", "input_schema"],
  }),
};

const outputFormat = {
  ...NULLABLE_OBJECT,
  required: ["type"],
  properties: { type: TEXT, schema: OBJECT },
  ...demands("json_schema", "schema"),
};

const thinking = {
  ...NULLABLE_OBJECT,
  required: ["type"],
  properties: { type: TEXT, budget_tokens: nullableInteger(1024), display: NULLABLE_TEXT },
  ...demands("enabled", "budget_tokens"),
};

/** Members of both operations. */
const shared = {
  model: MODEL,
  messages: { type: "array", minItems: 1, items: message },
  system: anyOf(TEXT, NULL, arrayOf(block)),
  tools: nullableList(tool),
  tool_choice: nullable({
    ...objectOf({ type: TEXT, name: TEXT, disable_parallel_tool_use: NULLABLE_FLAG }, "type"),
    ...demands("tool", "name"),
  }),
  thinking,
  output_config: {
    ...NULLABLE_OBJECT,
    properties: { effort: NULLABLE_TEXT, format: outputFormat, task_budget: NULLABLE_OBJECT },
  },
  output_format: outputFormat,
  cache_control: cacheControl,
  context_management: {
    ...NULLABLE_OBJECT,
    properties: { edits: nullable(arrayOf(objectOf({ type: TEXT }, "type"))) },
  },
  compaction: NULLABLE_OBJECT,
  mcp_servers: nullable(arrayOf(OBJECT)),
  speed: NULLABLE_TEXT,
  provider: PREFERENCES,
} as const;

export const MESSAGES_SCHEMA = {
  title: "CreateMessageRequest",
  type: "object",
  required: ["model", "max_tokens", "messages"],
  parserRules: NO_UNKNOWN,
  properties: {
    ...shared,
    max_tokens: {
      type: "integer",
      minimum: 0,
      maximum: LARGEST_COUNT,
      description: "Tokens. 0 reads the prompt into the provider's cache and answers nothing.",
    },
    stream: NULLABLE_FLAG,
    stop_sequences: nullable(arrayOf(TEXT)),
    temperature: { ...nullableShare, description: "Not under anthropic-version 2026-10-21." },
    top_p: { ...nullableShare, description: "Not under anthropic-version 2026-10-21." },
    top_k: { ...nullableInteger(0), description: "Not under anthropic-version 2026-10-21." },
    service_tier: NULLABLE_TEXT,
    metadata: { ...NULLABLE_OBJECT, properties: { user_id: NULLABLE_TEXT } },
    user_profile_id: NULLABLE_TEXT,
    diagnostics: {
      ...NULLABLE_OBJECT,
      properties: { previous_message_id: { ...NULLABLE_TEXT, ...ONLY_NULL } },
    },
    container: anyOf(TEXT, NULL, OBJECT),
    thread: NULLABLE_OBJECT,
    fallbacks: {
      ...anyOf(TEXT, NULL, { type: "array" }),
      parserRules: { type: ["array", "null"], maxItems: 0 },
    },
    billing_policy: { ...NULLABLE_OBJECT, parserRules: NO_UNKNOWN },
    fallback_credit_token: { ...NULLABLE_TEXT, ...ONLY_NULL },
    inference_geo: { ...NULLABLE_TEXT, ...ONLY_NULL },
  },
} as const;

/** Counting makes nothing, so it has no output limit and no sampling. */
export const COUNT_TOKENS_SCHEMA = {
  title: "CountMessageTokensRequest",
  type: "object",
  required: ["model", "messages"],
  parserRules: NO_UNKNOWN,
  properties: {
    ...shared,
    user_profile_id: NULLABLE_TEXT,
    inference_geo: { ...NULLABLE_TEXT, ...ONLY_NULL },
  },
} as const;

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
    content: arrayOf(OBJECT),
    stop_reason: NULLABLE_TEXT,
    stop_sequence: NULLABLE_TEXT,
    usage: OBJECT,
  },
} as const;

const TOKEN_COUNT = {
  title: "TokenCount",
  ...complete({ input_tokens: COUNT }),
} as const;

/** Requests of the contract, in the order to try them. */
const MESSAGES_EXAMPLES = {
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
const COUNT_EXAMPLES = {
  plain: { model: "claude-sonnet-4-6", messages: [{ role: "user", content: "Say hello." }] },
} as const;

/** JSON Schema of the events of POST /api/v1/messages; tests validate real streams against it. */
const index = { type: "integer", minimum: 0, description: "Index of the content block." } as const;
const typed = complete({ type: TEXT });

const EVENTS: EventTable = {
  message_start: [
    "The message, with empty content.",
    { message: { ...OBJECT, required: ["id", "role", "content"] } },
  ],
  content_block_start: ["A content block begins.", { index, content_block: typed }],
  content_block_delta: ["More of a content block.", { index, delta: typed }],
  content_block_stop: ["A content block is whole.", { index }],
  message_delta: [
    "Why the message ended, and its usage.",
    { delta: complete({ stop_reason: NULLABLE_TEXT }) },
  ],
  message_stop: ["The answer is whole.", {}],
  ping: ["Keeps the connection open.", {}],
};

/** How an answer streams. */
export const MESSAGE_STREAM: EventStream = {
  events: eventUnion("MessageEvent", { ...eventSchemas(EVENTS), error: ANTHROPIC_ERROR }),
  hasEventNames: true,
  hasDoneEvent: false,
  ends: "`message_stop`. A stream that ends with `error`, or with nothing, is not whole.",
};

/** Most beta flags that are read; coding agents send about ten. */
const MAXIMUM_BETAS = 64;

/**
 * Headers of messages requests: the only ones of a client that a provider may receive, each through
 * its dialect's own allow-list (docs/protocols.md#headers-of-the-client).
 */
export const MESSAGES_HEADERS: SurfaceHeaders = {
  read: (headers) => {
    const version = headers["anthropic-version"];
    const value = headers[BETA_HEADER];
    if (version === undefined && value === undefined) return NO_HEADERS;
    const values = value === undefined ? [] : String(value).split(",");
    const betas = values
      .map((beta) => beta.trim())
      .filter((beta) => /^[a-z0-9][a-z0-9.-]{0,126}$/.test(beta))
      .slice(0, MAXIMUM_BETAS);
    return {
      version: textOrNull(version),
      betas,
      ...(betas.length < values.length && { unsent: [BETA_HEADER] }),
    };
  },
  facts: [
    {
      name: "anthropic-version",
      description: "The protocol's version.",
      schema: TEXT,
    },
    {
      name: BETA_HEADER,
      description:
        "Beta flags, separated by commas; a provider gets those that routes.yaml lists for it.",
      schema: TEXT,
    },
  ],
};

/** A route as the protocol's list of models describes it. */
interface DescribedRoute {
  readonly route: { readonly id: string; readonly title: string };
  /** Tokens; `null` where an endpoint's is not declared. */
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly capabilities: readonly Capability[];
  /** Whether the route serves a request of the operation with these needs and features. */
  readonly serves: (
    operation: Operation,
    needs: readonly Capability[],
    features: readonly Feature[],
  ) => boolean;
}

/** An entry of the protocol's list of models: the members of Anthropic's `ModelInfo`. */
export function modelInfo(described: DescribedRoute): JsonObject {
  const { id, title } = described.route;
  return {
    type: "model",
    id,
    display_name: title === "" ? id : title,
    // A route has no date of creation; the protocol uses the epoch for unknown dates.
    created_at: "1970-01-01T00:00:00Z",
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
    max_input_tokens: described.contextWindow,
    max_tokens: described.maxOutputTokens,
    capabilities: capabilities(described),
  };
}

interface Support extends JsonObject {
  readonly supported: boolean;
}

/**
 * All capability names of the protocol, for its clients: whether a messages request may require
 * each of the route. Then every capability of the route under its name here, which overrides a name
 * of the protocol (`image_input`, `code_execution`).
 */
function capabilities({ serves, capabilities: ofRoute }: DescribedRoute): JsonObject {
  const requires = (needs: readonly Capability[], ...features: readonly Feature[]) =>
    support(serves("messages", needs, features));
  const effort = Object.fromEntries(
    EFFORTS.map((name) => [name, requires(["reasoning"], `effort_${name}`)]),
  );
  const serverTools = {
    web_search: requires(["web_search"], "native_messages"),
    code_execution: requires(["code_execution"], "native_messages"),
  };
  return {
    batch: NO,
    citations: NO,
    code_execution: NO,
    context_management: {
      ...NO,
      clear_thinking_20251015: NO,
      clear_tool_uses_20250919: NO,
      compact_20260112: NO,
    },
    effort: { ...anySupport(effort), ...effort },
    image_input: requires(["image_input"]),
    pdf_input: requires(["file_input"]),
    server_tools: { ...anySupport(serverTools), ...serverTools },
    structured_outputs: requires(["json_schema"]),
    thinking: {
      ...requires(["reasoning"]),
      types: {
        adaptive: requires(["reasoning"]),
        between_tools: NO,
        disabled: requires([], "effort_none"),
        enabled: requires(["reasoning"], "reasoning_budget"),
      },
    },
    ...Object.fromEntries(ofRoute.map((name) => [name, support(true)])),
  };
}

function support(supported: boolean): Support {
  return { supported };
}

/** Not supported: the router has no batches, and routes.yaml does not declare the others. */
const NO = support(false);

function anySupport(supports: Readonly<Record<string, Support>>) {
  return support(Object.values(supports).some(({ supported }) => supported));
}

const supported = complete({ supported: { type: "boolean" } });

/**
 * JSON Schema of such an entry.
 *
 * @param facts members that follow, which every list of routes has.
 */
export function modelInfoSchema(facts: Readonly<Record<string, JsonObject>>): JsonObject {
  return {
    title: "AnthropicModel",
    type: "object",
    required: [
      "type",
      "id",
      "display_name",
      "created_at",
      "lifecycle",
      "max_input_tokens",
      "max_tokens",
      "capabilities",
      ...Object.keys(facts),
    ],
    properties: {
      type: { const: "model" },
      id: TEXT,
      display_name: TEXT,
      created_at: {
        type: "string",
        description: "Always the epoch: a route has no date of creation.",
      },
      lifecycle: { const: "active" },
      line: NULL,
      deprecated_at: NULL,
      retires_at: NULL,
      max_input_tokens: NULLABLE_COUNT,
      max_tokens: NULLABLE_COUNT,
      capabilities: {
        type: "object",
        description:
          "The protocol's values, and every capability of the route under its name in GET /v1/models.",
        additionalProperties: supported,
      },
      ...facts,
    },
  };
}

/** Messages for clients, and their relay to providers of the same protocol. */
export const messagesSurface: Surface = {
  kind: "generate",
  dialect: "anthropic-messages",
  parse: MESSAGES_REQUESTS.parse,
  refuseUnknown: refusingUnknown(MESSAGES_FIELDS, "messages"),
  relay: {
    path: () => MESSAGES_PATH,
    edit: editMessagesRequest,
    observe: (context) => new MessagesObserver(context),
    readAnswer: readMessagesAnswer,
  },
  translation: {
    toCanon: MESSAGES_REQUESTS.toCanon,
    parsesArguments: true,
    renderStream: (context) => new MessagesRenderer(context),
    renderAnswer: renderMessagesAnswer,
  },
  headers: MESSAGES_HEADERS,
  family: ANTHROPIC_FAMILY,
  contract: {
    body: MESSAGES_SCHEMA,
    answer: MESSAGE,
    examples: MESSAGES_EXAMPLES,
    stream: MESSAGE_STREAM,
  },
};

/**
 * Counting a request's tokens. Nothing is generated and nothing streams, but the prompt goes to a
 * provider like any other.
 */
export const countTokensSurface: Surface = {
  ...messagesSurface,
  parse: COUNT_REQUESTS.parse,
  refuseUnknown: refusingUnknown(COUNT_TOKENS_FIELDS, "count_tokens"),
  relay: { ...messagesSurface.relay, path: () => COUNT_PATH, readAnswer: readCountAnswer },
  translation: {
    ...messagesSurface.translation,
    toCanon: COUNT_REQUESTS.toCanon,
    renderAnswer: renderCount,
  },
  contract: { body: COUNT_TOKENS_SCHEMA, answer: TOKEN_COUNT, examples: COUNT_EXAMPLES },
};

/** Messages for providers, for requests in another protocol. */
export const dialect = {
  generate: {
    format: fitting(formatMessages, ANTHROPIC_MESSAGES.requires),
    parseStream: parseMessagesStream,
    parseAnswer: parseMessagesAnswer,
    readError: readMessagesError,
    host: hostMessages,
  },
} satisfies Dialect;

import type { JsonObject } from "../../canon/json.ts";
import { COUNT, NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import {
  COMPLETION_MEMBERS,
  CONVERSATION_MEMBERS,
  MODEL,
  NEVER_SET,
  NULL,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  OBJECT,
  PREFERENCES,
  STREAMING_RULES,
  anyOf,
  arrayOf,
  conditional,
  nullable,
  nullableInteger,
  nullableList,
  objectOf,
  type EventStream,
} from "../contract-schemas.ts";
import type { Dialect, Surface } from "../dialect.ts";
import { fitting } from "../fit-request.ts";
import { countIn, textIn } from "../json.ts";
import { WEATHER } from "../protocol-family.ts";
import { refusingUnknown } from "../request-reading.ts";
import {
  droppedPriority,
  droppedTruncation,
  foreignRefusal,
  rankingReader,
  wantedResults,
} from "../unary/ranking.ts";
import { openAiEmbedder } from "./embeddings-upstream.ts";
import { OPENAI_CHAT } from "./facts.ts";
import { OPENAI_ERROR, OPENAI_FAMILY, deploymentHost, deploymentPath } from "./family.ts";
import { formatChat } from "./format.ts";
import { moderationsUpstream } from "./moderations-upstream.ts";
import { CHAT_FIELDS, CHAT_REQUESTS } from "./parse-request.ts";
import {
  failureIn,
  parseChatAnswer,
  parseChatStream,
  readChatError,
  readingOfChat,
} from "./read-answer.ts";
import { RelayedChatStream, editChatRequest, readChatAnswer } from "./relay.ts";
import { ChatStreamRenderer, renderChatAnswer } from "./render.ts";

const contentPart = objectOf(
  {
    type: TEXT,
    text: NULLABLE_TEXT,
    image_url: anyOf(objectOf({ url: TEXT, detail: NULLABLE_TEXT }, "url"), NULLABLE_TEXT),
    input_audio: nullable(objectOf({ data: TEXT, format: TEXT })),
    file: nullable(
      objectOf({ file_data: NULLABLE_TEXT, file_id: NULLABLE_TEXT, filename: NULLABLE_TEXT }),
    ),
  },
  "type",
);

const toolCall = objectOf(
  {
    id: TEXT,
    type: NULLABLE_TEXT,
    function: nullable(objectOf({ name: TEXT, arguments: TEXT }, "name", "arguments")),
    custom: nullable(objectOf({ name: TEXT, input: TEXT }, "name", "input")),
  },
  "id",
);

const message = objectOf(
  {
    role: { enum: ["developer", "system", "user", "assistant", "tool", "function"] },
    content: anyOf(TEXT, NULL, arrayOf(contentPart)),
    name: NULLABLE_TEXT,
    refusal: NULLABLE_TEXT,
    tool_calls: nullableList(toolCall),
    tool_call_id: NULLABLE_TEXT,
  },
  "role",
);

const functionDefinition = objectOf(
  {
    name: { type: "string", minLength: 1 },
    description: NULLABLE_TEXT,
    parameters: NULLABLE_OBJECT,
    strict: NULLABLE_FLAG,
  },
  "name",
);

/** Some clients omit the `type` of a function. */
const tool = {
  ...objectOf({
    type: { type: "string", minLength: 1 },
    function: functionDefinition,
    custom: objectOf({ name: TEXT }, "name"),
  }),
  ...conditional({ properties: { type: { const: "function" } } }, { required: ["function"] }),
};

const responseFormat = anyOf(
  NULL,
  objectOf(
    {
      type: { enum: ["text", "json_object", "json_schema"] },
      json_schema: objectOf({
        name: TEXT,
        schema: NULLABLE_OBJECT,
        strict: NULLABLE_FLAG,
        description: NULLABLE_TEXT,
      }),
    },
    "type",
  ),
);

/**
 * JSON Schema (2020-12) of the body of POST /v1/chat/completions
 * (docs/protocols.md#chat-completions). It validates requests and is part of /openapi.json. Members
 * that it does not list are left to the field registry (`CHAT_FIELDS`) and the setting of the
 * route; nested unknown members are sent unchanged to providers of the same protocol.
 */
const CHAT_COMPLETIONS_SCHEMA = {
  title: "CreateChatCompletionRequest",
  type: "object",
  required: ["model", "messages"],
  parserRules: STREAMING_RULES,
  properties: {
    model: MODEL,
    messages: { type: "array", minItems: 1, items: message },
    ...COMPLETION_MEMBERS,
    tools: nullableList(tool),
    tool_choice: anyOf(TEXT, NULL, OBJECT),
    functions: nullableList(functionDefinition),
    function_call: anyOf(TEXT, NULL, OBJECT),
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
const CHAT_EXAMPLES = {
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
 * One event of a stream. Providers omit members without a value, and are relayed unchanged.
 *
 * @param members of each choice, beside its index and finish reason.
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
        ...(description !== undefined && { description }),
        items: objectOf(choice, "index"),
      },
    },
  } as const;
}

/** How an answer streams; tests validate real streams against the schema of the events. */
export const CHAT_STREAM: EventStream = {
  events: {
    title: "ChatCompletionEvent",
    description: "A chunk of the answer, or an error.",
    anyOf: [
      chunkSchema(
        "ChatCompletionChunk",
        { delta: NULLABLE_OBJECT },
        "Empty in a chunk that has the usage alone.",
      ),
      OPENAI_ERROR,
    ],
  },
  hasEventNames: false,
  hasDoneEvent: true,
  ends: "Every choice has had its `finish_reason`, and `data: [DONE]` is the last event. An event with `error` means that the answer is not whole; `[DONE]` follows it too.",
};

/** Path after the provider's base URL. */
const PATH = "/chat/completions";

/** Chat completions for clients. */
export const chatSurface: Surface = {
  kind: "generate",
  dialect: "openai-chat",
  parse: CHAT_REQUESTS.parse,
  refuseUnknown: refusingUnknown(CHAT_FIELDS, "chat completions"),
  relay: {
    path: () => PATH,
    edit: editChatRequest,
    observe: (context) => new RelayedChatStream(context),
    readAnswer: readChatAnswer,
    reading: readingOfChat,
  },
  translation: {
    toCanon: CHAT_REQUESTS.toCanon,
    renderStream: (context) => new ChatStreamRenderer(context),
    renderAnswer: renderChatAnswer,
  },
  family: OPENAI_FAMILY,
  contract: {
    body: CHAT_COMPLETIONS_SCHEMA,
    answer: CHAT_COMPLETION,
    examples: CHAT_EXAMPLES,
    stream: CHAT_STREAM,
  },
};

/** Rerank in Jina's form, which most providers of OpenAI's protocols serve too. */
const jinaReranker: NonNullable<Dialect["rerank"]> = {
  format: (request, target) => {
    const refusal = foreignRefusal(request);
    if (refusal !== null) return refusal;
    const { query, documents, topN } = request;
    const body = {
      model: target.endpoint.upstreamModel,
      query,
      documents,
      top_n: topN === null ? undefined : wantedResults(request),
      // Documents are sent back by default.
      ...(!target.provider.flags.includes("no_return_documents") && { return_documents: false }),
    };
    const dropped = [...droppedPriority(request), ...droppedTruncation(request)];
    return { path: deploymentPath("/rerank", target), body, dropped };
  },
  parseAnswer: rankingReader(
    (answer) =>
      failureIn(answer) ?? {
        results: answer.results ?? answer.data,
        // The model generates no text, so the total is its input.
        inputTokens:
          countIn(answer.usage, "prompt_tokens") ?? countIn(answer.usage, "total_tokens"),
        searchUnits: countIn(answer.usage, "search_units"),
        model: textIn(answer, "model"),
      },
  ),
  readError: readChatError,
};

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = {
  generate: {
    format: fitting(formatChat, OPENAI_CHAT.requires),
    parseStream: parseChatStream,
    parseAnswer: parseChatAnswer,
    readError: readChatError,
    host: deploymentHost,
  },
  embed: openAiEmbedder,
  rerank: jinaReranker,
  moderate: moderationsUpstream,
};

import type { JsonObject } from "../../canon/json.ts";
import { COUNT, NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import {
  CONVERSATION_MEMBERS,
  MODEL,
  NEVER_SET,
  NO_UNKNOWN,
  NULL,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  OBJECT,
  ONLY_NULL,
  PREFERENCES,
  anyOf,
  arrayOf,
  conditional,
  eventSchemas,
  eventUnion,
  nullableInteger,
  nullableList,
  objectOf,
  type EventStream,
  type EventTable,
} from "../contract-schemas.ts";
import type { Dialect, Surface } from "../dialect.ts";
import { fitting } from "../fit-request.ts";
import { OPENAI_FAMILY, deploymentHost } from "../openai-chat/family.ts";
import { readChatError } from "../openai-chat/read-answer.ts";
import { WEATHER } from "../protocol-family.ts";
import { refusingUnknown } from "../request-reading.ts";
import { OPENAI_RESPONSES } from "./facts.ts";
import { formatResponsesRequest } from "./format.ts";
import { RESPONSES_REQUESTS } from "./parse-request.ts";
import { parseResponsesAnswer, parseResponsesStream } from "./read-answer.ts";
import { ResponsesStreamObserver, editResponsesRequest, readResponsesAnswer } from "./relay.ts";
import { ResponsesRenderer, renderResponsesAnswer } from "./render.ts";
import { RESPONSES_FIELDS } from "./request-facts.ts";

const contentPart = objectOf(
  {
    type: TEXT,
    text: NULLABLE_TEXT,
    refusal: NULLABLE_TEXT,
    detail: NULLABLE_TEXT,
    file_data: NULLABLE_TEXT,
    file_url: NULLABLE_TEXT,
    filename: NULLABLE_TEXT,
    annotations: { type: ["array", "null"] },
    logprobs: { type: ["array", "null"] },
  },
  "type",
);

const summaryPart = objectOf({ type: NULLABLE_TEXT, text: TEXT }, "text");

/**
 * A message may leave `type` out. Items of hosted tools have other members, which the provider
 * judges.
 */
const item = objectOf({
  type: NULLABLE_TEXT,
  id: NULLABLE_TEXT,
  role: NULLABLE_TEXT,
  phase: NULLABLE_TEXT,
  content: anyOf(TEXT, NULL, arrayOf(contentPart)),
  summary: nullableList(summaryPart),
  encrypted_content: NULLABLE_TEXT,
  call_id: NULLABLE_TEXT,
  name: NULLABLE_TEXT,
  namespace: NULLABLE_TEXT,
});

/** The parser checks types of tools: its table has the capability that each one needs. */
const tool = {
  ...objectOf(
    {
      type: { type: "string", minLength: 1 },
      name: TEXT,
      description: NULLABLE_TEXT,
      strict: NULLABLE_FLAG,
    },
    "type",
  ),
  ...conditional(
    { properties: { type: { const: "function" } } },
    {
      required: ["name"],
      properties: { name: { type: "string", minLength: 1 }, parameters: NULLABLE_OBJECT },
    },
  ),
};

const schemaMembers = {
  name: NULLABLE_TEXT,
  description: NULLABLE_TEXT,
  schema: NULLABLE_OBJECT,
  strict: NULLABLE_FLAG,
} as const;

const formatType = { enum: ["text", "json_object", "json_schema"] } as const;

const textFormat = anyOf(NULL, objectOf({ type: formatType, ...schemaMembers }, "type"));

const responseFormat = {
  description:
    "The chat completions spelling of `text.format`, whole or flattened. If both are given, they must be equal.",
  anyOf: [
    NULL,
    objectOf(
      {
        type: formatType,
        ...schemaMembers,
        json_schema: { ...NULLABLE_OBJECT, properties: schemaMembers },
      },
      "type",
    ),
  ],
} as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/responses (docs/protocols.md#responses). It
 * validates requests and is part of /openapi.json. The field registry (`request-facts.ts`) decides
 * about members that it does not list, by the setting of the route; unknown nested members go to
 * providers of the same protocol unchanged.
 */
const RESPONSES_SCHEMA = {
  title: "CreateResponseRequest",
  type: "object",
  required: ["model", "input"],
  parserRules: NO_UNKNOWN,
  properties: {
    model: MODEL,
    input: anyOf(TEXT, { type: "array", minItems: 1, items: item }),
    instructions: NULLABLE_TEXT,
    stream: NULLABLE_FLAG,
    stream_options: {
      ...NULLABLE_OBJECT,
      properties: { include_obfuscation: NULLABLE_FLAG },
    },
    tools: nullableList(tool),
    tool_choice: anyOf(TEXT, NULL, objectOf({ type: TEXT }, "type")),
    max_tool_calls: nullableInteger(0),
    max_output_tokens: nullableInteger(16),
    reasoning: {
      ...NULLABLE_OBJECT,
      properties: {
        effort: { enum: [null, "none", "minimal", "low", "medium", "high", "xhigh", "max"] },
        summary: { enum: [null, "auto", "concise", "detailed"] },
        generate_summary: { enum: [null, "auto", "concise", "detailed"] },
        context: NULLABLE_TEXT,
        mode: NULLABLE_TEXT,
      },
    },
    text: {
      ...NULLABLE_OBJECT,
      properties: { format: textFormat, verbosity: NULLABLE_TEXT },
    },
    response_format: responseFormat,
    include: nullableList(TEXT),
    truncation: { enum: [null, "auto", "disabled"] },
    store: { ...NULLABLE_FLAG, ...NEVER_SET },
    background: { ...NULLABLE_FLAG, ...NEVER_SET },
    background_options: { ...NULLABLE_OBJECT, ...ONLY_NULL },
    moderation: NULLABLE_OBJECT,
    access_programs: NULLABLE_OBJECT,
    image: NULLABLE_OBJECT,
    previous_response_id: { ...NULLABLE_TEXT, ...ONLY_NULL },
    conversation: { type: ["string", "object", "null"], ...ONLY_NULL },
    prompt: { ...NULLABLE_OBJECT, ...ONLY_NULL },
    context_management: { type: ["array", "null"], parserRules: { maxItems: 0 } },
    client_metadata: NULLABLE_OBJECT,
    ...CONVERSATION_MEMBERS,
    provider: PREFERENCES,
  },
} as const;

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const RESPONSE = {
  title: "Response",
  type: "object",
  description:
    "The whole resource of the Open Responses specification; streams are its events, then [DONE]. `store` is always false.",
  required: [
    "id",
    "object",
    "created_at",
    "status",
    "error",
    "incomplete_details",
    "model",
    "output",
    "usage",
    "store",
  ],
  properties: {
    id: TEXT,
    object: { const: "response" },
    created_at: { type: "integer" },
    status: { enum: ["completed", "incomplete", "failed"] },
    error: NULLABLE_OBJECT,
    incomplete_details: NULLABLE_OBJECT,
    model: TEXT,
    output: arrayOf(OBJECT),
    usage: NULLABLE_OBJECT,
    store: { const: false },
    request_id: {
      type: "string",
      description:
        "The same as the header x-request-id. Whole answers and the events that end a stream have it.",
    },
  },
} as const;

/** Requests of the contract, in the order to try them. */
const RESPONSES_EXAMPLES = {
  plain: { model: "large-any", input: "Say hello." },
  streamed: { model: "large-any", input: "Say hello.", stream: true },
  schema: {
    model: "chat-large",
    input: [
      { role: "user", content: [{ type: "input_text", text: "What is the weather in Lisbon?" }] },
    ],
    text: { format: { type: "json_schema", name: "weather", schema: WEATHER, strict: true } },
    store: false,
  },
} as const;

/** The resource as it ends the stream with this status. */
const ended = (status: string): Readonly<Record<string, JsonObject>> => ({
  response: { allOf: [RESPONSE, { properties: { status: { const: status } } }] },
});

const itemMembers = { item: OBJECT, output_index: COUNT } as const;
const partMembers = { part: OBJECT, output_index: COUNT } as const;
const delta = { delta: TEXT, item_id: TEXT, output_index: COUNT } as const;

/** The events of POST /v1/responses; tests validate real streams against them. */
const EVENTS: EventTable = {
  "response.created": ["The resource, without output.", { response: OBJECT }],
  "response.in_progress": ["The provider works on it.", { response: OBJECT }],
  "response.output_item.added": ["An output item begins.", itemMembers],
  "response.output_item.done": ["An output item is whole.", itemMembers],
  "response.content_part.added": ["A content part begins.", partMembers],
  "response.content_part.done": ["A content part is whole.", partMembers],
  "response.output_text.delta": ["More text.", delta],
  "response.output_text.done": ["The text is whole.", { text: TEXT }],
  "response.output_text.annotation.added": ["A citation of the text.", { annotation: OBJECT }],
  "response.refusal.delta": ["More of the model's refusal.", delta],
  "response.refusal.done": ["The model's refusal is whole.", { refusal: TEXT }],
  "response.function_call_arguments.delta": ["More arguments of a function call.", delta],
  "response.function_call_arguments.done": [
    "The arguments of a function call are whole.",
    { arguments: TEXT },
  ],
  "response.custom_tool_call_input.delta": ["More input of a custom tool call.", delta],
  "response.custom_tool_call_input.done": [
    "The input of a custom tool call is whole.",
    { input: TEXT },
  ],
  "response.reasoning_summary_part.added": [
    "A part of the summary of the reasoning begins.",
    partMembers,
  ],
  "response.reasoning_summary_part.done": [
    "A part of the summary of the reasoning is whole.",
    partMembers,
  ],
  "response.reasoning_summary_text.delta": ["More of the summary of the reasoning.", delta],
  "response.reasoning_summary_text.done": [
    "The summary of the reasoning is whole.",
    { text: TEXT },
  ],
  "response.completed": [
    "The answer is whole: the resource with the status `completed`.",
    ended("completed"),
  ],
  "response.incomplete": [
    "The answer ended early, for the reason in `incomplete_details`.",
    ended("incomplete"),
  ],
  "response.failed": ["The answer failed, for the reason in `error`.", ended("failed")],
  error: [
    "What went wrong before anything of the answer was sent.",
    { code: NULLABLE_TEXT, message: TEXT },
    "ResponseErrorEvent",
  ],
};

/** How an answer streams. */
const RESPONSE_STREAM: EventStream = {
  events: eventUnion("ResponseEvent", eventSchemas(EVENTS)),
  hasEventNames: true,
  hasDoneEvent: true,
  ends: "`response.completed`, `response.incomplete` or `response.failed`, and then `data: [DONE]`. Where nothing had been sent before a failure: `error`, and then `data: [DONE]`.",
};

/** Responses for clients, and their relay to providers of the same protocol. */
export const responsesSurface: Surface = {
  kind: "generate",
  dialect: "openai-responses",
  parse: RESPONSES_REQUESTS.parse,
  refuseUnknown: refusingUnknown(RESPONSES_FIELDS, "responses"),
  relay: {
    path: () => "/responses",
    edit: editResponsesRequest,
    observe: (context) => new ResponsesStreamObserver(context),
    readAnswer: readResponsesAnswer,
  },
  translation: {
    toCanon: RESPONSES_REQUESTS.toCanon,
    renderStream: (context) => new ResponsesRenderer(context, true),
    renderAnswer: renderResponsesAnswer,
  },
  family: OPENAI_FAMILY,
  contract: {
    body: RESPONSES_SCHEMA,
    answer: RESPONSE,
    examples: RESPONSES_EXAMPLES,
    stream: RESPONSE_STREAM,
  },
};

/** The row of `dialects/table.ts`; providers get requests of other protocols. */
export const dialect: Dialect = {
  generate: {
    format: fitting(formatResponsesRequest, OPENAI_RESPONSES.requires),
    parseStream: parseResponsesStream,
    parseAnswer: parseResponsesAnswer,
    readError: readChatError,
    host: deploymentHost,
  },
};

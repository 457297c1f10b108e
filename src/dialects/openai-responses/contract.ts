import type { JsonObject } from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import {
  CONVERSATION_MEMBERS,
  MODEL,
  NEVER_SET,
  NO_UNKNOWN,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  ONLY_NULL,
  PREFERENCES,
  eventSchema,
  eventUnion,
  nullableInteger,
  type EventFacts,
  type EventStream,
} from "../contract-schemas.ts";
import { WEATHER } from "../protocol-family.ts";

const contentPart = {
  type: "object",
  required: ["type"],
  properties: {
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
} as const;

const summaryPart = {
  type: "object",
  required: ["text"],
  properties: { type: NULLABLE_TEXT, text: TEXT },
} as const;

/**
 * A message may leave `type` out. Items of hosted tools have members of their own, which are the
 * provider's business.
 */
const item = {
  type: "object",
  properties: {
    type: NULLABLE_TEXT,
    id: NULLABLE_TEXT,
    role: NULLABLE_TEXT,
    phase: NULLABLE_TEXT,
    content: { anyOf: [TEXT, { type: "null" }, { type: "array", items: contentPart }] },
    summary: { anyOf: [{ type: "null" }, { type: "array", items: summaryPart }] },
    encrypted_content: NULLABLE_TEXT,
    call_id: NULLABLE_TEXT,
    name: NULLABLE_TEXT,
    namespace: NULLABLE_TEXT,
  },
} as const;

/** Kinds of tools are judged by the parser, which knows what each one needs. */
const tool = {
  type: "object",
  required: ["type"],
  properties: {
    type: { type: "string", minLength: 1 },
    name: TEXT,
    description: NULLABLE_TEXT,
    strict: NULLABLE_FLAG,
  },
  if: { properties: { type: { const: "function" } } },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: {
    required: ["name"],
    properties: { name: { type: "string", minLength: 1 }, parameters: NULLABLE_OBJECT },
  },
} as const;

const schemaMembers = {
  name: NULLABLE_TEXT,
  description: NULLABLE_TEXT,
  schema: NULLABLE_OBJECT,
  strict: NULLABLE_FLAG,
} as const;

const formatType = { enum: ["text", "json_object", "json_schema"] } as const;

const textFormat = {
  anyOf: [
    { type: "null" },
    { type: "object", required: ["type"], properties: { type: formatType, ...schemaMembers } },
  ],
} as const;

const responseFormat = {
  description:
    "The chat completions spelling of `text.format`, whole or flattened. If both are given, they must be equal.",
  anyOf: [
    { type: "null" },
    {
      type: "object",
      required: ["type"],
      properties: {
        type: formatType,
        ...schemaMembers,
        json_schema: { type: ["object", "null"], properties: schemaMembers },
      },
    },
  ],
} as const;

/**
 * JSON Schema (2020-12) of the body of POST /v1/responses (docs/protocols.md#responses). It
 * validates requests and is part of /openapi.json. The field registry (`request-facts.ts`) decides about
 * members that it does not list, by the setting of the route; unknown nested members go to
 * providers of the same protocol unchanged.
 */
export const RESPONSES_SCHEMA = {
  title: "CreateResponseRequest",
  type: "object",
  required: ["model", "input"],
  parserRules: NO_UNKNOWN,
  properties: {
    model: MODEL,
    input: { anyOf: [TEXT, { type: "array", minItems: 1, items: item }] },
    instructions: NULLABLE_TEXT,
    stream: NULLABLE_FLAG,
    stream_options: {
      type: ["object", "null"],
      properties: { include_obfuscation: NULLABLE_FLAG },
    },
    tools: { anyOf: [{ type: "null" }, { type: "array", items: tool }] },
    tool_choice: {
      anyOf: [
        TEXT,
        { type: "null" },
        { type: "object", required: ["type"], properties: { type: TEXT } },
      ],
    },
    max_tool_calls: nullableInteger(0),
    max_output_tokens: nullableInteger(16),
    reasoning: {
      type: ["object", "null"],
      properties: {
        effort: { enum: [null, "none", "minimal", "low", "medium", "high", "xhigh", "max"] },
        summary: { enum: [null, "auto", "concise", "detailed"] },
        generate_summary: { enum: [null, "auto", "concise", "detailed"] },
        context: NULLABLE_TEXT,
        mode: NULLABLE_TEXT,
      },
    },
    text: {
      type: ["object", "null"],
      properties: { format: textFormat, verbosity: NULLABLE_TEXT },
    },
    response_format: responseFormat,
    include: { anyOf: [{ type: "null" }, { type: "array", items: TEXT }] },
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
    error: { type: ["object", "null"] },
    incomplete_details: { type: ["object", "null"] },
    model: TEXT,
    output: { type: "array", items: { type: "object" } },
    usage: { type: ["object", "null"] },
    store: { const: false },
    request_id: {
      type: "string",
      description:
        "The same as the header x-request-id. Whole answers and the events that end a stream have it.",
    },
  },
} as const;

/** Requests of the contract, in the order to try them. */
export const RESPONSES_EXAMPLES = {
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

/** JSON Schema of the events of POST /v1/responses; tests validate real streams against it. */
const object = { type: "object" } as const;
const index = { type: "integer", minimum: 0 } as const;

/** The resource as it ends the stream with this status. */
const ended = (status: string): Readonly<Record<string, JsonObject>> => ({
  response: { allOf: [RESPONSE, { properties: { status: { const: status } } }] },
});

const itemMembers = { item: object, output_index: index } as const;
const partMembers = { part: object, output_index: index } as const;
const delta = { delta: TEXT, item_id: TEXT, output_index: index } as const;

const EVENTS: Readonly<Record<string, EventFacts>> = {
  "response.created": {
    title: "ResponseCreatedEvent",
    description: "The resource, without output.",
    members: { response: object },
  },
  "response.in_progress": {
    title: "ResponseInProgressEvent",
    description: "The provider works on it.",
    members: { response: object },
  },
  "response.output_item.added": {
    title: "ResponseOutputItemAddedEvent",
    description: "An output item begins.",
    members: itemMembers,
  },
  "response.output_item.done": {
    title: "ResponseOutputItemDoneEvent",
    description: "An output item is whole.",
    members: itemMembers,
  },
  "response.content_part.added": {
    title: "ResponseContentPartAddedEvent",
    description: "A content part begins.",
    members: partMembers,
  },
  "response.content_part.done": {
    title: "ResponseContentPartDoneEvent",
    description: "A content part is whole.",
    members: partMembers,
  },
  "response.output_text.delta": {
    title: "ResponseOutputTextDeltaEvent",
    description: "More text.",
    members: delta,
  },
  "response.output_text.done": {
    title: "ResponseOutputTextDoneEvent",
    description: "The text is whole.",
    members: { text: TEXT },
  },
  "response.output_text.annotation.added": {
    title: "ResponseOutputTextAnnotationAddedEvent",
    description: "A citation of the text.",
    members: { annotation: object },
  },
  "response.refusal.delta": {
    title: "ResponseRefusalDeltaEvent",
    description: "More of the model's refusal.",
    members: delta,
  },
  "response.refusal.done": {
    title: "ResponseRefusalDoneEvent",
    description: "The model's refusal is whole.",
    members: { refusal: TEXT },
  },
  "response.function_call_arguments.delta": {
    title: "ResponseFunctionCallArgumentsDeltaEvent",
    description: "More arguments of a function call.",
    members: delta,
  },
  "response.function_call_arguments.done": {
    title: "ResponseFunctionCallArgumentsDoneEvent",
    description: "The arguments of a function call are whole.",
    members: { arguments: TEXT },
  },
  "response.custom_tool_call_input.delta": {
    title: "ResponseCustomToolCallInputDeltaEvent",
    description: "More input of a custom tool call.",
    members: delta,
  },
  "response.custom_tool_call_input.done": {
    title: "ResponseCustomToolCallInputDoneEvent",
    description: "The input of a custom tool call is whole.",
    members: { input: TEXT },
  },
  "response.reasoning_summary_part.added": {
    title: "ResponseReasoningSummaryPartAddedEvent",
    description: "A part of the summary of the reasoning begins.",
    members: partMembers,
  },
  "response.reasoning_summary_part.done": {
    title: "ResponseReasoningSummaryPartDoneEvent",
    description: "A part of the summary of the reasoning is whole.",
    members: partMembers,
  },
  "response.reasoning_summary_text.delta": {
    title: "ResponseReasoningSummaryTextDeltaEvent",
    description: "More of the summary of the reasoning.",
    members: delta,
  },
  "response.reasoning_summary_text.done": {
    title: "ResponseReasoningSummaryTextDoneEvent",
    description: "The summary of the reasoning is whole.",
    members: { text: TEXT },
  },
  "response.completed": {
    title: "ResponseCompletedEvent",
    description: "The answer is whole: the resource with the status `completed`.",
    members: ended("completed"),
  },
  "response.incomplete": {
    title: "ResponseIncompleteEvent",
    description: "The answer ended early, for the reason in `incomplete_details`.",
    members: ended("incomplete"),
  },
  "response.failed": {
    title: "ResponseFailedEvent",
    description: "The answer failed, for the reason in `error`.",
    members: ended("failed"),
  },
  error: {
    title: "ResponseErrorEvent",
    description: "What went wrong before anything of the answer was sent.",
    members: { code: { type: ["string", "null"] }, message: TEXT },
  },
};

const RESPONSE_EVENT = eventUnion(
  "ResponseEvent",
  Object.fromEntries(
    Object.entries(EVENTS).map(([type, facts]) => [type, eventSchema(type, facts)]),
  ),
);

/** How an answer streams. */
export const RESPONSE_STREAM: EventStream = {
  events: RESPONSE_EVENT,
  isNamed: true,
  hasDone: true,
  ends: "`response.completed`, `response.incomplete` or `response.failed`, and then `data: [DONE]`. Where nothing had been sent before a failure: `error`, and then `data: [DONE]`.",
};

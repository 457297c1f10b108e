import { TEXT } from "../../canon/json/schema.ts";
import { WEATHER } from "../protocol-family.ts";
import type { JsonObject } from "../../canon/json.ts";
import { type EventStream, type EventFacts, eventSchema, eventUnion } from "../event-stream.ts";

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

const item = { item: object, output_index: index } as const;
const part = { part: object, output_index: index } as const;
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
    members: item,
  },
  "response.output_item.done": {
    title: "ResponseOutputItemDoneEvent",
    description: "An output item is whole.",
    members: item,
  },
  "response.content_part.added": {
    title: "ResponseContentPartAddedEvent",
    description: "A content part begins.",
    members: part,
  },
  "response.content_part.done": {
    title: "ResponseContentPartDoneEvent",
    description: "A content part is whole.",
    members: part,
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
    members: part,
  },
  "response.reasoning_summary_part.done": {
    title: "ResponseReasoningSummaryPartDoneEvent",
    description: "A part of the summary of the reasoning is whole.",
    members: part,
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

import type { EventStream } from "../endpoint.ts";
import { CHAT_COMPLETION_EVENT, COMPLETION_EVENT } from "./chat-events.ts";
import { MESSAGE_EVENT } from "./message-events.ts";
import { RESPONSE_EVENT } from "./response-events.ts";

export const CHAT_STREAM: EventStream = {
  events: CHAT_COMPLETION_EVENT,
  isNamed: false,
  hasDone: true,
  ends: "Every choice has had its `finish_reason`, and `data: [DONE]` is the last event. An event with `error` says that the answer is not whole; `[DONE]` follows it too.",
};

export const COMPLETION_STREAM: EventStream = { ...CHAT_STREAM, events: COMPLETION_EVENT };

export const RESPONSE_STREAM: EventStream = {
  events: RESPONSE_EVENT,
  isNamed: true,
  hasDone: true,
  ends: "`response.completed`, `response.incomplete` or `response.failed`, and then `data: [DONE]`. Where nothing had been sent before a failure: `error`, and then `data: [DONE]`.",
};

export const MESSAGE_STREAM: EventStream = {
  events: MESSAGE_EVENT,
  isNamed: true,
  hasDone: false,
  ends: "`message_stop`. A stream that ends with `error`, or with nothing, is not whole.",
};

import type { Answer, EventPurpose, StreamEvent } from "../answer.ts";
import type { Behaviour } from "../behaviour.ts";
import { requestIdentity } from "../openai/error.ts";
import {
  emptyItemJson,
  itemJson,
  logprobsOf,
  outputOf,
  partJson,
  payloadOf,
  type OutputItem,
  type ResponsesAnswer,
} from "./output.ts";
import { endedResource, incompleteReason, startedResource } from "./resource.ts";

export function renderResponse(answer: ResponsesAnswer, behaviour: Behaviour): Answer {
  const items = outputOf(answer, incompleteReason(answer) !== null);
  const headers = requestIdentity(answer.sequence);
  if (answer.request.stream)
    return { kind: "stream", status: 200, headers, events: streamOf(answer, items, behaviour) };
  const ended = endedResource(answer, items, behaviour);
  const body = behaviour.noFinish
    ? { ...ended, status: "in_progress", incomplete_details: null }
    : ended;
  return { kind: "json", status: 200, headers, body: JSON.stringify(body) };
}

/** Events with the numbers that OpenAI gives them, from 0. */
class NumberedEvents {
  readonly #events: StreamEvent[] = [];

  get events(): readonly StreamEvent[] {
    return this.#events;
  }

  add(type: string, members: object, purpose: EventPurpose = "content"): void {
    const data = JSON.stringify({ type, ...members, sequence_number: this.#events.length });
    this.#events.push({ name: type, data, purpose });
  }
}

/**
 * Events in the order of docs/protocols.md#order-of-responses-events, without `[DONE]`, which
 * OpenAI does not send.
 */
function streamOf(
  answer: ResponsesAnswer,
  items: readonly OutputItem[],
  behaviour: Behaviour,
): readonly StreamEvent[] {
  const stream = new NumberedEvents();
  const started = startedResource(answer);
  stream.add("response.created", { response: started });
  stream.add("response.in_progress", { response: started });
  for (const [index, item] of items.entries()) addItem(stream, item, index, answer);
  const ended = endedResource(answer, items, behaviour);
  stream.add(`response.${String(ended.status)}`, { response: ended }, "end");
  return stream.events;
}

function addItem(
  stream: NumberedEvents,
  item: OutputItem,
  index: number,
  answer: ResponsesAnswer,
): void {
  const { logprobs } = answer.request;
  stream.add("response.output_item.added", { item: emptyItemJson(item), output_index: index });
  const position = { item_id: item.id, output_index: index };
  switch (item.type) {
    case "reasoning":
      addSummary(stream, item.pieces, position, answer);
      break;
    case "message":
      addPart(stream, item, { ...position, content_index: 0 }, answer);
      break;
    case "function_call":
    case "custom_tool_call":
      addPayload(stream, item, position, answer);
      break;
  }
  stream.add("response.output_item.done", { item: itemJson(item, logprobs), output_index: index });
}

function addSummary(
  stream: NumberedEvents,
  pieces: readonly string[],
  item: object,
  answer: ResponsesAnswer,
): void {
  if (pieces.length === 0) return;
  const position = { ...item, summary_index: 0 };
  const text = pieces.join("");
  stream.add("response.reasoning_summary_part.added", {
    ...position,
    part: { type: "summary_text", text: "" },
  });
  for (const delta of pieces)
    stream.add("response.reasoning_summary_text.delta", {
      ...position,
      delta,
      ...padding(delta, answer),
    });
  stream.add("response.reasoning_summary_text.done", { ...position, text });
  stream.add("response.reasoning_summary_part.done", {
    ...position,
    part: { type: "summary_text", text },
  });
}

function addPart(
  stream: NumberedEvents,
  item: Extract<OutputItem, { type: "message" }>,
  position: object,
  answer: ResponsesAnswer,
): void {
  const { logprobs } = answer.request;
  const isText = item.part === "output_text";
  const name = isText ? "response.output_text" : "response.refusal";
  const probabilities = (pieces: readonly string[]): object =>
    isText ? { logprobs: logprobsOf(pieces, logprobs) } : {};
  stream.add("response.content_part.added", { ...position, part: partJson(item.part, [], null) });
  for (const delta of item.pieces)
    stream.add(`${name}.delta`, {
      ...position,
      delta,
      ...probabilities([delta]),
      ...padding(delta, answer),
    });
  const text = item.pieces.join("");
  stream.add(`${name}.done`, {
    ...position,
    [isText ? "text" : "refusal"]: text,
    ...probabilities(item.pieces),
  });
  stream.add("response.content_part.done", {
    ...position,
    part: partJson(item.part, item.pieces, logprobs),
  });
}

function addPayload(
  stream: NumberedEvents,
  item: Extract<OutputItem, { callId: string }>,
  position: object,
  answer: ResponsesAnswer,
): void {
  const name =
    item.type === "function_call"
      ? "response.function_call_arguments"
      : "response.custom_tool_call_input";
  for (const delta of item.pieces)
    stream.add(`${name}.delta`, { ...position, delta, ...padding(delta, answer) });
  stream.add(`${name}.done`, { ...position, [payloadOf(item.type)]: item.pieces.join("") });
}

/** Characters to which a delta and its padding together are filled. */
const PADDED = 16;

function padding(delta: string, { request }: ResponsesAnswer): object {
  return request.obfuscated ? { obfuscation: "x".repeat(PADDED - (delta.length % PADDED)) } : {};
}

import type { Requested, Turn } from "./turns.ts";

/** Tokens that an answer says it used. */
export interface Usage {
  readonly input: number;
  readonly output: number;
}

/** Events of a stream, in order, and the same answer in one piece. */
export interface Answer {
  readonly events: readonly string[];
  readonly whole: object;
}

/**
 * An answer in the protocol of the request. Texts come in two pieces, so that a stream can break
 * after the first.
 */
export function answerOf(requested: Requested, turn: Turn, usage: Usage, number: number): Answer {
  return RENDERERS[requested.protocol]({ model: requested.model, turn, usage, id: String(number) });
}

interface Said {
  readonly model: string;
  readonly turn: Turn;
  readonly usage: Usage;
  readonly id: string;
}

function halves(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function named(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\n${data(event)}`;
}

function chat({ model, turn, usage: used, id }: Said): Answer {
  const base = { id: `chatcmpl-${id}`, created: 1_767_225_600, model };
  const usage = {
    prompt_tokens: used.input,
    completion_tokens: used.output,
    total_tokens: used.input + used.output,
  };
  const call =
    turn.kind === "call"
      ? {
          id: `call_${id}`,
          type: "function",
          function: { name: turn.name, arguments: JSON.stringify(turn.input) },
        }
      : null;
  const finish = call === null ? "stop" : "tool_calls";
  const chunk = (delta: object, reason: string | null = null): string =>
    data({
      ...base,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
  const said = turn.kind === "text" ? halves(turn.text).map((content) => chunk({ content })) : [];
  const called = call === null ? [] : [chunk({ tool_calls: [{ index: 0, ...call }] })];
  const message =
    call === null
      ? { content: turn.kind === "text" ? turn.text : "" }
      : { content: null, tool_calls: [call] };
  return {
    events: [
      chunk({ role: "assistant", content: "" }),
      ...said,
      ...called,
      chunk({}, finish),
      data({ ...base, object: "chat.completion.chunk", choices: [], usage }),
      "data: [DONE]\n\n",
    ],
    whole: {
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
      usage,
    },
  };
}

const NOTHING_YET = { content: [], stop_reason: null, stop_sequence: null };

function messages({ model, turn, usage: used, id }: Said): Answer {
  const block =
    turn.kind === "text"
      ? { type: "text", text: turn.text }
      : { type: "tool_use", id: `toolu_${id}`, name: turn.name, input: turn.input };
  const stop = { stop_reason: turn.kind === "text" ? "end_turn" : "tool_use", stop_sequence: null };
  const usage = { input_tokens: used.input, output_tokens: used.output };
  const message = { id: `msg_${id}`, type: "message", role: "assistant", model };
  const begun = turn.kind === "text" ? { ...block, text: "" } : { ...block, input: {} };
  const deltas =
    turn.kind === "text"
      ? halves(turn.text).map((text) => ({ type: "text_delta", text }))
      : [{ type: "input_json_delta", partial_json: JSON.stringify(turn.input) }];
  return {
    events: [
      named({
        type: "message_start",
        message: { ...message, ...NOTHING_YET, usage: { ...usage, output_tokens: 1 } },
      }),
      named({ type: "content_block_start", index: 0, content_block: begun }),
      ...deltas.map((delta) => named({ type: "content_block_delta", index: 0, delta })),
      named({ type: "content_block_stop", index: 0 }),
      named({ type: "message_delta", delta: stop, usage }),
      named({ type: "message_stop" }),
    ],
    whole: { ...message, content: [block], ...stop, usage },
  };
}

function responses({ model, turn, usage: used, id }: Said): Answer {
  const usage = {
    input_tokens: used.input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: used.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: used.input + used.output,
  };
  const response = {
    id: `resp_${id}`,
    object: "response",
    created_at: 1_767_225_600,
    model,
    error: null,
  };
  const part = (text: string): object => ({
    type: "output_text",
    text,
    annotations: [],
    logprobs: [],
  });
  const message = { type: "message", id: `msg_${id}`, role: "assistant" };
  const call = { type: "function_call", id: `fc_${id}`, call_id: `call_${id}` };
  const item =
    turn.kind === "text"
      ? { ...message, status: "completed", content: [part(turn.text)] }
      : { ...call, status: "completed", name: turn.name, arguments: JSON.stringify(turn.input) };
  const begun =
    turn.kind === "text"
      ? { ...message, status: "in_progress", content: [] }
      : { ...call, status: "in_progress", name: turn.name, arguments: "" };
  const at = { item_id: turn.kind === "text" ? message.id : call.id, output_index: 0 };
  const inside =
    turn.kind === "text"
      ? [
          { type: "response.content_part.added", ...at, content_index: 0, part: part("") },
          ...halves(turn.text).map((delta) => ({
            type: "response.output_text.delta",
            ...at,
            content_index: 0,
            delta,
            logprobs: [],
          })),
          {
            type: "response.output_text.done",
            ...at,
            content_index: 0,
            text: turn.text,
            logprobs: [],
          },
          { type: "response.content_part.done", ...at, content_index: 0, part: part(turn.text) },
        ]
      : [
          {
            type: "response.function_call_arguments.delta",
            ...at,
            delta: JSON.stringify(turn.input),
          },
          {
            type: "response.function_call_arguments.done",
            ...at,
            arguments: JSON.stringify(turn.input),
          },
        ];
  const whole = { ...response, status: "completed", output: [item], usage };
  const events = [
    {
      type: "response.created",
      response: { ...response, status: "in_progress", output: [], usage: null },
    },
    { type: "response.output_item.added", output_index: 0, item: begun },
    ...inside,
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ];
  return {
    events: events.map((event, index) => named({ ...event, sequence_number: index })),
    whole,
  };
}

const RENDERERS = { chat, messages, responses };

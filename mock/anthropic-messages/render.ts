import { parseObject } from "../json.ts";
import type { Answer, EventPurpose, StreamEvent } from "../answer.ts";
import type { Behaviour, FinishReason } from "../behaviour.ts";
import { textOf } from "../model/completion.ts";
import { contentOf, type ContentBlock, type MessagesAnswer } from "./content.ts";
import { requestIdentity } from "./error.ts";

/** The stop reasons of messages, and one that they do not have. */
export const STOP_REASONS: ReadonlyMap<FinishReason, string> = new Map([
  ["stop", "end_turn"],
  ["length", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["content_filter", "refusal"],
  ["pause", "pause_turn"],
  ["context_window", "model_context_window_exceeded"],
  ["unknown", "mock_unknown"],
]);

export function renderMessage(answer: MessagesAnswer, behaviour: Behaviour): Answer {
  const blocks = contentOf(answer, behaviour.redacted);
  const headers = requestIdentity(answer.sequence);
  return answer.request.stream
    ? { kind: "stream", status: 200, headers, events: streamOf(answer, blocks, behaviour) }
    : {
        kind: "json",
        status: 200,
        headers,
        body: JSON.stringify(wholeOf(answer, blocks, behaviour)),
      };
}

function wholeOf(
  answer: MessagesAnswer,
  blocks: readonly ContentBlock[],
  behaviour: Behaviour,
): object {
  const ending = behaviour.noFinish
    ? { stop_reason: null, stop_sequence: null, stop_details: null }
    : endingOf(answer, behaviour);
  const counted = behaviour.noUsage
    ? {}
    : {
        usage: {
          ...startUsage(answer, behaviour),
          ...outputUsage(answer),
          ...placement(answer, behaviour),
        },
      };
  return { ...head(answer), content: blocks.map(wholeBlock), ...ending, ...counted };
}

function head(answer: MessagesAnswer): object {
  return {
    model: answer.model,
    id: `msg_mock_${answer.sequence}`,
    type: "message",
    role: "assistant",
  };
}

function wholeBlock(block: ContentBlock): object {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: block.pieces.join(""), signature: block.signature };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: block.data };
    case "text":
      return { type: "text", text: block.pieces.join("") };
    case "tool_use":
      // A limit may have cut the arguments; answers always have an object here.
      return {
        ...toolHead(block),
        input: parseObject(block.pieces.join("")) ?? {},
        caller: { type: "direct" },
      };
  }
}

function toolHead(block: Extract<ContentBlock, { type: "tool_use" }>): object {
  return { type: "tool_use", id: block.id, name: block.name };
}

interface Ending {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly stop_details: object | null;
}

function endingOf({ completion }: MessagesAnswer, behaviour: Behaviour): Ending {
  const refusal = textOf(completion, "refusal");
  if (refusal !== "" && behaviour.finish === null) {
    return {
      stop_reason: "refusal",
      stop_sequence: null,
      stop_details: { type: "refusal", category: "general_harms", explanation: refusal },
    };
  }
  const isStopped = completion.finish === "stop" && completion.stoppedBy !== null;
  return {
    stop_reason: isStopped
      ? "stop_sequence"
      : (STOP_REASONS.get(completion.finish) ?? completion.finish),
    stop_sequence: isStopped ? completion.stoppedBy : null,
    stop_details: null,
  };
}

/** What is known when the answer begins. The prompt's tokens do not include those of the cache. */
function startUsage({ request }: MessagesAnswer, { cached, cacheWrite }: Behaviour): object {
  return {
    input_tokens: Math.max(request.tokens - cached - cacheWrite, 0),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
  };
}

function outputUsage({ completion, request }: MessagesAnswer): object {
  const thinking = request.thinking.isOn || completion.reasoningTokens > 0;
  return {
    output_tokens: completion.pieces.length,
    ...(thinking ? { output_tokens_details: { thinking_tokens: completion.reasoningTokens } } : {}),
  };
}

/** How the cache was written, where the answer was made, and in which tier. */
function placement({ request }: MessagesAnswer, { cacheWrite }: Behaviour): object {
  return {
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
    service_tier: "standard",
    inference_geo: request.region ?? "global",
  };
}

/**
 * Events (docs/protocols.md#messages): blocks one after the other, a ping after the first beginning
 * of a block.
 */
function streamOf(
  answer: MessagesAnswer,
  blocks: readonly ContentBlock[],
  behaviour: Behaviour,
): readonly StreamEvent[] {
  const started = {
    ...head(answer),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    ...(behaviour.noUsage
      ? {}
      : {
          usage: {
            ...startUsage(answer, behaviour),
            output_tokens: 1,
            ...placement(answer, behaviour),
          },
        }),
  };
  const events = [event({ type: "message_start", message: started })];
  for (const [index, block] of blocks.entries()) {
    events.push(event({ type: "content_block_start", index, content_block: emptyBlock(block) }));
    if (index === 0) events.push(PING);
    for (const delta of deltasOf(block))
      events.push(event({ type: "content_block_delta", index, delta }));
    events.push(event({ type: "content_block_stop", index }));
  }
  if (blocks.length === 0) events.push(PING);
  const counted = behaviour.noUsage
    ? {}
    : { usage: { ...startUsage(answer, behaviour), ...outputUsage(answer) } };
  events.push(
    event({ type: "message_delta", delta: endingOf(answer, behaviour), ...counted }, "finish"),
    event({ type: "message_stop" }, "done"),
  );
  return events;
}

const PING = event({ type: "ping" });

function event(
  data: { readonly type: string } & Readonly<Record<string, unknown>>,
  purpose: EventPurpose = "content",
): StreamEvent {
  return { name: data.type, data: JSON.stringify(data), purpose };
}

function emptyBlock(block: ContentBlock): object {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: block.data };
    case "text":
      return { type: "text", text: "" };
    case "tool_use":
      return { ...toolHead(block), input: {}, caller: { type: "direct" } };
  }
}

function deltasOf(block: ContentBlock): readonly object[] {
  switch (block.type) {
    case "thinking":
      return [
        ...block.pieces.map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "redacted_thinking":
      return [];
    case "text":
      return block.pieces.map((text) => ({ type: "text_delta", text }));
    case "tool_use":
      return ["", ...block.pieces].map((json) => ({
        type: "input_json_delta",
        partial_json: json,
      }));
  }
}

import type { Answer, StreamEvent } from "../answer.ts";
import type { Behaviour, FinishReason } from "../behaviour.ts";
import { callOf, textOf, type Completion, type Piece } from "../model/completion.ts";
import { tokenLogprob } from "../model/logprobs.ts";
import type { Tool } from "../model/plan.ts";
import { CREATED } from "../openai/created.ts";
import { requestIdentity } from "../openai/error.ts";
import type { ChatRequest } from "./request.ts";

/** A completed request, ready to be written in OpenAI's form. */
export interface ChatAnswer {
  /** Number of the request, for identifiers. */
  readonly sequence: number;
  /** As the request names it. */
  readonly model: string;
  readonly request: ChatRequest;
  /** The tools called, in the order of the completions' calls. */
  readonly called: readonly Tool[];
  /** One for each choice. */
  readonly completions: readonly Completion[];
}

/** The finish reasons of chat completions, and one that they do not have. */
export const CHAT_FINISHES: ReadonlyMap<FinishReason, string> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["content_filter", "content_filter"],
  ["unknown", "mock_unknown"],
]);

function finishOf({ finish }: Completion): string {
  return CHAT_FINISHES.get(finish) ?? finish;
}

export function renderChat(answer: ChatAnswer, behaviour: Behaviour): Answer {
  return answer.request.stream ? renderStream(answer, behaviour) : renderJson(answer, behaviour);
}

function head(answer: ChatAnswer, object: string): Record<string, unknown> {
  return {
    id: `chatcmpl-mock-${answer.sequence}`,
    object,
    created: CREATED,
    model: answer.model,
    service_tier: "default",
    system_fingerprint: "fp_mock",
  };
}

function callId(answer: ChatAnswer, choice: number, call: number): string {
  return `call_mock_${answer.sequence}_${choice}_${call}`;
}

function renderJson(answer: ChatAnswer, behaviour: Behaviour): Answer {
  const choices = answer.completions.map((completion, index) => ({
    index,
    message: message(answer, completion, index),
    logprobs: logprobs(completion.pieces, answer.request.logprobs),
    finish_reason: behaviour.noFinish ? null : finishOf(completion),
  }));
  const body: Record<string, unknown> = { ...head(answer, "chat.completion"), choices };
  if (!behaviour.noUsage) body.usage = usage(answer, behaviour);
  return {
    kind: "json",
    status: 200,
    headers: requestIdentity(answer.sequence),
    body: JSON.stringify(body),
  };
}

function message(
  answer: ChatAnswer,
  completion: Completion,
  choice: number,
): Record<string, unknown> {
  const calls = answer.called.flatMap((tool, call) => {
    const text = callOf(completion, call);
    return text === null
      ? []
      : [
          {
            id: callId(answer, choice, call),
            type: tool.type,
            [tool.type]: { name: tool.name, [payloadOf(tool)]: text },
          },
        ];
  });
  const refusal = textOf(completion, "refusal");
  const reasoning = textOf(completion, "reasoning");
  const result: Record<string, unknown> = {
    role: "assistant",
    content: calls.length > 0 || refusal !== "" ? null : textOf(completion, "text"),
    refusal: refusal === "" ? null : refusal,
    annotations: [],
  };
  if (reasoning !== "") result.reasoning_content = reasoning;
  if (calls.length > 0) result.tool_calls = calls;
  return result;
}

function payloadOf(tool: Tool): string {
  return tool.type === "custom" ? "input" : "arguments";
}

/**
 * Chunks (docs/protocols.md#chat-completions): role first, one finish chunk for each choice, usage
 * in a chunk without choices, `[DONE]`.
 */
function renderStream(answer: ChatAnswer, behaviour: Behaviour): Answer {
  const { request } = answer;
  const start = JSON.stringify(head(answer, "chat.completion.chunk")).slice(0, -1);
  const end = request.includeUsage ? ',"usage":null}' : "}";
  const event = (choice: string, purpose: StreamEvent["purpose"]): StreamEvent => ({
    name: null,
    data: `${start},"choices":[${choice}]${end}`,
    purpose,
  });
  const content: StreamEvent[][] = answer.completions.map((completion, index) => [
    event(choiceJson(index, firstDelta(answer), "null"), "content"),
    ...completion.pieces.flatMap((piece, position) => {
      const probabilities =
        piece.kind === "text" ? JSON.stringify(logprobs([piece], request.logprobs)) : "null";
      return deltas(answer, completion.pieces, piece, position, index).map((delta) =>
        event(choiceJson(index, delta, probabilities), "content"),
      );
    }),
  ]);
  const events = interleave(content);
  for (const [index, completion] of answer.completions.entries()) {
    events.push(
      event(
        `{"index":${index},"delta":{},"logprobs":null,"finish_reason":"${finishOf(completion)}"}`,
        "finish",
      ),
    );
  }
  if (request.includeUsage) {
    events.push({
      name: null,
      data: `${start},"choices":[],"usage":${JSON.stringify(usage(answer, behaviour))}}`,
      purpose: "usage",
    });
  }
  events.push({ name: null, data: "[DONE]", purpose: "done" });
  return { kind: "stream", status: 200, headers: requestIdentity(answer.sequence), events };
}

function choiceJson(index: number, delta: string, probabilities: string): string {
  return `{"index":${index},"delta":${delta},"logprobs":${probabilities},"finish_reason":null}`;
}

function firstDelta(answer: ChatAnswer): string {
  return answer.called.length > 0
    ? '{"role":"assistant","content":null,"refusal":null}'
    : '{"role":"assistant","content":"","refusal":null}';
}

/**
 * The deltas of one piece: one, and for the first piece of a tool call one more before it that
 * carries its identity.
 */
function deltas(
  answer: ChatAnswer,
  pieces: readonly Piece[],
  piece: Piece,
  position: number,
  choice: number,
): readonly string[] {
  const text = JSON.stringify(piece.text);
  switch (piece.kind) {
    case "text":
      return [`{"content":${text}}`];
    case "reasoning":
      return [`{"reasoning_content":${text}}`];
    case "refusal":
      return [`{"refusal":${text}}`];
    case "call": {
      const tool = answer.called[piece.call];
      if (tool === undefined) return [];
      const fragment = `{"tool_calls":[{"index":${piece.call},"${tool.type}":{"${payloadOf(tool)}":${text}}}]}`;
      const before = pieces[position - 1];
      if (before?.kind === "call" && before.call === piece.call) return [fragment];
      const identity = {
        index: piece.call,
        id: callId(answer, choice, piece.call),
        type: tool.type,
        [tool.type]: { name: tool.name, [payloadOf(tool)]: "" },
      };
      return [JSON.stringify({ tool_calls: [identity] }), fragment];
    }
  }
}

/**
 * One event of each choice in turn: choices arrive mixed, as they do from a provider that makes
 * them at the same time.
 */
function interleave(choices: readonly (readonly StreamEvent[])[]): StreamEvent[] {
  const [only] = choices;
  if (only !== undefined && choices.length === 1) return [...only];
  const longest = Math.max(...choices.map((events) => events.length));
  return Array.from({ length: longest }, (_, turn) =>
    choices.flatMap((events) => events.slice(turn, turn + 1)),
  ).flat();
}

function logprobs(
  pieces: readonly Piece[],
  alternatives: number | null,
): Record<string, unknown> | null {
  if (alternatives === null) return null;
  const content = pieces
    .filter((piece) => piece.kind === "text")
    .map(({ text }) => tokenLogprob(text, alternatives));
  return { content, refusal: null };
}

function usage(answer: ChatAnswer, behaviour: Behaviour): Record<string, unknown> {
  const completionTokens = answer.completions.reduce(
    (sum, completion) => sum + completion.pieces.length,
    0,
  );
  const promptTokens = Math.max(
    answer.request.conversation.tokens,
    behaviour.cached + behaviour.cacheWrite,
  );
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: {
      cached_tokens: behaviour.cached,
      cache_write_tokens: behaviour.cacheWrite,
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: answer.completions.reduce(
        (sum, completion) => sum + completion.reasoningTokens,
        0,
      ),
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

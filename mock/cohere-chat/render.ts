import type { Answer, EventPurpose, StreamEvent } from "../answer.ts";
import type { Behaviour, FinishReason } from "../behaviour.ts";
import { callOf, textOf, type Completion } from "../model/completion.ts";
import { logprobOf } from "../model/logprobs.ts";
import type { Tool } from "../model/plan.ts";
import { DONE } from "./error.ts";
import type { CohereRequest } from "./request.ts";

/** A completed request, ready to be written in Cohere's form. */
export interface CohereAnswer {
  /** Number of the request, for identifiers. */
  readonly sequence: number;
  readonly request: CohereRequest;
  /** The tools called, in the order of the completion's calls. */
  readonly called: readonly Tool[];
  readonly completion: Completion;
}

/** The finish reasons of the protocol, and one that it does not have. */
export const COHERE_FINISHES: ReadonlyMap<FinishReason, string> = new Map([
  ["stop", "COMPLETE"],
  ["length", "MAX_TOKENS"],
  ["tool_calls", "TOOL_CALL"],
  ["unknown", "MOCK_UNKNOWN"],
]);

export function renderCohere(answer: CohereAnswer, behaviour: Behaviour): Answer {
  const { request } = answer;
  return request.stream
    ? { kind: "stream", status: 200, headers: {}, events: streamOf(answer, behaviour) }
    : { kind: "json", status: 200, headers: {}, body: JSON.stringify(wholeOf(answer, behaviour)) };
}

function wholeOf(answer: CohereAnswer, behaviour: Behaviour): object {
  const { completion, request } = answer;
  const content = PARTS.flatMap(({ type, kind }) => {
    const said = textOf(completion, kind);
    return said === "" ? [] : [{ type, [type]: said }];
  });
  const calls = callsOf(answer).map(({ id, name, json }) => ({
    id,
    type: "function",
    function: { name, arguments: json },
  }));
  const plan = planOf(answer).join("");
  const probabilities = request.logprobs
    ? { logprobs: piecesOf(completion, "text").map(logprob) }
    : {};
  return {
    id: idOf(answer),
    message: {
      role: "assistant",
      ...(content.length === 0 ? {} : { content }),
      ...(plan === "" ? {} : { tool_plan: plan }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    ...(behaviour.noFinish ? {} : { finish_reason: finishOf(completion) }),
    ...(behaviour.noUsage ? {} : { usage: usageOf(answer, behaviour) }),
    ...probabilities,
  };
}

/**
 * Events as recorded streams have them: the parts of the content, the plan, the calls, the end with
 * everything that is counted.
 */
function streamOf(answer: CohereAnswer, behaviour: Behaviour): readonly StreamEvent[] {
  const { completion, request } = answer;
  const events = [
    event("message-start", {
      id: idOf(answer),
      ...delta({ role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] }),
    }),
  ];
  let index = 0;
  for (const { type, kind } of PARTS) {
    const pieces = piecesOf(completion, kind);
    if (pieces.length === 0) continue;
    events.push(event("content-start", { index, ...delta({ content: { type, [type]: "" } }) }));
    for (const piece of pieces) {
      const probability = request.logprobs && kind === "text" ? { logprobs: logprob(piece) } : {};
      events.push(
        event("content-delta", { index, ...delta({ content: { [type]: piece } }), ...probability }),
      );
    }
    events.push(event("content-end", { index }));
    index += 1;
  }
  for (const piece of planOf(answer))
    events.push(event("tool-plan-delta", delta({ tool_plan: piece })));
  for (const [call, { id, name, pieces }] of callsOf(answer).entries()) {
    const opened = { id, type: "function", function: { name, arguments: "" } };
    events.push(event("tool-call-start", { index: call, ...delta({ tool_calls: opened }) }));
    for (const piece of pieces) {
      const fragment = { function: { arguments: piece } };
      events.push(event("tool-call-delta", { index: call, ...delta({ tool_calls: fragment }) }));
    }
    events.push(event("tool-call-end", { index: call }));
  }
  const counted = behaviour.noUsage ? {} : { usage: usageOf(answer, behaviour) };
  events.push(
    event("message-end", { delta: { finish_reason: finishOf(completion), ...counted } }, "finish"),
    DONE,
  );
  return events;
}

const PARTS = [
  { type: "thinking", kind: "reasoning" },
  { type: "text", kind: "text" },
] as const;

function event(type: string, more: object, purpose: EventPurpose = "content"): StreamEvent {
  return { name: type, data: JSON.stringify({ type, ...more }), purpose };
}

function delta(message: object): object {
  return { delta: { message } };
}

function idOf({ sequence }: CohereAnswer): string {
  return `mock-${sequence}`;
}

function piecesOf(completion: Completion, kind: "reasoning" | "text"): readonly string[] {
  return completion.pieces.filter((piece) => piece.kind === kind).map(({ text }) => text);
}

/** The text before the calls of a model that does not think. */
function planOf(answer: CohereAnswer): readonly string[] {
  const [call] = callsOf(answer);
  return call === undefined || answer.completion.reasoningTokens > 0
    ? []
    : ["I will use", ` the ${call.name} tool.`];
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly json: string;
  readonly pieces: readonly string[];
}

function callsOf({ called, completion, sequence }: CohereAnswer): readonly Call[] {
  return called.flatMap(({ name }, index) => {
    const json = callOf(completion, index);
    // A limit may cut the answer before a call.
    if (json === null) return [];
    const pieces = completion.pieces.filter(
      (piece) => piece.kind === "call" && piece.call === index,
    );
    return [
      {
        id: `${name}_mock_${sequence}_${index}`,
        name,
        json,
        pieces: pieces.map(({ text }) => text),
      },
    ];
  });
}

function logprob(text: string): object {
  return { text, token_ids: [text.length], logprobs: [logprobOf(0)] };
}

function finishOf({ finish, stoppedBy }: Completion): string {
  return finish === "stop" && stoppedBy !== null
    ? "STOP_SEQUENCE"
    : (COHERE_FINISHES.get(finish) ?? finish);
}

/** What was read and made, and the smaller numbers that are paid for. */
function usageOf(answer: CohereAnswer, { cached }: Behaviour): object {
  const { completion, request } = answer;
  const input = Math.max(request.conversation.tokens, cached);
  const output = completion.pieces.length + planOf(answer).length;
  const thought = completion.reasoningTokens;
  return {
    billed_units: { input_tokens: Math.ceil(input / 2), output_tokens: output - thought },
    tokens: {
      input_tokens: input,
      output_tokens: output,
      ...(thought > 0 ? { reasoning_tokens: thought } : {}),
    },
    cached_tokens: cached,
  };
}

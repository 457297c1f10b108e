import { parseObject } from "../json.ts";
import type { Answer, EventPurpose, StreamEvent } from "../answer.ts";
import type { Behaviour, FinishReason } from "../behaviour.ts";
import { textOf, type Completion, type Piece } from "../model/completion.ts";
import type { Tool } from "../model/plan.ts";
import { seal, sign } from "../model/signature.ts";
import { requestIdentity } from "./error.ts";
import { EVENT_STREAM } from "./framing.ts";
import type { ConverseRequest } from "./request.ts";

/** The stop reasons of Converse, and one that it does not have. */
export const STOP_REASONS: ReadonlyMap<FinishReason, string> = new Map([
  ["stop", "end_turn"],
  ["length", "max_tokens"],
  ["tool_calls", "tool_use"],
  ["content_filter", "guardrail_intervened"],
  ["context_window", "model_context_window_exceeded"],
  ["unknown", "mock_unknown"],
]);

/** A completed request, ready to be written in Bedrock's form. */
export interface ConverseAnswer {
  /** Number of the request, for identifiers. */
  readonly sequence: number;
  readonly stream: boolean;
  readonly request: ConverseRequest;
  /** The tools called, in the order of the completion's calls. */
  readonly called: readonly Tool[];
  readonly completion: Completion;
}

/** One block of the answer: whole, and in the pieces in which it is streamed. */
interface Block {
  readonly whole: object;
  /** `null` for what begins with its first piece. */
  readonly start: object | null;
  readonly deltas: readonly object[];
}

export function renderConverse(answer: ConverseAnswer, behaviour: Behaviour): Answer {
  const blocks = blocksOf(answer, behaviour.redacted);
  const headers = requestIdentity(answer.sequence);
  if (answer.stream)
    return {
      kind: "stream",
      status: 200,
      headers,
      events: eventsOf(answer, blocks, behaviour),
      framing: EVENT_STREAM,
    };
  const body = {
    metrics: METRICS,
    output: { message: { content: blocks.map(({ whole }) => whole), role: "assistant" } },
    ...(behaviour.noFinish ? {} : { stopReason: stopReason(answer, behaviour) }),
    ...(behaviour.noUsage ? {} : { usage: usageOf(answer, behaviour) }),
  };
  return { kind: "json", status: 200, headers, body: JSON.stringify(body) };
}

const METRICS = { latencyMs: 1 };

/**
 * Events in the order of docs/protocols.md#bedrock-converse: only calls have a beginning, and the
 * counts come last.
 */
function eventsOf(
  answer: ConverseAnswer,
  blocks: readonly Block[],
  behaviour: Behaviour,
): readonly StreamEvent[] {
  const events = [event("messageStart", { role: "assistant" })];
  for (const [contentBlockIndex, { start, deltas }] of blocks.entries()) {
    if (start !== null) events.push(event("contentBlockStart", { contentBlockIndex, start }));
    for (const delta of deltas)
      events.push(event("contentBlockDelta", { contentBlockIndex, delta }));
    events.push(event("contentBlockStop", { contentBlockIndex }));
  }
  events.push(event("messageStop", { stopReason: stopReason(answer, behaviour) }, "finish"));
  const counted = behaviour.noUsage ? {} : { usage: usageOf(answer, behaviour) };
  events.push(event("metadata", { metrics: METRICS, ...counted }, "done"));
  return events;
}

function event(name: string, data: object, purpose: EventPurpose = "content"): StreamEvent {
  return { name, data: JSON.stringify(data), purpose };
}

function stopReason({ completion }: ConverseAnswer, behaviour: Behaviour): string {
  if (behaviour.finish === null && textOf(completion, "refusal") !== "") return "content_filtered";
  if (completion.finish === "stop" && completion.stoppedBy !== null) return "stop_sequence";
  return STOP_REASONS.get(completion.finish) ?? completion.finish;
}

/** The prompt's tokens do not include those of the cache; the total includes all. */
function usageOf(
  { request, completion }: ConverseAnswer,
  { cached, cacheWrite }: Behaviour,
): object {
  const fresh = Math.max(request.tokens - cached - cacheWrite, 0);
  const outputTokens = completion.pieces.length;
  return {
    inputTokens: fresh,
    outputTokens,
    totalTokens: fresh + cached + cacheWrite + outputTokens,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: cacheWrite,
    serverToolUsage: {},
  };
}

/** The blocks of an answer, in order. A refusal is a text with its own stop reason. */
function blocksOf(
  { completion, called, sequence }: ConverseAnswer,
  isRedacted: boolean,
): readonly Block[] {
  const blocks: Block[] = [];
  const thought = piecesOf(completion, ({ kind }) => kind === "reasoning");
  if (thought.length > 0)
    blocks.push(isRedacted ? redactedBlock(sequence) : reasoningBlock(thought));
  const said = piecesOf(completion, ({ kind }) => kind === "text" || kind === "refusal");
  if (said.length > 0)
    blocks.push({
      whole: { text: said.join("") },
      start: null,
      deltas: said.map((text) => ({ text })),
    });
  for (const [index, { name }] of called.entries()) {
    const pieces = piecesOf(completion, (piece) => piece.kind === "call" && piece.call === index);
    // A limit may cut the answer before a call.
    if (pieces.length === 0) continue;
    const toolUse = { name, toolUseId: `tooluse_mock_${sequence}_${index}` };
    blocks.push({
      // A limit may have cut the arguments; whole answers always have an object here.
      whole: { toolUse: { ...toolUse, input: parseObject(pieces.join("")) ?? {} } },
      start: { toolUse },
      deltas: pieces.map((input) => ({ toolUse: { input } })),
    });
  }
  return blocks;
}

function piecesOf(completion: Completion, isWanted: (piece: Piece) => boolean): readonly string[] {
  return completion.pieces.filter(isWanted).map(({ text }) => text);
}

function reasoningBlock(pieces: readonly string[]): Block {
  const text = pieces.join("");
  const signature = sign("reasoning-content", text);
  return {
    whole: { reasoningContent: { reasoningText: { text, signature } } },
    start: null,
    deltas: [...pieces.map((piece) => ({ text: piece })), { signature }].map(
      (reasoningContent) => ({
        reasoningContent,
      }),
    ),
  };
}

function redactedBlock(sequence: number): Block {
  const redactedContent = Buffer.from(seal("redacted-content", `thought ${sequence}`)).toString(
    "base64",
  );
  const whole = { reasoningContent: { redactedContent } };
  return { whole, start: null, deltas: [whole] };
}

import { parseObject } from "../json.ts";
import type { Answer, EventPurpose, StreamEvent } from "../answer.ts";
import type { Behaviour, FinishReason } from "../behaviour.ts";
import { textOf, type Completion } from "../model/completion.ts";
import { alternativeOf, logprobOf } from "../model/logprobs.ts";
import type { Tool } from "../model/plan.ts";
import type { GeminiRequest } from "./request.ts";
import { signThought } from "./thought-signature.ts";

/** A completed request, ready to be written in Google's form. */
export interface GeminiAnswer {
  /** Number of the request, for identifiers. */
  readonly sequence: number;
  /** As the request names it. */
  readonly model: string;
  readonly request: GeminiRequest;
  readonly isStream: boolean;
  /** The functions called, in the order of the completion's calls. */
  readonly called: readonly Tool[];
  readonly completion: Completion;
}

/** Google's finish reasons, and one that it does not have. Calls end like texts. */
export const FINISH_NAMES: ReadonlyMap<FinishReason, string> = new Map([
  ["stop", "STOP"],
  ["tool_calls", "STOP"],
  ["length", "MAX_TOKENS"],
  ["content_filter", "SAFETY"],
  ["unknown", "MOCK_UNKNOWN"],
]);

export function renderGemini(answer: GeminiAnswer, behaviour: Behaviour): Answer {
  const declined = textOf(answer.completion, "refusal") !== "";
  const head = { status: 200, headers: {} };
  if (!answer.isStream) {
    const body = declined ? blocked(answer, behaviour) : whole(answer, behaviour);
    return { kind: "json", ...head, body: JSON.stringify(body) };
  }
  const events = declined
    ? [event(blocked(answer, behaviour), "end")]
    : streamOf(answer, behaviour);
  return { kind: "stream", ...head, events };
}

/** A prompt that is refused has no candidates, and the status 200. */
function blocked(answer: GeminiAnswer, behaviour: Behaviour): object {
  const { tokens } = answer.request;
  const counted = behaviour.noUsage
    ? {}
    : { usageMetadata: { promptTokenCount: tokens, totalTokenCount: tokens } };
  return { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, ...counted, ...tail(answer) };
}

function whole(answer: GeminiAnswer, behaviour: Behaviour): object {
  const { completion } = answer;
  const text = textOf(completion, "text");
  const signature = text === "" || !thinks(answer) ? {} : { thoughtSignature: signThought("text") };
  const parts = [
    ...thoughtsOf(answer),
    ...(text === "" ? [] : [{ text, ...signature }]),
    ...callsOf(answer),
  ];
  const finish = behaviour.noFinish ? {} : { finishReason: finishName(completion) };
  return {
    candidates: [
      {
        content: contentOf(parts),
        ...finish,
        index: 0,
        ...logprobsOf(answer, textPieces(completion)),
      },
    ],
    ...usageOf(answer, behaviour, completion.pieces.length),
    ...tail(answer),
  };
}

/** A content without parts has no such member: empty lists are omitted on the wire. */
function contentOf(parts: readonly object[]): object {
  return parts.length === 0 ? { role: "model" } : { role: "model", parts };
}

/**
 * Each piece is an event; counts are those of the answer so far. The last one has the finish
 * reason, and the signature of a text.
 */
function streamOf(answer: GeminiAnswer, behaviour: Behaviour): readonly StreamEvent[] {
  const { completion } = answer;
  const events: StreamEvent[] = [];
  let count = 0;
  const add = (
    parts: readonly object[],
    tokens: number,
    more: object,
    purpose: EventPurpose,
  ): void => {
    count += tokens;
    const candidate = { content: contentOf(parts), ...more, index: 0 };
    events.push(
      event(
        { candidates: [candidate], ...usageOf(answer, behaviour, count), ...tail(answer) },
        purpose,
      ),
    );
  };
  for (const thought of thoughtsOf(answer))
    add([thought], completion.reasoningTokens, {}, "content");
  const texts = textPieces(completion);
  for (const text of texts) add([{ text }], 1, logprobsOf(answer, [text]), "content");
  // Calls come whole.
  for (const part of callsOf(answer)) add([part], 0, {}, "content");
  count = completion.pieces.length;
  const signature =
    texts.length > 0 && thinks(answer) ? { thoughtSignature: signThought("text") } : {};
  add([{ text: "", ...signature }], 0, { finishReason: finishName(completion) }, "end");
  return events;
}

function event(data: object, purpose: EventPurpose): StreamEvent {
  return { name: null, data: JSON.stringify(data), purpose };
}

function finishName({ finish }: Completion): string {
  return FINISH_NAMES.get(finish) ?? finish;
}

function thinks({ request, completion }: GeminiAnswer): boolean {
  return request.config.thinks || completion.reasoningTokens > 0;
}

function thoughtsOf({ request, completion }: GeminiAnswer): readonly object[] {
  const text = textOf(completion, "reasoning");
  return text === "" || !request.config.showsThoughts ? [] : [{ text, thought: true }];
}

function textPieces({ pieces }: Completion): readonly string[] {
  return pieces.filter(({ kind }) => kind === "text").map(({ text }) => text);
}

/** Calls have no ids, as those of most models; the first of them is signed. */
function callsOf(answer: GeminiAnswer): readonly object[] {
  const { called, completion } = answer;
  return called.flatMap(({ name }, index) => {
    const pieces = completion.pieces.filter(
      (piece) => piece.kind === "call" && piece.call === index,
    );
    const args = parseObject(pieces.map(({ text }) => text).join(""));
    // A limit may cut the answer before a call or within it; Google's answers omit such a call.
    if (args === null) return [];
    return [
      {
        functionCall: { name, args },
        ...(index === 0 ? { thoughtSignature: signThought(`call ${name}`) } : {}),
      },
    ];
  });
}

function logprobsOf({ request }: GeminiAnswer, tokens: readonly string[]): object {
  const { logprobs } = request.config;
  if (logprobs === null || tokens.length === 0) return {};
  const ranked = (token: string, rank: number): object => ({
    token: alternativeOf(token, rank),
    logProbability: logprobOf(rank),
  });
  const alternatives = (token: string): object => ({
    candidates: Array.from({ length: logprobs }, (_, rank) => ranked(token, rank)),
  });
  return {
    logprobsResult: {
      chosenCandidates: tokens.map((token) => ranked(token, 0)),
      ...(logprobs === 0 ? {} : { topCandidates: tokens.map(alternatives) }),
    },
  };
}

/**
 * Thoughts are counted beside the answer, what came from a cache within the prompt; zeros are
 * omitted.
 */
function usageOf(
  { request, completion }: GeminiAnswer,
  { noUsage, cached }: Behaviour,
  count: number,
): object {
  if (noUsage) return {};
  const thoughts = Math.min(completion.reasoningTokens, count);
  const counts = {
    promptTokenCount: request.tokens,
    candidatesTokenCount: count - thoughts,
    cachedContentTokenCount: cached,
    thoughtsTokenCount: thoughts,
    totalTokenCount: request.tokens + count,
  };
  return {
    usageMetadata: Object.fromEntries(Object.entries(counts).filter(([, tokens]) => tokens > 0)),
  };
}

function tail({ model, sequence }: GeminiAnswer): object {
  return { modelVersion: model, responseId: `mock_${sequence}` };
}

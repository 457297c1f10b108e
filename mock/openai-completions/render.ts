import type { Answer, StreamEvent } from "../answer.ts";
import type { Behaviour, FinishReason } from "../behaviour.ts";
import type { Completion } from "../model/completion.ts";
import { alternativeOf, logprobOf } from "../model/logprobs.ts";
import { CREATED } from "../openai/created.ts";
import { requestIdentity } from "../openai/error.ts";
import type { CompletionRequest, Prompt } from "./request.ts";

/** One choice: a completion of a prompt. */
export interface Choice {
  readonly prompt: Prompt;
  readonly completion: Completion;
}

/** A completed request, ready to be written in OpenAI's form. */
export interface CompletionAnswer {
  /** Number of the request, for identifiers. */
  readonly sequence: number;
  /** As the request names it. */
  readonly model: string;
  readonly request: CompletionRequest;
  /** Those of the first prompt first. */
  readonly choices: readonly Choice[];
}

/** The finish reasons of completions, and one that they do not have. */
export const COMPLETION_FINISHES: ReadonlyMap<FinishReason, string> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["content_filter", "content_filter"],
  ["unknown", "mock_unknown"],
]);

export function renderCompletion(answer: CompletionAnswer, behaviour: Behaviour): Answer {
  return answer.request.stream ? renderStream(answer, behaviour) : renderJson(answer, behaviour);
}

function head(answer: CompletionAnswer): Record<string, unknown> {
  return {
    id: `cmpl-mock-${answer.sequence}`,
    object: "text_completion",
    created: CREATED,
    model: answer.model,
  };
}

function renderJson(answer: CompletionAnswer, behaviour: Behaviour): Answer {
  const choices = answer.choices.map((choice, index) => {
    const pieces = piecesOf(answer, choice);
    return {
      text: pieces.join(""),
      index,
      logprobs: logprobs(pieces, answer.request.logprobs, 0),
      finish_reason: behaviour.noFinish ? null : finishOf(choice),
    };
  });
  const body: Record<string, unknown> = { ...head(answer), choices };
  if (!behaviour.noUsage) body.usage = usage(answer, behaviour);
  return {
    kind: "json",
    status: 200,
    headers: requestIdentity(answer.sequence),
    body: JSON.stringify(body),
  };
}

/**
 * A chunk for each piece, one with the finish reason for each choice, usage in a chunk without
 * choices, `[DONE]`.
 */
function renderStream(answer: CompletionAnswer, behaviour: Behaviour): Answer {
  const { request } = answer;
  const start = JSON.stringify(head(answer)).slice(0, -1);
  const end = request.includeUsage ? ',"usage":null}' : "}";
  const event = (choice: object, purpose: StreamEvent["purpose"]): StreamEvent => ({
    name: null,
    data: `${start},"choices":[${JSON.stringify(choice)}]${end}`,
    purpose,
  });
  const events: StreamEvent[] = [];
  for (const [index, choice] of answer.choices.entries()) {
    let offset = 0;
    for (const text of piecesOf(answer, choice)) {
      const probabilities = logprobs([text], request.logprobs, offset);
      events.push(event({ text, index, logprobs: probabilities, finish_reason: null }, "content"));
      offset += text.length;
    }
  }
  for (const [index, choice] of answer.choices.entries())
    events.push(
      event({ text: "", index, logprobs: null, finish_reason: finishOf(choice) }, "finish"),
    );
  if (request.includeUsage) {
    const counted = JSON.stringify(usage(answer, behaviour));
    events.push({
      name: null,
      data: `${start},"choices":[],"usage":${counted}}`,
      purpose: "usage",
    });
  }
  events.push({ name: null, data: "[DONE]", purpose: "done" });
  return { kind: "stream", status: 200, headers: requestIdentity(answer.sequence), events };
}

/** The pieces of a choice's text, the prompt before them where the request wants it. */
function piecesOf(answer: CompletionAnswer, { prompt, completion }: Choice): readonly string[] {
  const pieces = completion.pieces.map((piece) => piece.text);
  return answer.request.echo && prompt.text !== null && prompt.text !== ""
    ? [prompt.text, ...pieces]
    : pieces;
}

function finishOf({ completion }: Choice): string {
  return COMPLETION_FINISHES.get(completion.finish) ?? completion.finish;
}

/** @param offset characters of the choice's text before these pieces. */
function logprobs(
  pieces: readonly string[],
  alternatives: number | null,
  offset: number,
): object | null {
  if (alternatives === null) return null;
  let position = offset;
  const offsets: number[] = [];
  for (const piece of pieces) {
    offsets.push(position);
    position += piece.length;
  }
  return {
    tokens: pieces,
    token_logprobs: pieces.map(() => logprobOf(0)),
    top_logprobs:
      alternatives === 0
        ? null
        : pieces.map((piece) =>
            Object.fromEntries(
              Array.from({ length: alternatives }, (_, rank) => [
                alternativeOf(piece, rank),
                logprobOf(rank),
              ]),
            ),
          ),
    text_offset: offsets,
  };
}

function usage(answer: CompletionAnswer, behaviour: Behaviour): Record<string, number> {
  const { prompts, bestOf, choices } = answer.request;
  const promptTokens = Math.max(
    prompts.reduce((sum, prompt) => sum + prompt.tokens, 0),
    behaviour.cached + behaviour.cacheWrite,
  );
  const said = answer.choices.reduce((sum, { completion }) => sum + completion.pieces.length, 0);
  // Those of `best_of` that are not returned are paid for too.
  const completionTokens = Math.round((said * bestOf) / choices);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

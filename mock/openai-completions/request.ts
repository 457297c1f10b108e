import type { JsonObject } from "../json.ts";
import { numberWithin, objectAt, textsOf } from "../members.ts";
import { tokensOfText } from "../model/conversation.ts";
import { missingParameter } from "../openai/error.ts";
import type { Problem } from "../problem.ts";

/** A completions request, as far as the simulated answer depends on it. */
export interface CompletionRequest {
  readonly prompts: readonly Prompt[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Choices for each prompt. */
  readonly choices: number;
  /** Completions made for each prompt, of which `choices` are returned. */
  readonly bestOf: number;
  readonly limit: number | null;
  readonly stop: readonly string[];
  /** Alternatives for each token; `null` where no log probabilities are requested. */
  readonly logprobs: number | null;
  readonly echo: boolean;
}

export interface Prompt {
  /** `null` for a prompt of token numbers. */
  readonly text: string | null;
  readonly tokens: number;
}

/** Tokens of an answer where the request sets no limit. */
const USUAL_LIMIT = 16;

/** Reads a request; one without a prompt is refused. */
export function readCompletionRequest(body: JsonObject): CompletionRequest | Problem {
  const prompts = readPrompts(body.prompt);
  if (prompts.length === 0) return missingParameter("prompt");
  const choices = numberWithin(body.n, 1, 128, 1);
  return {
    prompts,
    stream: body.stream === true,
    includeUsage: objectAt(body, "stream_options").include_usage === true,
    choices,
    bestOf: numberWithin(body.best_of, choices, 128, choices),
    limit: numberWithin(body.max_tokens, 0, Infinity, USUAL_LIMIT),
    stop: textsOf(body.stop),
    logprobs: numberWithin(body.logprobs, 0, 5, null),
    echo: body.echo === true,
  };
}

function readPrompts(value: unknown): readonly Prompt[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > 0 && list.every((item) => typeof item === "number"))
    return [{ text: null, tokens: list.length }];
  return list.flatMap((item): readonly Prompt[] => {
    if (typeof item === "string") return [{ text: item, tokens: tokensOfText(item) }];
    return Array.isArray(item) ? [{ text: null, tokens: item.length }] : [];
  });
}

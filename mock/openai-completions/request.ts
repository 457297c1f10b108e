import { isJsonObject, type JsonObject } from "../json.ts";
import {
  between,
  checkMembers,
  integer,
  isBoolean,
  isFilledText,
  isObject,
  isText,
  isTextOrList,
  isWhole,
  listOf,
  memberTable,
  numberOr,
  textsOf,
} from "../member-table.ts";
import { OPENAI_WORDING } from "../openai/error.ts";
import { invalid, type Problem } from "../problem.ts";

/** A completions request that OpenAI would accept, as far as the simulated answer depends on it. */
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
  /** Alternatives for each token; `null` where no log probabilities are asked for. */
  readonly logprobs: number | null;
  readonly echo: boolean;
}

export interface Prompt {
  /** `null` for a prompt of token numbers. */
  readonly text: string | null;
  readonly tokens: number;
}

/** Every member of the request (OpenAI's reference, `CreateCompletionRequest`). */
const MEMBERS = memberTable(
  ["model", "a string", isFilledText],
  ["prompt", "a string, a list of strings, a list of token numbers, or a list of such lists", isTextOrList],
  ["best_of", "an integer from 0 to 20", integer(0, 20)],
  ["echo", "true or false", isBoolean],
  ["frequency_penalty", "a number from -2 to 2", between(-2, 2)],
  ["logit_bias", "an object", isObject],
  ["logprobs", "an integer from 0 to 5", integer(0, 5)],
  ["max_tokens", "an integer from 0", integer(0, 1e9)],
  ["n", "an integer from 1 to 128", integer(1, 128)],
  ["presence_penalty", "a number from -2 to 2", between(-2, 2)],
  ["seed", "an integer", isWhole],
  ["stop", "a string or a list of 1 to 4 strings", (value) => isText(value) || listOf(isText, 1, 4)(value)],
  ["stream", "true or false", isBoolean],
  ["stream_options", "an object", isObject],
  ["suffix", "a string", isText],
  ["temperature", "a number from 0 to 2", between(0, 2)],
  ["top_p", "a number from 0 to 1", between(0, 1)],
  ["user", "a string", isText],
);

/** Tokens of an answer where the request sets no limit. */
const USUAL_LIMIT = 16;

/** @param lenient accepts members that are not OpenAI's, as many compatible providers do. */
export function readCompletionRequest(body: JsonObject, lenient: boolean): CompletionRequest | Problem {
  const members = { table: MEMBERS, required: ["model", "prompt"], lenient };
  const problem = checkMembers(body, members, OPENAI_WORDING) ?? checkTogether(body);
  if (problem !== null) return problem;
  const prompts = readPrompts(body["prompt"]);
  if (prompts === null) {
    return invalid(
      "prompt",
      "'prompt' must be a string, a list of strings, a list of token numbers, or a list of such lists; no list may be empty.",
      "invalid_type",
    );
  }
  const echo = body["echo"] === true;
  if (echo && prompts.some((prompt) => prompt.text === null))
    return invalid("echo", "The simulated provider has no vocabulary: 'echo' goes with prompts of text.");
  const options = body["stream_options"];
  const choices = numberOr(body["n"], 1);
  return {
    prompts,
    stream: body["stream"] === true,
    includeUsage: isJsonObject(options) && options["include_usage"] === true,
    choices,
    bestOf: Math.max(numberOr(body["best_of"], 1), choices),
    limit: numberOr(body["max_tokens"], USUAL_LIMIT),
    stop: textsOf(body["stop"]),
    logprobs: numberOr(body["logprobs"], null),
    echo,
  };
}

function checkTogether(body: JsonObject): Problem | null {
  const streams = body["stream"] === true;
  if ((body["stream_options"] ?? null) !== null && !streams)
    return invalid("stream_options", "'stream_options' goes with 'stream': true.");
  const bestOf = numberOr(body["best_of"], 1);
  if (bestOf > 1 && streams) return invalid("best_of", "'best_of' above 1 cannot be streamed.");
  if (numberOr(body["best_of"], Infinity) < numberOr(body["n"], 1))
    return invalid("best_of", "'best_of' must be at least 'n'.");
  return null;
}

function readPrompts(value: unknown): readonly Prompt[] | null {
  if (typeof value === "string") return [textPrompt(value)];
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length === 0) return null;
  if (list.every(isTokenNumber)) return [{ text: null, tokens: list.length }];
  const prompts: Prompt[] = [];
  for (const item of list) {
    if (typeof item === "string") prompts.push(textPrompt(item));
    else if (Array.isArray(item) && item.length > 0 && item.every(isTokenNumber))
      prompts.push({ text: null, tokens: item.length });
    else return null;
  }
  // Text and token numbers are not mixed.
  return prompts.every((prompt) => (prompt.text === null) === (prompts[0]?.text === null)) ? prompts : null;
}

function textPrompt(text: string): Prompt {
  return { text, tokens: Math.ceil(text.length / 4) };
}

function isTokenNumber(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0;
}

import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import type { BodyReader } from "../../canon/request.ts";
import { PLAIN_BODY, promptOpening } from "../body-reader.ts";
import {
  COMPLETION_MEMBERS,
  MODEL,
  NULLABLE_FLAG,
  NULLABLE_OBJECT,
  PREFERENCES,
  SAMPLING_MEMBERS,
  STREAMING_RULES,
  TOKEN,
  nullableInteger,
  type EventStream,
} from "../contract-schemas.ts";
import type { RequestReader, Translation } from "../dialect.ts";
import { numberOrNull, textOrNull } from "../json.ts";
import { readKinds } from "../kinds.ts";
import { CHAT_STREAM, chunkSchema } from "../openai-chat/contract.ts";
import {
  OPENAI_ERROR,
  readIncludeUsage,
  readLogitBias,
  readPenalty,
  readStop,
  statefulMember,
} from "../openai-chat/family.ts";
import { CHAT_STATEFUL } from "../openai-chat/parse-request.ts";
import { CHAT_KINDS } from "../openai-chat/read-tools.ts";
import { STREAM_OPTION_MEMBERS } from "../openai-chat/request-facts.ts";
import {
  RequestReading,
  inferenceRequest,
  shownName,
  type FieldRegistry,
} from "../request-reading.ts";
import { canonicalRequest, untranslatable, type CanonReader } from "../translate-request.ts";

/**
 * Every known top-level member of a legacy completions request
 * (docs/protocols.md#classes-of-request-members).
 */
export const COMPLETIONS_FIELDS: FieldRegistry = {
  model: { class: "core" },
  prompt: { class: "core" },
  stream: { class: "core" },
  stream_options: { class: "core" },
  suffix: { class: "core", uses: "native_completions" },
  echo: { class: "core", uses: "native_completions" },
  best_of: { class: "core" },
  n: { class: "core" },
  logprobs: { class: "core", needs: "logprobs", uses: "native_completions" },
  max_tokens: { class: "core" },
  temperature: { class: "core", uses: "sampling" },
  top_p: { class: "core", uses: "sampling" },
  frequency_penalty: { class: "core" },
  presence_penalty: { class: "core" },
  logit_bias: { class: "core" },
  seed: { class: "core", uses: "seed" },
  stop: { class: "core" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

/**
 * Estimates for limits and balancing. Each prompt of a list is read and answered by
 * itself; a list of numbers is one prompt, of tokens.
 */
export const COMPLETIONS_BODY: BodyReader = {
  ...PLAIN_BODY,
  prompts: ({ prompt }) =>
    Array.isArray(prompt) && !prompt.every((token) => typeof token === "number")
      ? prompt.length
      : 1,
  conversationOpening: ({ prompt }) => promptOpening(prompt),
};

/** Stop sequences that every speaker of the protocol takes. */
const COMMON_STOP_SEQUENCES = 4;

/**
 * Reads a validated legacy completions body: what it requires, how large it is, what it prefers.
 */
export const parseCompletionsRequest: RequestReader["parse"] = (body, bytes, headers) => {
  const refused = statefulMember(body, CHAT_STATEFUL);
  if (refused !== null) return refused;
  const reading = new RequestReading("native_completions");
  const { stream, maxOutputTokens } = readCompletionsBody(body, reading);
  readKinds(body, COMPLETIONS_FIELDS, CHAT_KINDS, reading);
  const includeUsage = readIncludeUsage(body, stream);
  if (typeof includeUsage === "object") return reading.refusal ?? includeUsage;
  return inferenceRequest(reading, {
    operation: "completions",
    stream,
    maxOutputTokens,
    effort: "unspecified",
    dimensions: null,
    bytes,
    headers,
    body,
    includeUsage,
    reader: COMPLETIONS_BODY,
  });
};

/**
 * A request for one completion of one text, as a conversation of one user turn
 * (docs/protocols.md#completions).
 */
export const completionsToCanon: Translation["toCanon"] = (request, mode, edits) => {
  const made = canonicalRequest(READER, request, mode, edits);
  const { stream_options: options } = request.body;
  if ("code" in made || !isJsonObject(options)) return made;
  const unknown = new RequestReading("native_completions").unknownIn(
    options,
    STREAM_OPTION_MEMBERS,
  );
  if (unknown === null) return made;
  if (mode !== "strip") return untranslatable(`stream_options.${shownName(unknown)}`, mode);
  return { ...made, stripped: [...made.stripped, "unknown_field"] };
};

const READER: CanonReader = {
  native: "native_completions",
  registry: COMPLETIONS_FIELDS,
  read: readCompletionsBody,
  hints: () => ({ serviceTier: null, promptCacheKey: null, promptCacheRetention: null }),
};

/** How many answers a body requests: one for each prompt and each of `n`. */
export function requestedChoices({ prompt, n }: JsonObject): number {
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
  return prompts * (numberOrNull(n) ?? 1);
}

/**
 * The one walk over a body: canon of all that a translation carries, and in `reading` what the body
 * requires.
 */
function readCompletionsBody(
  body: JsonObject,
  reading: RequestReading,
): Omit<GenerateRequest, "hints"> {
  reading.noteFields(body, COMPLETIONS_FIELDS);
  reading.dropped.add("prompt_as_message");
  const text = onlyPrompt(body.prompt) ?? "";
  // No other protocol goes on from the middle of a text, from tokens, from nothing, or from several
  // texts at once.
  if (text === "") reading.useNative("prompt");
  const maxOutputTokens = numberOrNull(body.max_tokens);
  // A limit of zero reads the prompt's own probabilities.
  if (maxOutputTokens === 0) reading.useNative("max_tokens");
  for (const name of ["n", "best_of"]) {
    if ((numberOrNull(body[name]) ?? 1) <= 1) continue;
    reading.need("multiple_choices", name);
    reading.useNative(name);
  }
  const temperature = numberOrNull(body.temperature);
  if ((temperature ?? 0) > 1) reading.use("temperature_above_1", "temperature");
  const stop = readStop(body, reading);
  if (stop.length > COMMON_STOP_SEQUENCES) reading.use("stop_sequences_over_4", "stop");
  return {
    purpose: "generate",
    turns: [{ role: "user", name: null, content: [{ kind: "text", text, cache: null }] }],
    tools: [],
    toolChoice: null,
    parallelToolCalls: null,
    format: null,
    maxOutputTokens,
    temperature,
    topP: numberOrNull(body.top_p),
    topK: null,
    frequencyPenalty: readPenalty(body, "frequency_penalty", reading),
    presencePenalty: readPenalty(body, "presence_penalty", reading),
    logitBias: readLogitBias(body, reading),
    seed: numberOrNull(body.seed),
    stop,
    logprobs: null,
    reasoning: null,
    verbosity: null,
    stream: body.stream === true,
  };
}

/**
 * The one text that a body wants continued; `null` where it has several, or tokens. A list of one
 * text is a text.
 */
function onlyPrompt(prompt: JsonValue | undefined): string | null {
  const value: JsonValue | undefined =
    Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt;
  return textOrNull(value);
}

/** JSON Schema of the whole answer, for /openapi.json; tests validate real answers against it. */
export const COMPLETION = {
  title: "Completion",
  type: "object",
  description:
    "As the provider answered, or translated; streams are text_completion chunks, then [DONE].",
  required: ["choices"],
  properties: {
    id: TEXT,
    object: TEXT,
    model: TEXT,
    choices: { type: "array" },
    usage: NULLABLE_OBJECT,
  },
} as const;

/** Requests of the contract, in the order to try them. */
export const COMPLETIONS_EXAMPLES = {
  plain: { model: "chat-small", prompt: "Say hello.", max_tokens: 20 },
  streamed: { model: "chat-small", prompt: "Say hello.", max_tokens: 20, stream: true },
} as const;

const COMPLETION_CHUNK = chunkSchema("CompletionChunk", { text: NULLABLE_TEXT });

/** JSON Schema of the events; tests validate real streams against it. */
const COMPLETION_EVENT = {
  title: "CompletionEvent",
  description: "A chunk of the answer, or an error.",
  anyOf: [COMPLETION_CHUNK, OPENAI_ERROR],
} as const;

/** How an answer streams. */
export const COMPLETION_STREAM: EventStream = { ...CHAT_STREAM, events: COMPLETION_EVENT };

/**
 * JSON Schema (2020-12) of the body of POST /v1/completions (docs/protocols.md#completions). It
 * validates requests and is part of /openapi.json. The field registry (`COMPLETIONS_FIELDS`) decides about
 * members that it does not list, by the setting of the route.
 */
export const COMPLETIONS_SCHEMA = {
  title: "CreateCompletionRequest",
  type: "object",
  required: ["model", "prompt"],
  parserRules: STREAMING_RULES,
  properties: {
    model: MODEL,
    prompt: {
      description: "A text, a list of texts, a list of tokens, or a list of lists of tokens.",
      anyOf: [
        { type: "null" },
        TEXT,
        { type: "array", minItems: 1, items: TEXT },
        { type: "array", minItems: 1, items: TOKEN },
        { type: "array", minItems: 1, items: { type: "array", minItems: 1, items: TOKEN } },
      ],
    },
    ...COMPLETION_MEMBERS,
    suffix: NULLABLE_TEXT,
    echo: NULLABLE_FLAG,
    best_of: nullableInteger(0, 20),
    logprobs: nullableInteger(0, 5),
    ...SAMPLING_MEMBERS,
    provider: PREFERENCES,
  },
} as const;

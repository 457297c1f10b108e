import type { DroppedField } from "../../canon/generate/edit.ts";
import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest, UserTurn } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { NULLABLE_TEXT, TEXT } from "../../canon/json/schema.ts";
import { finishReason } from "../answer-ends.ts";
import { blockEvents } from "../answer-events.ts";
import { promptOpening } from "../body-reader.ts";
import {
  COMPLETION_MEMBERS,
  MODEL,
  NULL,
  NULLABLE_FLAG,
  PREFERENCES,
  SAMPLING_MEMBERS,
  STREAMING_RULES,
  TOKEN,
  nullableInteger,
} from "../contract-schemas.ts";
import type { AnswerContext, Dialect, Relay, Surface, Translation, Upstream } from "../dialect.ts";
import { fitting } from "../fit-request.ts";
import { numberOrNull, textOf } from "../json.ts";
import { CHAT_COMPLETION, CHAT_STREAM, chunkSchema } from "../openai-chat/dialect.ts";
import { ChoiceReader, readChatError, readWhole } from "../openai-chat/read-answer.ts";
import {
  OPENAI_ERROR,
  OPENAI_FAMILY,
  deploymentHost,
  includesUsage,
  readSampling,
  readTextSettings,
  refuseStreamOptions,
  statefulMember,
} from "../openai-chat/family.ts";
import { omitMembers, requestUsage } from "../openai-chat/flags.ts";
import { SAMPLING_SETTINGS, writeSettings, writeStream } from "../openai-chat/format.ts";
import { CHAT_KINDS, CHAT_STATEFUL, STREAM_OPTION_MEMBERS } from "../openai-chat/parse-request.ts";
import { RelayedChatStream, readChatAnswer } from "../openai-chat/relay.ts";
import { ChunkRenderer, formatFinishReason, printCompletion } from "../openai-chat/render.ts";
import { BodyEdit, editedBody } from "../relay.ts";
import { bodyRequests } from "../translate-request.ts";
import {
  CORE,
  ROUTER,
  SAMPLING_FIELDS,
  refusingUnknown,
  shownName,
  type FieldRegistry,
  type RequestReading,
} from "../request-reading.ts";
import { OPENAI_COMPLETIONS } from "./facts.ts";
import { SseEventParser } from "../sse.ts";
import { RequestDraft, textPart } from "../request-draft.ts";

/**
 * Every known top-level member of a legacy completions request
 * (docs/protocols.md#classes-of-request-members).
 */
export const COMPLETIONS_FIELDS: FieldRegistry = {
  ...SAMPLING_FIELDS,
  model: CORE,
  prompt: CORE,
  stream: CORE,
  stream_options: CORE,
  suffix: { uses: "native_completions" },
  echo: { uses: "native_completions" },
  best_of: CORE,
  n: CORE,
  logprobs: { needs: "logprobs", uses: "native_completions" },
  max_tokens: CORE,
  logit_bias: CORE,
  seed: { uses: "seed" },
  stop: CORE,
  provider: ROUTER,
};

const REQUESTS = bodyRequests({
  operation: "completions",
  native: "native_completions",
  registry: COMPLETIONS_FIELDS,
  kinds: CHAT_KINDS,
  refuse: (body) => statefulMember(body, CHAT_STATEFUL),
  estimates: {
    // Each prompt of a list is read and answered alone; a list of numbers is one prompt of tokens.
    prompts: ({ prompt }) =>
      Array.isArray(prompt) && !prompt.every((token) => typeof token === "number")
        ? prompt.length
        : 1,
    conversationOpening: ({ prompt }) => promptOpening(prompt),
  },
  read: readCompletionsBody,
  includesUsage,
});

/** Stop sequences that every provider of the protocol accepts. */
const COMMON_STOPS = 4;

/**
 * The single walk over a legacy completions body: returns the canonical request, one user turn with
 * the prompt, and notes in `reading` the capabilities and features that the body requires.
 */
function readCompletionsBody(body: JsonObject, reading: RequestReading): GenerateRequest {
  refuseStreamOptions(body, reading);
  reading.dropped.add("prompt_as_message");
  const { prompt, stream_options: options } = body;
  if (reading.forTranslation && isJsonObject(options)) {
    const unknown = reading.unknownIn(options, STREAM_OPTION_MEMBERS);
    if (unknown !== null) reading.unknown(`stream_options.${shownName(unknown)}`);
  }
  const text = textOf(Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt);
  // No other protocol continues tokens, nothing, or several texts at once.
  if (text === "") reading.useNative("prompt");
  const maxOutputTokens = numberOrNull(body.max_tokens);
  // A limit of zero reads the prompt's own probabilities.
  if (maxOutputTokens === 0) reading.useNative("max_tokens");
  for (const name of ["n", "best_of"]) {
    if ((numberOrNull(body[name]) ?? 1) <= 1) continue;
    reading.need("multiple_choices", name);
    reading.useNative(name);
  }
  const settings = readTextSettings(body, reading);
  if (settings.stop.length > COMMON_STOPS) reading.use("stop_sequences_over_4", "stop");
  return {
    purpose: "generate",
    turns: [{ role: "user", name: null, content: [textPart(text)] }],
    tools: [],
    toolChoice: null,
    parallelToolCalls: null,
    format: null,
    maxOutputTokens,
    ...readSampling(body, reading),
    ...settings,
    logprobs: null,
    reasoning: null,
    verbosity: null,
    stream: body.stream === true,
    hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
  };
}

/**
 * The caller's body for a provider of the same protocol: with the provider's model name, token
 * counts requested on streams, without our own and identity members, and with the policies' edits.
 * Everything else is sent unchanged. There is no `store` here: the protocol keeps nothing.
 */
const editCompletionsRequest: Relay["edit"] = (request, endpoint, { flags }, mode, edits) => {
  const edit = editedBody(COMPLETIONS_FIELDS, request, endpoint, mode, edits);
  edit.capOutput("max_tokens", edits.maxOutputTokens);
  requestUsage(edit, request, flags);
  omitMembers(edit, flags);
  return edit.result();
};

/** Reads completion objects: one text block, then the finish reason. */
class CompletionReader extends ChoiceReader {
  protected override readOutput(
    { text, finish_reason: reason }: JsonObject,
    isWhole: boolean,
  ): boolean {
    // A chunk without text or an end is of another protocol, such as chat on this path.
    if (typeof text === "string") this.blocks.text(text);
    else if (typeof reason !== "string" || isWhole) this.fail("malformed");
    // Text cannot end in tool calls: such an answer is of another protocol.
    if (finishReason(reason) === "tool_calls") this.fail("malformed", "unknown_finish_reason");
    return true;
  }
}

/**
 * Renders events as legacy completions chunks (docs/protocols.md#completions), and whole answers by
 * the same rules.
 */
class CompletionsRenderer extends ChunkRenderer {
  #hasRefusal = false;

  constructor(context: AnswerContext) {
    super(context, "cmpl", "text_completion");
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    if (event.type === "finish") {
      const reason = this.finishReason(event.reason, event.stopSequence);
      return this.finalEvents(JSON.stringify(printChoice("", reason)));
    }
    if (event.type === "start") this.begin(event.model);
    if (event.type === "usage") this.count(event.usage);
    const text = this.text(event);
    return text === "" ? [] : [this.chunk(JSON.stringify(printChoice(text, null)))];
  }

  /** The text that one event adds to the completion. */
  text(event: InferenceEvent): string {
    if (event.type === "text") {
      if (event.logprobs.length > 0) this.dropped.add("logprobs_dropped");
      return event.text;
    }
    if (event.type === "refusal") {
      this.#hasRefusal = true;
      this.dropped.add("refusal_as_text");
      return event.text;
    }
    const kind =
      event.type === "open" && event.block.kind === "tool_call" ? "tool_call" : event.type;
    const dropped = OMITTED[kind];
    if (dropped !== undefined) this.dropped.add(dropped);
    return "";
  }

  /** A refusal must not look like a completion, whatever the provider's finish reason. */
  finishReason(reason: FinishReason, stopSequence: string | null): string {
    if (stopSequence !== null) this.dropped.add("stop_sequence_unnamed");
    const printed = formatFinishReason(reason);
    return this.#hasRefusal && printed === "stop" ? "content_filter" : printed;
  }
}

/** Events and blocks that a completion has no member for. */
const OMITTED: Readonly<Partial<Record<InferenceEvent["type"] | "tool_call", DroppedField>>> = {
  reasoning: "reasoning_dropped",
  signature: "signature_dropped",
  citation: "citations_dropped",
  tool_call: "tool_call_dropped",
};

function printChoice(text: string, finish: string | null): JsonObject {
  return { text, index: 0, logprobs: null, finish_reason: finish };
}

/** A whole answer as one `text_completion`. */
const renderCompletionsAnswer: Translation["renderAnswer"] = (answer, context) => {
  const renderer = new CompletionsRenderer(context);
  const events = answer.blocks.flatMap(blockEvents);
  const text = events.map((event) => renderer.text(event)).join("");
  const { finish } = answer;
  const reason = finish && renderer.finishReason(finish.reason, finish.stopSequence);
  const choice = printChoice(text, reason);
  return {
    body: printCompletion(answer, context, "cmpl", "text_completion", choice),
    dropped: [...renderer.dropped],
  };
};

const PATH = "/completions";

/**
 * Formats a request that is one user turn of text as a prompt (docs/protocols.md#completions). The
 * decision keeps other requests away by their features; one that gets here is a 400 that
 * names the setting that no prompt can carry.
 */
const formatCompletions: Upstream["format"] = (request, { endpoint, model, provider }) => {
  const [turn] = request.turns;
  const draft = new RequestDraft();
  const { body, dropped } = draft;
  dropped.add("prompt_as_message");
  const prompt = turn?.role === "user" ? promptOf(turn) : null;
  const problem = unsupportedSetting(request, prompt);
  if (problem !== null)
    draft.refuseRequest(
      "feature_not_supported",
      `The request uses ${problem}, which the legacy completions protocol of an endpoint that may get it cannot carry`,
    );
  // The protocol has no tiers; `auto` is the tier of requests that name none.
  draft.sentTier(request, { auto: null });
  draft.dropCacheHints(request);
  if (request.reasoning !== null && request.reasoning.display !== null)
    dropped.add("reasoning_display_dropped");
  const limit = request.maxOutputTokens ?? model.defaultMaxOutputTokens;
  if (request.maxOutputTokens === null && limit !== null) dropped.add("output_limit_defaulted");
  body.model = endpoint.upstreamModel;
  body.prompt = prompt;
  writeSettings(body, { ...request, maxOutputTokens: limit }, SETTINGS);
  if (request.stop.length > 0) body.stop = request.stop;
  writeStream(body, request);
  omitMembers(new BodyEdit(body, dropped), provider.flags);
  return draft.finished(PATH);
};

const SETTINGS = {
  max_tokens: "maxOutputTokens",
  ...SAMPLING_SETTINGS,
  logit_bias: "logitBias",
  seed: "seed",
} as const;

/** The setting that the protocol lacks and that changes the answer. */
function unsupportedSetting(request: GenerateRequest, prompt: string | null): string | null {
  const { reasoning } = request;
  if (request.purpose === "count") return "token counting";
  if (request.turns.length !== 1 || request.turns[0]?.role !== "user")
    return "a conversation of several turns";
  if (request.tools.length > 0) return "tools";
  if (request.format !== null) return "a response format";
  if (request.topK !== null) return "top_k";
  if (request.logprobs !== null) return "log probabilities of a conversation";
  if (request.verbosity !== null) return "verbosity";
  if (
    reasoning !== null &&
    (reasoning.effort !== "unspecified" || reasoning.budget !== null || reasoning.adaptive)
  ) {
    return "reasoning";
  }
  return prompt === null ? "anything but text in a message" : null;
}

/** The texts of the parts, joined; `null` where a part is not text. */
function promptOf({ content }: UserTurn): string | null {
  const texts = content.map((part) => (part.kind === "text" ? part.text : null));
  return texts.includes(null) ? null : texts.join("");
}

/**
 * JSON Schema (2020-12) of the body of POST /v1/completions (docs/protocols.md#completions). It
 * validates requests and is part of /openapi.json. Members that it does not list are judged by
 * `COMPLETIONS_FIELDS` and the setting of the route.
 */
const COMPLETIONS_SCHEMA = {
  title: "CreateCompletionRequest",
  type: "object",
  required: ["model", "prompt"],
  parserRules: STREAMING_RULES,
  properties: {
    model: MODEL,
    prompt: {
      description: "A text, a list of texts, a list of tokens, or a list of lists of tokens.",
      anyOf: [
        NULL,
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

/** Legacy completions for clients (docs/protocols.md#completions). */
export const completionsSurface: Surface = {
  kind: "generate",
  dialect: "openai-completions",
  parse: REQUESTS.parse,
  refuseUnknown: refusingUnknown(COMPLETIONS_FIELDS, "completions"),
  relay: {
    path: () => PATH,
    edit: editCompletionsRequest,
    // The envelope is that of chat completions (choices with finish reasons, usage, error objects,
    // `[DONE]`).
    observe: (context) => new RelayedChatStream(context),
    readAnswer: readChatAnswer,
  },
  translation: {
    toCanon: REQUESTS.toCanon,
    // A prompt brings no tools: text that a call cut off must not read as a whole one.
    impossibleEnds: ["tool_calls"],
    omittedBlocks: ["reasoning", "tool_call"],
    renderStream: (context) => new CompletionsRenderer(context),
    renderAnswer: renderCompletionsAnswer,
  },
  family: OPENAI_FAMILY,
  contract: {
    body: COMPLETIONS_SCHEMA,
    answer: {
      ...CHAT_COMPLETION,
      title: "Completion",
      description:
        "As the provider answered, or translated; streams are text_completion chunks, then [DONE].",
    },
    examples: {
      plain: { model: "chat-small", prompt: "Say hello.", max_tokens: 20 },
      streamed: { model: "chat-small", prompt: "Say hello.", max_tokens: 20, stream: true },
    },
    stream: {
      ...CHAT_STREAM,
      events: {
        title: "CompletionEvent",
        description: "A chunk of the answer, or an error.",
        anyOf: [chunkSchema("CompletionChunk", { text: NULLABLE_TEXT }), OPENAI_ERROR],
      },
    },
  },
};

/** The row of `dialects/table.ts`; providers get requests of other protocols that are one text. */
export const dialect: Dialect = {
  generate: {
    format: fitting(formatCompletions, OPENAI_COMPLETIONS.requires),
    parseStream: () => new SseEventParser(new CompletionReader()),
    parseAnswer: (bytes) => readWhole(bytes, new CompletionReader()),
    readError: readChatError,
    host: deploymentHost,
  },
};

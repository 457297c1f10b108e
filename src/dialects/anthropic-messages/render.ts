import type { ErrorKind, ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AnswerBlock,
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenUsage,
} from "../../canon/generate/event.ts";
import { tagSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { TEXT, complete } from "../../canon/json/schema.ts";
import { UNSIGNED, UNSIGNED_SUMMARY, redactedData, tagThinking } from "./reasoning.ts";
import type { AnswerContext, EventRenderer, Translation } from "../dialect.ts";
import { MAXIMUM_DEPTH, isDeeperThan, mergeUsage, parseExactJsonText } from "../json.ts";
import {
  DENIAL,
  ERROR_MESSAGE,
  denialMembers,
  limitHeaders,
  type ProtocolFamily,
} from "../protocol-family.ts";
import { formatSseEvent } from "../sse.ts";

/**
 * Prints events as a messages stream (docs/protocols.md#messages): `message_start`, blocks one
 * after the other, `message_delta`, `message_stop`. `message_start` waits for the first event after
 * it, because clients require counts in it.
 */
export class MessagesRenderer implements EventRenderer {
  readonly #context: AnswerContext;
  readonly dropped = new Set<DroppedField>();
  #model: string | null = null;
  #hasStarted = false;
  #usage: TokenUsage | null = null;
  /** The open reasoning block. One that is not printed yet can still become a redacted one. */
  #reasoning: { printed: boolean; signed: boolean; readonly summary: boolean } | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  push(event: InferenceEvent): readonly Uint8Array[] {
    const events = this.#print(event);
    if (this.#hasStarted || events.length === 0) return events;
    this.#hasStarted = true;
    const message = emptyMessage(this.#context, this.#model, this.#usage);
    return [namedEvent("message_start", { message }), ...events];
  }

  fail(error: ServiceError): Uint8Array {
    return formatSseEvent(renderAnthropicError(error, this.#context.requestId), "error");
  }

  #print(event: InferenceEvent): readonly Uint8Array[] {
    switch (event.type) {
      case "start":
        this.#model = event.model;
        return [];
      case "usage":
        this.#usage = mergeUsage(this.#usage, event.usage);
        return [];
      case "citation":
        this.dropped.add("citations_dropped");
        return [];
      case "dropped":
      case "failure":
        return [];
      case "open":
        return this.#open(event.index, event.block);
      case "text":
      case "refusal":
        return event.text === ""
          ? []
          : [delta(event.index, { type: "text_delta", text: event.text })];
      case "arguments":
        return [delta(event.index, { type: "input_json_delta", partial_json: event.json })];
      case "reasoning":
        return [
          ...this.#openThinking(event.index),
          delta(event.index, { type: "thinking_delta", thinking: event.text }),
        ];
      case "signature":
        return this.#sign(event.index, event.family, event.signature);
      case "close":
        return this.#close(event.index);
      case "finish": {
        const stop = stopOf(event, this.#context, this.dropped);
        if (hasUnknownCounts(this.#usage)) this.dropped.add("usage_unknown");
        return [
          namedEvent("message_delta", { delta: stop, usage: formatUsage(this.#usage) }),
          namedEvent("message_stop", {}),
        ];
      }
    }
  }

  #open(index: number, block: OpenBlock): readonly Uint8Array[] {
    if (block.kind === "reasoning") {
      this.#reasoning = { printed: false, signed: false, summary: block.summary };
      return [];
    }
    return [
      opened(index, block.kind === "tool_call" ? toolUse(block, {}) : { type: "text", text: "" }),
    ];
  }

  #openThinking(index: number): readonly Uint8Array[] {
    if (this.#reasoning?.printed !== false) return [];
    this.#reasoning.printed = true;
    return [opened(index, { type: "thinking", thinking: "", signature: "" })];
  }

  #sign(index: number, family: string, signature: string): readonly Uint8Array[] {
    const { printed, summary } = this.#reasoning ?? { printed: true, summary: false };
    const block = signedBlock({ summary, signature, family }, printed);
    const events =
      block.type === "thinking"
        ? [...this.#openThinking(index), signatureDelta(index, block.signature)]
        : [opened(index, block)];
    this.#reasoning = { printed: true, signed: true, summary };
    return events;
  }

  #close(index: number): readonly Uint8Array[] {
    const events: Uint8Array[] = [];
    if (this.#reasoning !== null) {
      events.push(...this.#openThinking(index));
      const { signed, summary } = this.#reasoning;
      if (!signed) events.push(signatureDelta(index, unsigned(summary)));
      this.#reasoning = null;
    }
    events.push(namedEvent("content_block_stop", { index }));
    return events;
  }
}

function namedEvent(type: string, members: JsonObject) {
  return formatSseEvent(JSON.stringify({ type, ...members }), type);
}

function opened(index: number, block: JsonObject) {
  return namedEvent("content_block_start", { index, content_block: block });
}

function delta(index: number, change: JsonObject) {
  return namedEvent("content_block_delta", { index, delta: change });
}

function signatureDelta(index: number, signature: string) {
  return delta(index, { type: "signature_delta", signature });
}

/** A message without content. */
function emptyMessage(
  context: AnswerContext,
  model: string | null,
  usage: TokenUsage | null,
): JsonObject {
  return {
    id: `msg_${context.answerId}`,
    type: "message",
    role: "assistant",
    model: model ?? context.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage: formatUsage(usage),
  };
}

/** The members of the answer's end. */
function stopOf(
  { reason, stopSequence }: { readonly reason: FinishReason; readonly stopSequence: string | null },
  { request }: AnswerContext,
  dropped: Set<DroppedField>,
): JsonObject {
  // Some protocols have the same reason for a natural end and a stop sequence.
  const stops = request.body.stop_sequences;
  const isUnnamed = reason === "stop" && Array.isArray(stops) && stops.length > 0;
  if (isUnnamed || (reason === "stop_sequence" && stopSequence === null))
    dropped.add("stop_sequence_unnamed");
  const stopReason = STOP_REASONS[reason];
  return {
    stop_reason: stopReason,
    stop_sequence: reason === "stop_sequence" ? stopSequence : null,
    stop_details:
      stopReason === "refusal" ? { type: "refusal", category: null, explanation: null } : null,
  };
}

/** A whole answer as a message. */
export const renderMessagesAnswer: Translation["renderAnswer"] = (
  { model, blocks, usage, finish },
  context,
) => {
  if (finish === null) throw new Error("renderMessagesAnswer: an answer that has not ended");
  const dropped = new Set<DroppedField>();
  if (hasUnknownCounts(usage)) dropped.add("usage_unknown");
  const body = {
    ...emptyMessage(context, model, usage),
    content: blocks.map((block) => renderBlock(block, dropped)),
    ...stopOf(finish, context, dropped),
  };
  return { body, dropped: [...dropped] };
};

/** The answer to a count. */
export const renderCount: Translation["renderAnswer"] = ({ usage }) => {
  const count = usage?.input ?? null;
  if (count === null)
    throw new Error("renderCount: an answer without a count is a failure, which is not rendered");
  return { body: { input_tokens: count }, dropped: [] };
};

function renderBlock(block: AnswerBlock, dropped: Set<DroppedField>): JsonObject {
  switch (block.kind) {
    case "text":
      if (block.citations.length > 0) dropped.add("citations_dropped");
      return { type: "text", text: block.text };
    case "refusal":
      return { type: "text", text: block.text };
    case "reasoning":
      return renderReasoning(block);
    case "tool_call":
      return toolUse(block, readArguments(block.arguments, dropped));
  }
}

function toolUse(
  { id, name }: { readonly id: string; readonly name: string },
  input: JsonObject,
): JsonObject {
  return { type: "tool_use", id, name, input, caller: { type: "direct" } };
}

function renderReasoning({
  text,
  summary,
  signature,
  family,
}: Extract<AnswerBlock, { kind: "reasoning" }>): JsonObject {
  if (signature === null || family === null)
    return { type: "thinking", thinking: text, signature: unsigned(summary) };
  const block = signedBlock({ summary, signature, family }, text !== "");
  return block.type === "thinking" ? { ...block, thinking: text } : block;
}

/** A signed block without its text. Reasoning that is hidden altogether has a type of its own. */
function signedBlock(
  {
    summary,
    signature,
    family,
  }: { readonly summary: boolean; readonly signature: string; readonly family: string },
  hasText: boolean,
) {
  const data = hasText ? null : redactedData(signature);
  return data === null
    ? ({
        type: "thinking",
        thinking: "",
        signature: tagThinking(family, signature, summary && hasText),
      } as const)
    : ({ type: "redacted_thinking", data: tagSignature(family, data) } as const);
}

function unsigned(summary: boolean) {
  return summary ? UNSIGNED_SUMMARY : UNSIGNED;
}

/**
 * The arguments as the object that the protocol wants. A model may have written something else, or
 * too deep to be printed again, or have been cut off: that text is sent in the member that the
 * protocol's documents define for it, and that no tool's schema has, so no client calls a tool by
 * mistake.
 */
function readArguments(text: string, dropped: Set<DroppedField>): JsonObject {
  const value = parseExactJsonText(text);
  if (isJsonObject(value) && !JSON.isRawJSON(value) && !isDeeperThan(value, MAXIMUM_DEPTH))
    return value;
  dropped.add("tool_arguments_normalised");
  return text.trim() === "" ? {} : { INVALID_JSON: text };
}

/** The `stop_reason` of a reason. After an unknown reason the answer may be cut short. */
const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  length: "max_tokens",
  context_window: "model_context_window_exceeded",
  tool_calls: "tool_use",
  refusal: "refusal",
  content_filter: "refusal",
  pause: "pause_turn",
  other: "max_tokens",
};

/** Whether a count that the answer must have is unknown. */
function hasUnknownCounts(usage: TokenUsage | null) {
  return usage === null || usage.input === null || usage.output === null;
}

/**
 * Usage as answers carry it. Official clients demand numbers for input and output and add them up,
 * so the two are 0 if unknown; every other unknown count is null.
 */
function formatUsage(usage: TokenUsage | null): JsonObject {
  const cached = (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);
  return {
    input_tokens: Math.max((usage?.input ?? 0) - cached, 0),
    cache_creation_input_tokens: usage?.cacheWrite ?? null,
    cache_read_input_tokens: usage?.cacheRead ?? null,
    output_tokens: usage?.output ?? 0,
    output_tokens_details: usage?.reasoning == null ? null : { thinking_tokens: usage.reasoning },
    server_tool_use: null,
  };
}

/** JSON Schema of an error, in answers and in streams. */
export const ANTHROPIC_ERROR = {
  title: "AnthropicError",
  ...complete({
    type: { const: "error" },
    error: complete({
      type: { ...TEXT, description: "The kind of error, as this protocol names it." },
      message: ERROR_MESSAGE,
      details: {
        type: "object",
        required: ["error_code"],
        properties: {
          error_code: { ...TEXT, description: "For programs; docs/api.md says what each means." },
          param: { ...TEXT, description: "Path of the member, parameter or header concerned." },
          ...DENIAL,
        },
      },
    }),
    request_id: TEXT,
  }),
} as const;

/** The `type` of the messages family for each kind of error (docs/protocols.md#error-bodies). */
const ANTHROPIC_TYPES: Readonly<Record<ErrorKind, string>> = {
  invalid_request: "invalid_request_error",
  authentication: "authentication_error",
  insufficient_scope: "permission_error",
  policy_denied: "permission_error",
  not_found: "not_found_error",
  precondition: "invalid_request_error",
  too_large: "request_too_large",
  quota: "billing_error",
  rate_limit: "rate_limit_error",
  upstream: "api_error",
  timeout: "timeout_error",
  unavailable: "overloaded_error",
  internal: "api_error",
};

/** Errors and limits as Anthropic's clients read them. */
export const ANTHROPIC_FAMILY: ProtocolFamily = {
  unsentHeaders: ["anthropic-user-profile-id", "anthropic-workspace-id"],
  errorTypes: ANTHROPIC_TYPES,
  renderError: renderAnthropicError,
  errorSchema: () => ANTHROPIC_ERROR,
  narrowedError: (type, code) => ({
    properties: { error: { properties: { type, details: { properties: { error_code: code } } } } },
  }),
  errorExample: ({ kind, code, message }, requestId) => ({
    type: "error",
    error: { type: ANTHROPIC_TYPES[kind], message, details: { error_code: code } },
    request_id: requestId,
  }),
  ...limitHeaders(
    (measure, part) => `anthropic-ratelimit-${measure}-${part}`,
    ({ resetAt }) => resetAt(),
    "when it is whole, RFC 3339.",
  ),
};

/**
 * `{"type": "error", "error": {type, message, details}, "request_id"}`; `details` has the members
 * of a denial. The message has the request id too, because clients of this protocol show only the
 * message to people.
 */
export function renderAnthropicError(error: ServiceError, requestId: string): string {
  const details = {
    error_code: error.code,
    param: error.param ?? undefined,
    ...denialMembers(error, requestId),
  };
  return JSON.stringify({
    type: "error",
    error: {
      type: ANTHROPIC_TYPES[error.kind],
      message: `${error.message} (request id ${requestId})`,
      details,
    },
    request_id: requestId,
  });
}

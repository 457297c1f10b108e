import type { DroppedField } from "../../canon/generate/edit.ts";
import { tagSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import type { AnswerContext } from "../dialect.ts";
import { isDeeperThan, MAXIMUM_DEPTH, parseExactJsonText } from "../json.ts";
import { redactedData, tagThinking, UNSIGNED, UNSIGNED_SUMMARY } from "./reasoning.ts";
import type { Answer, AnswerBlock, FinishReason, TokenUsage } from "../../canon/generate/event.ts";

/** A message before anything has been said in it, without its usage. */
export function emptyMessage(context: AnswerContext, model: string | null): JsonObject {
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
  };
}

/** The members that say why the answer ended. */
export function stopOf(
  { reason, stopSequence }: { readonly reason: FinishReason; readonly stopSequence: string | null },
  { request }: AnswerContext,
  dropped: Set<DroppedField>,
): JsonObject {
  // Some protocols give the same reason for an answer that ended by itself and one that a stop
  // sequence ended.
  const stops = request.body["stop_sequences"];
  const unsaid = reason === "stop" && Array.isArray(stops) && stops.length > 0;
  if (unsaid || (reason === "stop_sequence" && stopSequence === null))
    dropped.add("stop_sequence_unnamed");
  const stopReason = STOP_REASONS[reason];
  return {
    stop_reason: stopReason,
    stop_sequence: reason === "stop_sequence" ? stopSequence : null,
    stop_details:
      stopReason === "refusal" ? { type: "refusal", category: null, explanation: null } : null,
  };
}

interface RenderedAnswer {
  readonly body: JsonObject;
  readonly dropped: readonly DroppedField[];
}

/** A whole answer as a message. */
export function renderMessagesAnswer(answer: Answer, context: AnswerContext): RenderedAnswer {
  if (answer.finish === null) throw new Error("renderMessagesAnswer: an answer that has not ended");
  const dropped = new Set<DroppedField>();
  if (hasUnknownCounts(answer.usage)) dropped.add("usage_unknown");
  const content = answer.blocks.map((block) => renderBlock(block, dropped));
  const body = {
    ...emptyMessage(context, answer.model),
    content,
    ...stopOf(answer.finish, context, dropped),
    usage: formatUsage(answer.usage),
  };
  return { body, dropped: [...dropped] };
}

/** The answer to a count. */
export function renderCount(answer: Answer): RenderedAnswer {
  const count = answer.usage?.input ?? null;
  if (count === null)
    throw new Error("renderCount: an answer without a count is a failure, which is not rendered");
  return { body: { input_tokens: count }, dropped: [] };
}

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
      return {
        type: "tool_use",
        id: block.id,
        name: block.name,
        input: readArguments(block.arguments, dropped),
        caller: { type: "direct" },
      };
  }
}

function renderReasoning({
  text,
  summary,
  signature,
  family,
}: Extract<AnswerBlock, { kind: "reasoning" }>): JsonObject {
  if (signature === null || family === null) {
    return { type: "thinking", thinking: text, signature: summary ? UNSIGNED_SUMMARY : UNSIGNED };
  }
  const data = text === "" ? redactedData(signature) : null;
  return data === null
    ? {
        type: "thinking",
        thinking: text,
        signature: tagThinking(family, signature, summary && text !== ""),
      }
    : { type: "redacted_thinking", data: tagSignature(family, data) };
}

/**
 * The arguments as the object that the protocol wants. A model may have written something else, or
 * too deep to be printed again, or have been cut off: that text goes on in the one member that the
 * protocol's documents give to it, and no tool's schema has, so no client calls a tool by mistake.
 */
function readArguments(text: string, dropped: Set<DroppedField>): JsonObject {
  const value = parseExactJsonText(text);
  if (isJsonObject(value) && !JSON.isRawJSON(value) && !isDeeperThan(value, MAXIMUM_DEPTH))
    return value;
  dropped.add("tool_arguments_normalised");
  return text.trim() === "" ? {} : { INVALID_JSON: text };
}

/** The `stop_reason` of a reason. An answer that ended for an unknown one may be cut short. */
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

/** Whether an answer must make up a count. */
export function hasUnknownCounts(usage: TokenUsage | null): boolean {
  return usage === null || usage.input === null || usage.output === null;
}

/**
 * Usage as answers carry it. Official clients demand numbers for input and output and do sums with
 * them, so the two read 0 where the upstream did not say; every other unknown is null.
 */
export function formatUsage(usage: TokenUsage | null): JsonObject {
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

import type { Answer, AnswerBlock } from "../../canon/generate/answer.ts";
import type { DroppedField } from "../../canon/generate/dropped-field.ts";
import { tagSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import type { AnswerContext } from "../dialect.ts";
import { isDeeperThan, MAXIMUM_DEPTH, parseExactJsonText } from "../json-bytes.ts";
import { redactedData, tagThinking, UNSIGNED, UNSIGNED_SUMMARY } from "./signed-reasoning.ts";
import { formatUsage, hasUnknownCounts } from "./finish.ts";
import { emptyMessage, stopOf } from "./message.ts";

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
  if (count === null) throw new Error("renderCount: an answer without a count is a failure, which is not rendered");
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
    ? { type: "thinking", thinking: text, signature: tagThinking(family, signature, summary && text !== "") }
    : { type: "redacted_thinking", data: tagSignature(family, data) };
}

/**
 * The arguments as the object that the protocol wants. A model may have written something else, or too deep to be printed again, or have been cut off: that text
 * goes on in the one member that the protocol's documents give to it, and no tool's schema has, so no client calls a tool by mistake.
 */
function readArguments(text: string, dropped: Set<DroppedField>): JsonObject {
  const value = parseExactJsonText(text);
  if (isJsonObject(value) && !JSON.isRawJSON(value) && !isDeeperThan(value, MAXIMUM_DEPTH)) return value;
  dropped.add("tool_arguments_normalised");
  return text.trim() === "" ? {} : { INVALID_JSON: text };
}

import { countedTokens, failedAnswer } from "../answer-events.ts";
import { readCount, parseJsonBytes } from "../json.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { Target } from "../dialect.ts";
import { answerFailure } from "../answer-failure.ts";
import { MessageReader } from "./message-reader.ts";

/** A whole answer of Converse, or of CountTokens, as the events of a stream of it. */
export function parseConverseAnswer(
  bytes: Uint8Array,
  request: GenerateRequest,
  target: Target,
): readonly InferenceEvent[] {
  // Arguments of tools go on to the caller, with the numbers that they came with.
  const answer = parseJsonBytes(bytes);
  if (!isJsonObject(answer)) return failedAnswer(answerFailure("malformed"));
  if (request.purpose === "count") return countedTokens(readCount(answer["inputTokens"]));
  const { output, usage, stopReason } = answer;
  const message = isJsonObject(output) ? output["message"] : undefined;
  const content = isJsonObject(message) ? message["content"] : undefined;
  if (!Array.isArray(content)) return failedAnswer(answerFailure("malformed"));
  const reader = new MessageReader(request, target);
  reader.start();
  for (const [index, block] of content.entries()) {
    if (!reader.over) readBlock(index, block, reader);
  }
  if (!reader.over) {
    reader.stop(stopReason);
    reader.addUsage(usage);
    reader.conclude();
  }
  return reader.drain();
}

/** Emits the events of a whole block, as a stream would. */
function readBlock(index: number, block: JsonValue, reader: MessageReader): void {
  if (!isJsonObject(block)) return reader.fail(answerFailure("malformed"));
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === "string") {
    reader.addDelta(index, { text });
  } else if (isJsonObject(toolUse)) {
    reader.openBlock(index, { toolUse });
    if (!reader.over) reader.addDelta(index, { toolUse: { input: JSON.stringify(toolUse["input"] ?? {}) } });
  } else if (isJsonObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent;
    const said = isJsonObject(reasoningText) ? reasoningText : {};
    reader.addDelta(index, { reasoningContent: { ...said, redactedContent } });
  } else if (isJsonObject(citationsContent)) {
    readCited(index, citationsContent, reader);
  } else {
    return reader.fail(answerFailure("malformed", "unexpected_output_item"));
  }
  reader.closeBlock();
}

function readCited(index: number, { content, citations }: JsonObject, reader: MessageReader): void {
  for (const piece of Array.isArray(content) ? content : [])
    if (isJsonObject(piece)) reader.addDelta(index, { text: piece["text"] });
  for (const citation of Array.isArray(citations) ? citations : []) reader.addDelta(index, { citation });
}

import { countedTokens, failedAnswer } from "../answer-events.ts";
import { readCount, parseJsonBytes, parseAnswerBytes } from "../json.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { Target, EventParser } from "../dialect.ts";
import { answerFailure } from "../answer-failure.ts";
import { MessageReader } from "./message-reader.ts";
import { MAXIMUM_EVENT_BYTES } from "../sse.ts";
import { FrameReader, type Frame } from "./event-stream-frames.ts";
import { readException } from "./read-error.ts";

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
    if (!reader.over)
      reader.addDelta(index, { toolUse: { input: JSON.stringify(toolUse["input"] ?? {}) } });
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
  for (const citation of Array.isArray(citations) ? citations : [])
    reader.addDelta(index, { citation });
}

/**
 * Reads a stream of ConverseStream (docs/protocols.md#bedrock-converse). `messageStop` completes
 * the answer; the counts of `metadata` follow it. A stream that ends between the two is a complete
 * answer without counts: no part of its content is missing.
 */
class ConverseParser implements EventParser {
  readonly #frames = new FrameReader(MAXIMUM_EVENT_BYTES);
  readonly #reader: MessageReader;
  #counted = false;

  constructor(reader: MessageReader) {
    this.#reader = reader;
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    const reader = this.#reader;
    if (reader.over) return [];
    for (const frame of this.#frames.push(chunk)) if (!reader.over) this.#take(frame);
    if (this.#frames.fault !== null) reader.fail(answerFailure(this.#frames.fault));
    return reader.drain();
  }

  end(): readonly InferenceEvent[] {
    if (this.#reader.over) return [];
    this.#reader.conclude();
    return this.#reader.drain();
  }

  #take({ headers, payload }: Frame): void {
    // A frame without a payload has no members.
    const body = payload.length === 0 ? {} : parseAnswerBytes(payload);
    const kind = headers.get(":message-type");
    if (kind === "exception")
      return this.#reader.fail(readException(headers.get(":exception-type"), body));
    if (kind === "error") return this.#reader.fail(readException(headers.get(":error-code"), body));
    const type = headers.get(":event-type");
    if (kind !== "event" || type === undefined || !isJsonObject(body))
      return this.#reader.fail(answerFailure("malformed"));
    this.#reader.start();
    this.#read(type, body);
  }

  /** Events of other names say nothing of the answer. */
  #read(type: string, event: JsonObject): void {
    const reader = this.#reader;
    switch (type) {
      case "contentBlockStop":
        // Some speakers of the protocol close a block only after they have stopped, or never.
        return reader.stopped ? undefined : this.#readBlock(type, event);
      case "contentBlockStart":
      case "contentBlockDelta":
        // Events after the end belong to another answer.
        if (reader.stopped) return reader.fail(answerFailure("malformed"));
        return this.#readBlock(type, event);
      case "messageStop":
        if (reader.stopped) return reader.fail(answerFailure("malformed"));
        reader.stop(event["stopReason"]);
        break;
      case "metadata":
        reader.addUsage(event["usage"]);
        this.#counted = true;
        break;
    }
    // Some speakers of the protocol count before they stop.
    if (this.#counted && reader.stopped) reader.conclude();
  }

  #readBlock(type: string, event: JsonObject): void {
    const { contentBlockIndex: index, start, delta } = event;
    if (typeof index !== "number") return this.#reader.fail(answerFailure("malformed"));
    if (type === "contentBlockStop") return this.#reader.closeBlock();
    if (type === "contentBlockStart") {
      // Only calls need a beginning; models may say that a text begins.
      if (isJsonObject(start) && Object.keys(start).length > 0)
        this.#reader.openBlock(index, start);
      return;
    }
    if (!isJsonObject(delta)) return this.#reader.fail(answerFailure("malformed"));
    this.#reader.addDelta(index, delta);
  }
}

export function parseConverseStream(request: GenerateRequest, target: Target): EventParser {
  return new ConverseParser(new MessageReader(request, target));
}

import type { InferenceEvent } from "../../canon/generate/event.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { EventParser } from "../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../json.ts";
import { answerFailure } from "../answer-failure.ts";
import { SseEventParser } from "../sse.ts";
import { readErrorObject } from "./read-error.ts";
import { MessageReader } from "./message-reader.ts";

/**
 * Reads a stream (docs/protocols.md#cohere-chat). Only `message-end` completes the answer; the
 * `[DONE]` after it adds nothing.
 */
class CohereParser extends SseEventParser<MessageReader> {
  protected override take(data: string, event: string | null): void {
    // The end of a stream whose answer never ended.
    if (data === "[DONE]") return this.reader.fail(answerFailure("truncated"));
    const object = parseJsonText(data);
    if (!isJsonObject(object)) return this.reader.fail(answerFailure("malformed"));
    const { type } = object;
    // An error has a message and no type.
    if (event === "error" || typeof type !== "string") return this.reader.fail(failureOf(object));
    this.#takeKind(type, object);
  }

  /** Events of other kinds (`debug`, say) are no part of the answer, but for pieces of it. */
  #takeKind(type: string, event: JsonObject): void {
    const reader = this.reader;
    const index = typeof event["index"] === "number" ? event["index"] : 0;
    const delta = memberOf(event, "delta");
    const message = memberOf(delta, "message");
    switch (type) {
      case "message-start":
        return reader.start();
      case "content-start":
        return reader.openContent(index, memberOf(message, "content"));
      case "content-delta":
        return reader.addContent(index, memberOf(message, "content"), event["logprobs"]);
      case "tool-plan-delta":
        return reader.addPlan(message["tool_plan"]);
      case "tool-call-start":
        return reader.openCall(index, message["tool_calls"]);
      case "tool-call-delta":
        return reader.addArguments(
          index,
          memberOf(memberOf(message, "tool_calls"), "function")["arguments"],
        );
      case "tool-call-end":
        return reader.closeCall(index);
      case "citation-start":
        return reader.cite(message["citations"]);
      case "message-end":
        return reader.end(delta);
    }
    if (type.endsWith("-delta")) reader.skip();
  }
}

const EMPTY: JsonObject = Object.freeze({});

export function parseCohereStream(request: GenerateRequest): EventParser {
  return new CohereParser(new MessageReader(request));
}

/** A whole answer as the events of a stream of it. */
export function parseCohereAnswer(
  bytes: Uint8Array,
  request: GenerateRequest,
): readonly InferenceEvent[] {
  const reader = new MessageReader(request);
  const answer = parseAnswerBytes(bytes);
  const message = isJsonObject(answer) ? answer["message"] : null;
  if (!isJsonObject(answer)) reader.fail(answerFailure("malformed"));
  else if (!isJsonObject(message)) reader.fail(failureOf(answer));
  else {
    reader.start();
    reader.takeMessage(message, answer["logprobs"]);
    reader.end(answer);
  }
  return reader.drain();
}

function failureOf(object: JsonObject): ReturnType<typeof answerFailure> {
  return typeof object["message"] === "string"
    ? readErrorObject(object)
    : answerFailure("malformed");
}

function memberOf(object: JsonObject, name: string): JsonObject {
  const value: JsonValue | undefined = object[name];
  return isJsonObject(value) ? value : EMPTY;
}

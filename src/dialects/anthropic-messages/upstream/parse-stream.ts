import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import type { EventParser, Target } from "../../dialect.ts";
import { parseJsonText } from "../../json-bytes.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { SseEventParser } from "../../translation/sse-event-parser.ts";
import { eventFailure, readErrorFrame } from "../read-error.ts";
import { MessageReader } from "./message-reader.ts";

/** Reads a messages stream (docs/protocols.md#messages). Only `message_stop` completes the answer. */
class MessagesParser extends SseEventParser<MessageReader> {
  #begun = false;
  /** Something has followed the beginning. */
  #continued = false;

  protected override take(data: string, name: string | null): void {
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.reader.fail(answerFailure("malformed"));
    const type = event["type"] ?? name;
    if (type === "error" || name === "error") return this.reader.fail(readErrorFrame(event["error"]));
    const inner = eventFailure(event);
    if (inner !== null) return this.reader.fail(inner);
    if (type === "message_start") return this.#begin(event);
    this.#continue(type, event);
  }

  #begin({ message }: JsonObject): void {
    if (this.#continued || !isJsonObject(message)) return this.reader.fail(answerFailure("malformed"));
    // Some speakers of the protocol say the beginning twice; in the middle of an answer it would be another answer.
    if (this.#begun) return;
    this.#begun = true;
    this.reader.start(message);
  }

  /** Events of other names, pings among them, say nothing of the answer. */
  #continue(type: unknown, event: JsonObject): void {
    switch (type) {
      case "content_block_start":
        if (this.#isPlaced()) this.reader.openBlock(event["content_block"]);
        break;
      case "content_block_delta":
        if (this.#isPlaced()) this.reader.addDelta(event["delta"]);
        break;
      case "content_block_stop":
        if (this.#isPlaced()) this.reader.closeBlock();
        break;
      case "message_delta":
        if (this.#isPlaced()) this.reader.change(event["delta"], event["usage"]);
        break;
      case "message_stop":
        if (this.#isPlaced()) this.reader.stop();
        break;
    }
  }

  #isPlaced(): boolean {
    if (!this.#begun) this.reader.fail(answerFailure("malformed"));
    this.#continued = true;
    return this.#begun;
  }
}

export function parseMessagesStream(request: GenerateRequest, target: Target): EventParser {
  return new MessagesParser(new MessageReader(request, target));
}

import type { InferenceEvent } from "../../../canon/generate/event.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import type { EventParser, Target } from "../../dialect.ts";
import { parseJsonText } from "../../json-bytes.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../../sse.ts";
import { readErrorFrame } from "../read-error.ts";
import { MessageReader } from "./message-reader.ts";

/** Reads a messages stream (protocols.md §3.4). Only `message_stop` says that the answer is whole. */
class MessagesParser implements EventParser {
  readonly #framer = new SseFramer();
  readonly #reader: MessageReader;
  #begun = false;
  /** Something has followed the beginning. */
  #continued = false;

  constructor(reader: MessageReader) {
    this.#reader = reader;
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    if (this.#reader.over) return [];
    for (const event of this.#framer.push(chunk)) this.#take(event);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) this.#reader.fail(answerFailure("too_large"));
    return this.#reader.drain();
  }

  end(): readonly InferenceEvent[] {
    if (this.#reader.over) return [];
    this.#take(this.#framer.end());
    this.#reader.fail(answerFailure("truncated"));
    return this.#reader.drain();
  }

  #take(bytes: Uint8Array): void {
    if (this.#reader.over) return;
    const { event: name, data } = parseSseEvent(bytes);
    if (data === null) return;
    const event = parseJsonText(data);
    if (!isJsonObject(event)) return this.#reader.fail(answerFailure("malformed"));
    const type = event["type"] ?? name;
    if (type === "error" || name === "error") return this.#reader.fail(readErrorFrame(event["error"]));
    if (type === "message_start") return this.#begin(event);
    this.#continue(type, event);
  }

  #begin({ message }: JsonObject): void {
    if (this.#continued || !isJsonObject(message)) return this.#reader.fail(answerFailure("malformed"));
    // Some speakers of the protocol say the beginning twice; in the middle of an answer it would be another answer.
    if (this.#begun) return;
    this.#begun = true;
    this.#reader.start(message);
  }

  /** Events of other names, pings among them, say nothing of the answer. */
  #continue(type: unknown, event: JsonObject): void {
    switch (type) {
      case "content_block_start":
        if (this.#isPlaced()) this.#reader.openBlock(event["content_block"]);
        break;
      case "content_block_delta":
        if (this.#isPlaced()) this.#reader.addDelta(event["delta"]);
        break;
      case "content_block_stop":
        if (this.#isPlaced()) this.#reader.closeBlock();
        break;
      case "message_delta":
        if (this.#isPlaced()) this.#reader.change(event["delta"], event["usage"]);
        break;
      case "message_stop":
        if (this.#isPlaced()) this.#reader.stop();
        break;
    }
  }

  #isPlaced(): boolean {
    if (!this.#begun) this.#reader.fail(answerFailure("malformed"));
    this.#continued = true;
    return this.#begun;
  }
}

export function parseMessagesStream(request: GenerateRequest, target: Target): EventParser {
  return new MessagesParser(new MessageReader(request, target));
}

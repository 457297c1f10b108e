import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { AnswerEvents } from "../answer-events.ts";
import type { EventParser } from "../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../json.ts";
import { finishReason, holdsAnswer, MISSING_FINISH_REASON, readUsage } from "../openai-chat/finish.ts";
import { choiceFailure, failureIn } from "../openai-chat/read-error.ts";
import { answerFailure } from "../answer-failure.ts";
import { MAXIMUM_EVENT_BYTES, parseSseEvent, SseFramer } from "../sse.ts";

/** Reads completion objects, whole ones and chunks alike: one text block, then the reason. */
class CompletionReader extends AnswerEvents {
  readonly #whole: boolean;
  #started = false;
  #finish: FinishReason | null = null;
  /** A choice has been read: there is an answer. */
  begun = false;

  /** @param whole whether the one object read is the whole answer. */
  constructor(whole: boolean) {
    super();
    this.#whole = whole;
  }

  get finishSeen(): boolean {
    return this.#finish !== null;
  }

  take(completion: JsonObject, named: string | null): void {
    const failure = failureIn(completion, named);
    if (failure !== null) return this.fail(failure);
    if (!this.#started) {
      this.#started = true;
      const { model } = completion;
      this.emit({ type: "start", model: typeof model === "string" && model !== "" ? model : null });
    }
    const choices = completion["choices"];
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (!isJsonObject(choice) || (choice["index"] ?? 0) !== 0) return this.fail(answerFailure("malformed"));
      this.#takeChoice(choice);
      if (this.over) return;
    }
    const usage = readUsage(completion);
    if (usage !== null) this.emit({ type: "usage", usage });
  }

  /** The provider has said that nothing more follows. */
  end(): void {
    if (this.#finish === null) return this.fail(this.begun ? MISSING_FINISH_REASON : answerFailure("truncated"));
    this.finish(this.#finish);
  }

  #takeChoice(choice: JsonObject): void {
    this.begun = true;
    const { text, finish_reason: finishValue } = choice;
    if (this.#finish !== null && holdsAnswer(choice)) return this.fail(answerFailure("malformed"));
    // What has neither text nor an end is no chunk of this protocol; chat chunks on this path are such.
    if (typeof text === "string") this.blocks.text(text);
    else if (typeof finishValue !== "string" || this.#whole) return this.fail(answerFailure("malformed"));
    this.flush();
    const broken = choiceFailure(choice);
    if (broken !== null) return this.fail(broken);
    if (typeof finishValue !== "string" || finishValue === "") return;
    const reason = finishReason(finishValue);
    // A text cannot end in tool calls: an answer that says so is of another protocol, and what it means is unknown.
    if (reason === "other" || reason === "tool_calls") {
      return this.fail(answerFailure("malformed", "unknown_finish_reason"));
    }
    this.#finish = reason;
  }
}

class CompletionsStreamParser implements EventParser {
  readonly #framer = new SseFramer();
  readonly #reader = new CompletionReader(false);

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    for (const event of this.#framer.push(chunk)) {
      if (this.#reader.over) break;
      this.#take(event);
    }
    if (!this.#reader.over && this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES)
      this.#reader.fail(answerFailure("too_large"));
    return this.#reader.drain();
  }

  end(): readonly InferenceEvent[] {
    const rest = this.#framer.end();
    // An event without its blank line counts where it is whole otherwise: some providers end so. Half of one is no event.
    const { data } = parseSseEvent(rest);
    if (!this.#reader.over && data !== null && (data === "[DONE]" || parseJsonText(data) !== undefined))
      this.#take(rest);
    if (!this.#reader.over && this.#reader.finishSeen) this.#reader.end();
    if (!this.#reader.over) this.#reader.fail(answerFailure("truncated"));
    return this.#reader.drain();
  }

  #take(bytes: Uint8Array): void {
    const { event, data } = parseSseEvent(bytes);
    if (data === null) return;
    if (data === "[DONE]") return this.#reader.end();
    const chunk = parseJsonText(data);
    if (isJsonObject(chunk)) this.#reader.take(chunk, event);
    else this.#reader.fail(answerFailure("malformed"));
  }
}

/** A stream of text chunks as events: complete when the provider gave a reason (docs/protocols.md#chat-streams-of-providers). */
export function parseCompletionsStream(): EventParser {
  return new CompletionsStreamParser();
}

/** A whole `text_completion` as the events that a stream of it would be. One without a finish reason does not say that it is whole. */
export function parseCompletionsAnswer(bytes: Uint8Array): readonly InferenceEvent[] {
  const reader = new CompletionReader(true);
  const answer: JsonValue | undefined = parseAnswerBytes(bytes);
  if (isJsonObject(answer)) reader.take(answer, null);
  if (!reader.over && reader.begun) reader.end();
  if (!reader.over) reader.fail(answerFailure("malformed"));
  return reader.drain();
}

import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { AnswerEvents } from "../answer-events.ts";
import type { EventParser } from "../dialect.ts";
import { parseAnswerBytes, parseJsonText } from "../json.ts";
import { holdsAnswer, MISSING_FINISH_REASON, readUsage } from "../openai-chat/finish.ts";
import { finishReason } from "../finish-reasons.ts";
import { choiceFailure, failureIn } from "../openai-chat/read-error.ts";
import { answerFailure } from "../answer-failure.ts";
import { SseEventParser } from "../sse.ts";

/** Reads completion objects, whole ones and chunks alike: one text block, then the reason. */
class CompletionReader extends AnswerEvents {
  readonly #whole: boolean;
  #started = false;
  #finish: FinishReason | null = null;
  /** Text has followed the finish reason, and no other one has come since. */
  #resumed = false;
  /** A choice has been read: there is an answer. */
  begun = false;

  /** @param whole whether the one object read is the whole answer. */
  constructor(whole: boolean) {
    super();
    this.#whole = whole;
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
      if (!isJsonObject(choice) || (choice["index"] ?? 0) !== 0)
        return this.fail(answerFailure("malformed"));
      this.#takeChoice(choice);
      if (this.over) return;
    }
    const usage = readUsage(completion);
    if (usage !== null) this.emit({ type: "usage", usage });
  }

  /** The answer is over. @param closed as for `ChatAnswerReader.conclude`. */
  conclude(closed: boolean): void {
    if (this.#finish === null || (this.#resumed && !closed))
      return this.fail(closed && this.begun ? MISSING_FINISH_REASON : answerFailure("truncated"));
    this.finish(this.#finish);
  }

  #takeChoice(choice: JsonObject): void {
    this.begun = true;
    const { text, finish_reason: finishValue } = choice;
    this.#resumed ||= this.#finish !== null && holdsAnswer(choice);
    // What has neither text nor an end is no chunk of this protocol; chat chunks on this path are
    // such.
    if (typeof text === "string") this.blocks.text(text);
    else if (typeof finishValue !== "string" || this.#whole)
      return this.fail(answerFailure("malformed"));
    this.flush();
    const broken = choiceFailure(choice);
    if (broken !== null) return this.fail(broken);
    const reason = this.#whole && finishValue === "" ? "other" : finishReason(finishValue);
    if (reason === null) return;
    // A text cannot end in tool calls: an answer that does is of another protocol, and its meaning
    // is unknown.
    if (reason === "tool_calls")
      return this.fail(answerFailure("malformed", "unknown_finish_reason"));
    this.#finish = reason;
    this.#resumed = false;
  }
}

class CompletionsStreamParser extends SseEventParser<CompletionReader> {
  protected override take(data: string, event: string | null): void {
    if (data === "[DONE]") return this.reader.conclude(true);
    const chunk = parseJsonText(data);
    if (isJsonObject(chunk)) this.reader.take(chunk, event);
    else this.reader.fail(answerFailure("malformed"));
  }

  protected override close(): void {
    this.reader.conclude(false);
  }
}

/**
 * A stream of text chunks as events: complete when the provider gave a reason
 * (docs/protocols.md#chat-streams-of-providers).
 */
export function parseCompletionsStream(): EventParser {
  return new CompletionsStreamParser(new CompletionReader(false));
}

/**
 * A whole `text_completion` as the events that a stream of it would be. One without a finish reason
 * does not say that it is whole.
 */
export function parseCompletionsAnswer(bytes: Uint8Array): readonly InferenceEvent[] {
  const reader = new CompletionReader(true);
  const answer: JsonValue | undefined = parseAnswerBytes(bytes);
  if (isJsonObject(answer)) reader.take(answer, null);
  if (!reader.over && reader.begun) reader.conclude(true);
  if (!reader.over) reader.fail(answerFailure("malformed"));
  return reader.drain();
}
